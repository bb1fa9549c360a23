"""Sides that are matched each by itself and swept over each other's open rows: the answers of one merged sweep."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from timeloom.kernels.streaming.gapless import KEY
from timeloom.kernels.streaming.open_rows import HANDLE
from timeloom.model.names import ALL_NAMES, relation
from timeloom.model.relation import Relation
from timeloom.streaming.emitted import Emitted
from timeloom.streaming.intake import Events
from timeloom.streaming.operator import EndpointJoin

STEPWISE = [name for name in ALL_NAMES if not name.endswith(("before", "after"))]
SHAPES = [
    ((-1, None), (0, 0), (None, None), (-1, None)),
    ((0, None), (None, 0), (0, None), (1, None)),
    ((None, 0), (None, -1), (None, None), (0, None)),
    ((None, None), (None, None), (0, None), (None, 0)),
    ((None, 0), (None, -1), (1, None), (None, None)),
    ((None, 0), (None, 1), (0, 0), (None, None)),
    ((None, 0), (None, -1), (0, None), (None, 0)),
    ((None, 0), (None, -1), (1, None), (None, -1)),
    ((None, 1), (None, None), (0, 1), (0, 1)),
    ((1, 1), (None, 0), (None, None), (1, None)),
    ((1, None), (None, -1), (None, None), (None, None)),
    ((1, 1), (None, -1), (None, None), (None, -1)),
    ((None, -1), (None, None), (0, None), (None, None)),
    ((None, None), (None, None), (None, 1), (0, None)),
    ((None, 1), (None, None), (-1, None), (0, 0)),
    ((None, None), (None, None), (0, None), (None, -1)),
    ((1, None), (None, 0), (0, None), (None, None)),
    ((None, None), (None, 0), (-1, None), (1, None)),
    ((None, None), (None, -1), (None, None), (1, None)),
    ((None, None), (None, 0), (1, None), (None, 0)),
    ((None, None), (None, 0), (1, None), (None, None)),
    ((None, -1), (None, None), (0, 0), (None, None)),
    ((None, None), (None, -1), (1, None), (0, None)),
    ((None, None), (None, 0), (0, None), (None, None)),
    ((None, 0), (None, 0), (0, None), (None, None)),
    ((None, None), (None, -1), (1, None), (0, 0)),
    ((None, None), (None, 0), (1, 1), (0, 0)),
    ((None, -1), (None, None), (1, None), (None, None)),
    ((0, None), (None, 0), (1, None), (None, None)),
    ((0, None), (None, -1), (-1, None), (None, None)),
]
"""Bounds on the differences of starts and ends, one for each way in which rows look for partners and leave."""


def test_all_relations_but_those_with_the_past_are_swept_so():
    found = [name for name in ALL_NAMES if EndpointJoin(relation(name))._stepwise is not None]
    assert found == STEPWISE


events = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3), st.booleans()), max_size=12)
"""Time, id, and whether it is a start: ids come again, ends have no start, and instants are shared."""

pushes = st.lists(st.tuples(events, events, st.integers(0, 4)), min_size=1, max_size=5)


def given_events(some: list[tuple[int, int, bool]], first: int, number: int) -> Events:
    times, ids, starting = (np.array([event[at] for event in some], np.int64) for at in range(3))
    made = Events.endpoints(ids, first + times, starting.astype(np.bool_))
    return made._replace(numbers=np.arange(number, number + ids.size)) if number else made


def told(emitted: Emitted) -> dict[str, list]:
    """All that was emitted, in an order that does not matter."""
    return {
        "pairs": sorted(zip(*(column.tolist() for column in emitted[:3]), strict=True)),
        "refused": [
            (some.side, sorted(zip(*(column.tolist() for column in (*some.events[:3], some.verdicts)), strict=True)))
            for some in emitted.refused
        ],
        "used": [emitted.used],
        "ended": sorted(emitted.ended.T.tolist()),
    }


def kept(join: EndpointJoin) -> list:
    """All that a join keeps, in an order that does not matter; nor do handles, unless rows are numbered."""
    numbers, *held, left_open, right_open, left_live, right_live, plans, waiters = join.snapshot()
    opened, live = [left_open, right_open], [left_live.T, right_live.T]
    for side, (some, others) in enumerate(zip(opened, live, strict=True)):
        assert set(some[:, HANDLE].tolist() + others[:, KEY].tolist()) <= set(join.kept_rows(side).tolist())
        if not join.numbered:
            some[:, HANDLE], others[:, KEY] = 0, 0
    rows = [sorted(part.tolist()) for part in (*(part.T for part in held), *opened, *live)]
    used = [sorted(join.used_ids(side).tolist()) for side in (0, 1)]
    return [numbers.tolist(), rows, used, plans.size, waiters.size, join.state_size, join.open_rows, join.is_idle]


def merged(condition: Relation, **options) -> EndpointJoin:
    """A join that lays out the events of both sides as one."""
    join = EndpointJoin(condition, **options)
    join._stepwise = None
    return join


def without_twins(some: Events, seen: set) -> Events:
    """Each event once: which of two starts that are alike is the one that counts is told by nobody."""
    fresh = []
    for at, twin in enumerate(zip(*(column.tolist() for column in some[:3]), strict=True)):
        if twin not in seen:
            seen.add(twin)
            fresh.append(at)
    return some.pick(np.array(fresh, np.int64))


def check(condition: Relation, some: list, *, numbered: bool, lazy: bool, again: int) -> None:
    """Push to both joins, and restore the one from its own state, or from that of the other, before one push."""
    options = {"numbered": numbered, "lazy": lazy}
    join, other, number, clock = EndpointJoin(condition, **options), merged(condition, **options), 1, 0
    seen: tuple[set, set] = (set(), set())
    for at, (lefts, rights, later) in enumerate(some):
        if at == again:
            state = (other if numbered else join).snapshot()
            join = EndpointJoin(condition, **options)
            join.restore(state)
            assert join._stepwise is not None
        sides = [given_events(side, clock - 1, number if numbered else 0) for side in (lefts, rights)]
        if numbered:
            sides = [without_twins(side, twins) for side, twins in zip(sides, seen, strict=True)]
        found, expected = (one.push(*sides, until=clock + later) for one in (join, other))
        assert told(found) == told(expected)
        assert kept(join) == kept(other)
        number, clock = number + 12, clock + later
    assert told(join.close()) == told(other.close())


@given(st.sampled_from(STEPWISE), pushes, st.booleans(), st.booleans(), st.integers(0, 4))
@settings(max_examples=300)
def test_a_merged_sweep_says_the_same(name, some, numbered, lazy, again):
    check(relation(name), some, numbered=numbered, lazy=lazy, again=again)


@pytest.mark.parametrize("bounds", SHAPES, ids=repr)
@given(pushes, st.booleans(), st.integers(0, 4))
@settings(max_examples=25)
def test_every_way_to_look_for_partners(bounds, some, numbered, again):
    names = ("start_start", "start_end", "end_start", "end_end")
    condition = Relation(**dict(zip(names, bounds, strict=True)))
    assert EndpointJoin(condition)._stepwise is not None
    check(condition, some, numbered=numbered, lazy=True, again=again)
