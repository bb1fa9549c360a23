"""Many keys in one sweep: the same answers as a join for each key, and little memory for keys at rest."""

from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from timeloom.model.names import ALL_NAMES, relation
from timeloom.model.ticks import FOREVER
from timeloom.streaming import StreamJoin
from timeloom.streaming.deciding import ARRIVALS, EVENTS
from timeloom.streaming.emitted import HOWS
from timeloom.streaming.intake import Events
from timeloom.streaming.keyed import Found, KeyedJoin
from timeloom.streaming.operator import EndpointJoin

RELATIONS = [
    *map(relation, (*ALL_NAMES, "during | after", "starts | equals | started_by")),
    relation("iseql.start_preceding", delta=2),
    relation("iseql.left_overlap", delta=1, epsilon=2),
]
rows = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 12), st.booleans()), max_size=8)
untils = st.one_of(st.none(), st.integers(0, 12), st.tuples(st.integers(0, 12), st.integers(0, 12)))
FAR = 2**62 + 5


def batch(some: list[tuple], shift: int, numbers: bool, first: int, arrival: str) -> tuple[Events, np.ndarray]:
    """Events with their keys; in place of a start a whole row is longer than in place of an end, or has none."""
    keys, ids, times, starting = (np.array([row[at] for row in some], np.int64) for at in range(4))
    own = np.arange(first, first + len(some)) if numbers else None
    events = Events.endpoints(ids, times + shift, starting.astype(np.bool_))
    if arrival != EVENTS:
        lengths = np.where(starting, 1 + 3 * ids, 1)
        ends = np.where(starting & (ids == 0), FOREVER, times + shift + lengths)
        events = Events.rows(ids, times + shift, ends)
    return events._replace(numbers=own), keys


def told(found: list, events: list[list[tuple]] | None) -> tuple:
    """Pairs by key, what was refused, which rows ended, and how many events were used, in any order.

    Numbers stand for events: of two starts of one id at one instant either may be the one that is refused.
    """

    def means(side: int, number: int) -> object:
        return number if events is None else events[side][number]

    pairs = Found.of(found)
    results = [
        (key, side, at, repr(means(max(side, 0), left)), repr(means(1 if side else 0, right)))
        for key, left, right, side, at in zip(*(column.tolist() for column in pairs), strict=True)
    ]
    refused = [
        (some.side, *row)
        for _, out, *_ in found
        for some in out.refused
        for row in zip(some.events.ids.tolist(), some.events.times.tolist(), some.verdicts.tolist(), strict=True)
    ]
    ended = [
        (side, repr(means(side, row)), repr(means(side, end)), at)
        for _, out, *_ in found
        for side, row, end, at in out.ended.T.tolist()
    ]
    return sorted(results), sorted(refused), sorted(ended), sum(out.used for _, out, *_ in found)


@settings(max_examples=150, deadline=None)
@given(
    given=st.lists(st.tuples(rows, rows, untils), min_size=1, max_size=5),
    wanted=st.sampled_from(RELATIONS),
    how=st.sampled_from([*HOWS, "every"]),
    arrivals=st.tuples(st.sampled_from(ARRIVALS), st.sampled_from(ARRIVALS)) | st.just((EVENTS, EVENTS)),
    numbered=st.booleans(),
    restarts=st.sets(st.integers(0, 4)),
    far=st.sampled_from([None, 1, 3]),
)
@example(
    given=[([], [], None), ([], [], None), ([(0, 0, 0, True)], [], None), ([], [], 0)],
    wanted=relation("meets"),
    how="inner",
    arrivals=(EVENTS, EVENTS),
    numbered=False,
    restarts=set(),
    far=3,
)
def test_the_answers_of_a_join_for_each_key(given, wanted, how, arrivals, numbered, restarts, far):
    kind = {"every": True} if how == "every" else {"how": how}
    make = partial(EndpointJoin, wanted, left=arrivals[0], right=arrivals[1], numbered=numbered, **kind)
    apart, shared = KeyedJoin(make), KeyedJoin(make, pooled=True)
    known: list[list[tuple]] = [[], []]
    seen = known if numbered else None
    for number, (left, right, until) in enumerate(given):
        shift = FAR if far is not None and number >= far else 0
        moved = tuple(one + shift for one in until) if isinstance(until, tuple) else until
        moved = moved + shift if isinstance(moved, int) else moved
        sides = [
            batch(some, shift, numbered, len(own), arrival)
            for some, own, arrival in zip((left, right), known, arrivals, strict=True)
        ]
        for own, some in zip(known, (left, right), strict=True):
            own += [(*row, shift) for row in some]
        if number in restarts:
            state, shared = shared.snapshot(), KeyedJoin(make, pooled=True)
            shared.restore(state)
        events, keys = zip(*sides, strict=True)
        assert told(shared.push(events, keys, moved), seen) == told(apart.push(events, keys, moved), seen)
        assert (shared.state_size, shared.waiting, shared.keys) == (apart.state_size, apart.waiting, apart.keys)
        for side in (0, 1):
            for ids in ("used_ids", "held_ids", *(["kept_rows"] if numbered else [])):
                found = [getattr(join, ids)(side).tolist() for join in (shared, apart)]
                if numbered and ids != "held_ids":
                    found = [[known[side][one] if one >= 0 else one for one in some] for some in found]
                assert sorted(found[0], key=repr) == sorted(found[1], key=repr)
    assert told(shared.close(), seen) == told(apart.close(), seen)


def test_a_key_with_many_rows_among_many_keys():
    """Maps and tables grow for one key and are empty again for the next."""
    join, single = StreamJoin("intersects", on="key"), StreamJoin("intersects")
    size = 300
    keys = np.concatenate([np.zeros(size, np.int64), np.arange(1, 101)])
    table = pa.table(
        {"key": keys, "id": np.arange(keys.size), "time": np.arange(keys.size), "event": [True] * keys.size}
    )
    found = join.push(table, table, until=keys.size)
    alone = single.push(table.slice(0, size), table.slice(0, size), until=keys.size)
    assert found.num_rows == alone.num_rows + 100 == size * size + 100
    assert (join.state_size, join.tally.used) == (2 * keys.size, 2 * keys.size)


@pytest.mark.parametrize(("name", "how"), [("overlaps", "inner"), ("intersects", "inner"), ("equals", "full")])
def test_keys_that_come_and_go_leave_nothing(name, how):
    join = StreamJoin(name, on="key", how=how)
    for step in range(12):
        keys = [f"{step}-{key}" for key in range(400)]
        for event in ("start", "end"):
            time = 4 * step + (event == "end")
            sides = [
                pa.table({"key": keys, "id": [0] * 400, "time": [time + late] * 400, "event": [event] * 400})
                for late in (0, 2)
            ]
            join.push(*sides, until={"left": time, "right": time})
        join.push(None, None, until=4 * step + 3)
    assert join._made is not None
    assert (join.state_size, join._made.keys) == (0, set())
    assert join.keys._next <= 3 * 1024
    assert len(join._made._many.pools._lists) <= 4 * 1024
    assert join.tally.events == join.tally.used + join.tally.refused
