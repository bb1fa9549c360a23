"""The streaming join on arrays: each pair exactly once, at its first certain instant, however the events are cut."""

from functools import reduce
from operator import or_

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reference.certainty import NEVER, alone_from, certain_from
from reference.relations import PARAMETERS, RELATIONS, anti_rows, join_pairs, semi_rows
from timeloom.errors import UsageError
from timeloom.kernels.streaming.arrival import ALREADY_OPEN, EMPTY, NEVER_STARTED, REVERSED, TOO_LATE
from timeloom.model.names import relation
from timeloom.model.relation import Relation
from timeloom.streaming.emitted import HOWS, Emitted
from timeloom.streaming.intake import Events
from timeloom.streaming.operator import EndpointJoin
from timeloom.streaming.storage import seal, unseal

Span = tuple[int, int]
LAST = 12

ticks = st.integers(0, LAST)
periods = st.tuples(ticks, ticks).filter(lambda span: span[0] != span[1]).map(lambda span: tuple(sorted(span)))
tables = st.lists(periods, max_size=6)
cuts = st.lists(ticks, max_size=4).map(sorted)
UNIONS = ("meets | overlaps", "starts | equals | started_by", "before | during | equals")


def endpoints(events: list[tuple[int, int, bool]]) -> Events:
    return Events.endpoints(
        np.array([row for _, row, _ in events], np.int64),
        np.array([time for time, _, _ in events], np.int64),
        np.array([starting for _, _, starting in events], np.bool_),
    )


def rows(some: list[tuple[int, Span]]) -> Events:
    return Events.rows(
        np.array([row for row, _ in some], np.int64),
        np.array([span[0] for _, span in some], np.int64),
        np.array([span[1] for _, span in some], np.int64),
    )


def batch(table: list[Span], arrival: str, first: int, last: int, backwards: bool) -> Events:
    """What one side delivers at the instants first..last; ties in either order."""
    if arrival == "events":
        events = [
            (time, row, starting)
            for row, span in enumerate(table)
            for time, starting in zip(span, (True, False), strict=True)
            if first <= time <= last
        ]
        return endpoints(sorted(events, key=lambda event: event[0] if not backwards else (event[0], -event[1])))
    known = 0 if arrival == "start" else 1
    return rows([(row, span) for row, span in enumerate(table) if first <= span[known] <= last])


def reborn(join: EndpointJoin, wanted: Relation, how: str) -> EndpointJoin:
    """The same join, from its stored state."""
    fresh = EndpointJoin(wanted, how=how)
    fresh.restore(unseal(seal(join.snapshot(), join.query), fresh.query))
    return fresh


def played(
    join: EndpointJoin,
    left: list[Span],
    right: list[Span],
    at: list[int],
    backwards: bool = False,
    stored: Relation | None = None,
) -> Emitted:
    """Feed the tables cut at these instants; gather all that comes out. The state may be stored in between."""
    parts, first, given = [], 0, 0
    for last in [*at, LAST + 1]:
        if stored is not None:
            join = reborn(join, stored, join.how)
        batches = [
            batch(table, side.arrival, first, last, backwards)
            for table, side in zip((left, right), join.intake.sides, strict=True)
        ]
        given += sum(some.ids.size for some in batches)
        parts.append(join.push(*batches, until=last if last % 2 else None))
        first = max(first, last + 1)
    parts.append(join.close())
    assert not any(part.refused for part in parts)
    assert sum(part.used for part in parts) == given
    return Emitted(*(np.concatenate(columns) for columns in list(zip(*parts, strict=True))[:6]), ())


def pairs_of(emitted: Emitted) -> list[tuple[int, int, int]]:
    return sorted(zip(*(column.tolist() for column in emitted[:3]), strict=True))


def rows_of(emitted: Emitted) -> list[tuple[int, int]]:
    """Single rows with their instants; those of the right side are numbered -1, -2, …"""
    names = np.where(emitted.row_sides == 0, emitted.rows, -1 - emitted.rows)
    return sorted(zip(names.tolist(), emitted.row_instants.tolist(), strict=True))


@pytest.mark.parametrize("name", [*RELATIONS, *UNIONS])
@settings(max_examples=12, deadline=None)
@given(left=tables, right=tables, at=cuts, limit=st.none() | st.integers(0, 3), backwards=st.booleans())
def test_every_pair_once_and_as_early_as_can_be(name, left, right, at, limit, backwards):
    limits = {option: limit for option in PARAMETERS.get(name, ()) if limit is not None}
    wanted = relation(name, **limits)
    expected = [
        (i, j, certain_from(wanted.holds, left[i], right[j]))
        for i, j in join_pairs(left, right, lambda r, s, *_: wanted.holds(r, s))
    ]
    assert pairs_of(played(EndpointJoin(wanted), left, right, at, backwards)) == expected
    kept = played(EndpointJoin(wanted, how="left"), left, right, at, backwards)
    assert pairs_of(kept) == expected
    assert [row for row, _ in rows_of(kept)] == anti_rows([pair[:2] for pair in expected], len(left))


@pytest.mark.parametrize("name", [*RELATIONS, *UNIONS])
@settings(max_examples=6, deadline=None)
@given(left=tables, right=tables, at=cuts, limit=st.none() | st.integers(0, 3))
def test_single_rows_leave_as_early_as_can_be(name, left, right, at, limit):
    limits = {option: limit for option in PARAMETERS.get(name, ()) if limit is not None}
    wanted = relation(name, **limits)
    pairs = join_pairs(left, right, lambda r, s, *_: wanted.holds(r, s))
    matched = {
        i: min(certain_from(wanted.holds, left[i], right[j]) for a, j in pairs if a == i) for i in semi_rows(pairs)
    }
    assert rows_of(played(EndpointJoin(wanted, how="semi"), left, right, at)) == sorted(matched.items())
    lonely = [(i, alone_from(wanted.holds, left[i], right, LAST + 8)) for i in anti_rows(pairs, len(left))]
    assert rows_of(played(EndpointJoin(wanted, how="anti"), left, right, at)) == lonely


bound = st.none() | st.integers(-4, 4)
SIDES = ("start_start", "start_end", "end_start", "end_end")
boxes = st.fixed_dictionaries({side: st.tuples(bound, bound) for side in SIDES}).map(lambda some: Relation(**some))
TWO_AT_ONCE = Relation(end_end=(0, None), end_start=(5, None)) | Relation(end_end=(None, -1), start_end=(None, -7))
"""Both are needed for certainty: an open pair is in the one or in the other."""


@settings(max_examples=150, deadline=None)
@given(parts=st.lists(boxes, min_size=2, max_size=3), left=tables, right=tables, at=cuts)
@example(
    parts=[Relation(end_start=(None, 0)), Relation(start_start=(None, 4), start_end=(1, None))],
    left=[(5, 6)],
    right=[(9, 10)],
    at=[],
)
@example(parts=[TWO_AT_ONCE], left=[(0, 12)], right=[(2, 11), (0, 5), (3, 12)], at=[])
def test_unions_of_any_bounds_leave_as_early_as_can_be(parts, left, right, at):
    """Whatever the constants: a pair leaves at the first instant at which every future keeps it in the union."""
    union = reduce(or_, parts)

    def holds(r: Span, s: Span) -> bool:
        return union.holds(r, s)

    expected = [
        (i, j, certain_from(holds, left[i], right[j], ahead=24))
        for i, j in join_pairs(left, right, lambda r, s, *_: holds(r, s))
    ]
    join = EndpointJoin(union)
    assert pairs_of(played(join, left, right, at)) == expected
    kept = played(EndpointJoin(union, how="left"), left, right, at)
    assert pairs_of(kept) == expected
    assert [row for row, _ in rows_of(kept)] == anti_rows([pair[:2] for pair in expected], len(left))


@settings(max_examples=80, deadline=None)
@given(
    name=st.sampled_from([*RELATIONS, *UNIONS]),
    left=tables,
    right=tables,
    at=cuts,
    how=st.sampled_from(HOWS),
)
def test_stored_and_taken_up_again(name, left, right, at, how):
    wanted = relation(name)
    straight = played(EndpointJoin(wanted, how=how), left, right, at)
    stored = played(EndpointJoin(wanted, how=how), left, right, at, stored=wanted)
    assert pairs_of(stored) == pairs_of(straight)
    assert rows_of(stored) == rows_of(straight)


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from([*RELATIONS, *UNIONS]),
    left=tables,
    right=tables,
    how=st.sampled_from(["left", "anti", "right", "full"]),
)
def test_only_the_next_instant_needs_attention(name, left, right, how):
    """Between events, nothing leaves at an instant that was not announced."""
    join = EndpointJoin(relation(name), how=how)
    for now in range(LAST + 4):
        announced = join.next_instant
        out = join.push(*(batch(table, "events", now, now, False) for table in (left, right)), until=now)
        happens = any(now in span for span in (*left, *right))
        assert happens or announced <= now or not (out.lefts.size or out.rows.size)


@pytest.mark.parametrize("arrivals", [("start", "events"), ("events", "start"), ("start", "start"), ("end", "end")])
@settings(max_examples=40, deadline=None)
@given(
    name=st.sampled_from([*RELATIONS, *UNIONS]),
    left=tables,
    right=tables,
    at=cuts,
    how=st.sampled_from(HOWS),
)
def test_whole_rows_give_the_same_pairs(arrivals, name, left, right, at, how):
    """Rows known at their start are never later than endpoints, rows known at their end never before that."""
    wanted = relation(name)
    found = played(EndpointJoin(wanted, how=how, left=arrivals[0], right=arrivals[1]), left, right, at)
    apart = played(EndpointJoin(wanted, how=how), left, right, at)
    assert [pair[:2] for pair in pairs_of(found)] == [pair[:2] for pair in pairs_of(apart)]
    assert [row for row, _ in rows_of(found)] == [row for row, _ in rows_of(apart)]
    for (i, j, instant), (_, _, usual) in zip(pairs_of(found), pairs_of(apart), strict=True):
        if "end" in arrivals:
            assert instant == max(usual, left[i][1], right[j][1])
        else:
            assert instant <= usual


@settings(max_examples=60, deadline=None)
@given(name=st.sampled_from(sorted(RELATIONS)), left=tables, right=tables)
def test_never_ending_periods(name, left, right):
    """The last row of each side never ends; the answer is that of an end beyond all others."""
    join = EndpointJoin(relation(name))
    open_left = [*left[:-1], *((start, NEVER) for start, _ in left[-1:])]
    open_right = [*right[:-1], *((start, NEVER) for start, _ in right[-1:])]
    parts = [
        join.push(*(batch(table, "events", 0, LAST, False) for table in (open_left, open_right)), until=LAST),
        join.close(),
    ]
    found = sorted(pair[:2] for part in parts for pair in pairs_of(part))
    assert found == join_pairs(open_left, open_right, RELATIONS[name])


@pytest.mark.parametrize("name", RELATIONS)
@settings(max_examples=10, deadline=None)
@given(left=tables, right=tables, at=cuts, lazy=st.booleans())
def test_all_sweeps_answer_the_same(name, left, right, at, lazy):
    """Relations without delays are swept directly; with a plan, and with care, they give the same pairs."""
    direct, planned, careful = (EndpointJoin(relation(name), lazy=lazy) for _ in range(3))
    assert direct._directly is not None
    planned._directly = None
    careful._take_care()
    found = [pairs_of(played(join, left, right, at)) for join in (direct, planned, careful)]
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize(
    ("name", "limits"), [("iseql.start_preceding", {"delta": 2}), ("before", None), ("iseql.before", {"delta": 2})]
)
def test_delays_need_a_plan(name, limits):
    assert (EndpointJoin(relation(name, **(limits or {})))._directly is None) == (limits is not None)


def far(time: int) -> int:
    """The second half of the time is near the end of the axis."""
    return time if time <= LAST // 2 else 2**63 - 40 + time


@pytest.mark.parametrize("name", RELATIONS)
@settings(max_examples=12, deadline=None)
@given(left=tables, right=tables, stored=st.booleans())
def test_a_stream_may_come_near_the_end_of_the_axis(name, left, right, stored):
    wanted = relation(name)
    join, parts = EndpointJoin(wanted), []
    for first, last in ((0, LAST // 2), (LAST // 2 + 1, LAST - 2), (LAST - 1, LAST)):
        moved = ([(far(start), far(end)) for start, end in table] for table in (left, right))
        parts.append(join.push(*(batch(table, "events", far(first), far(last), False) for table in moved), far(last)))
        join = reborn(join, wanted, "inner") if stored else join
    parts.append(join.close())
    assert not any(part.refused for part in parts)
    assert sorted(pair for part in parts for pair in pairs_of(part)) == [
        (i, j, far(certain_from(wanted.holds, left[i], right[j])))
        for i, j in join_pairs(left, right, lambda r, s, *_: wanted.holds(r, s))
    ]


@pytest.mark.parametrize(
    ("name", "limits", "kept"),
    [("iseql.start_preceding", {"delta": 2}, 0), ("intersects", {}, 1), ("before", {}, 1), ("overlaps", {}, 1)],
)
def test_state_shrinks_as_soon_as_a_row_can_match_no_more(name, limits, kept):
    """One left row, open since instant 0, seen at instant 5."""
    join = EndpointJoin(relation(name, **limits))
    join.push(endpoints([(0, 7, True)]), endpoints([]), until=5)
    assert join.state_size == kept
    assert join.open_rows == 1
    after = join.push(endpoints([(6, 7, False)]), endpoints([]), until=6)
    assert after.refused == ()
    assert join.open_rows == 0
    assert join.state_size == (1 if name == "before" else 0)


def test_state_stays_flat():
    join = EndpointJoin(relation("overlaps"), how="left")
    sizes = []
    for step in range(0, 4000, 10):
        events = [(step, step, True), (step + 7, step, False)]
        join.push(endpoints(events), endpoints([(time + 3, row, kind) for time, row, kind in events]))
        sizes.append(join.state_size + join.open_rows)
    assert max(sizes[200:]) <= max(sizes[:20])


def test_many_pairs_at_one_instant_outgrow_the_output():
    join = EndpointJoin(relation("intersects"))
    many = 300
    events = [(0, row, True) for row in range(many)]
    assert join.push(endpoints(events), endpoints(events), until=0).lefts.size == many**2


def verdicts(emitted: Emitted) -> list[tuple[int, int, int]]:
    return [
        (part.side, row, verdict)
        for part in emitted.refused
        for row, verdict in zip(part.events.ids.tolist(), part.verdicts.tolist(), strict=True)
    ]


def test_bad_events_are_refused_with_a_reason():
    join = EndpointJoin(relation("intersects"))
    first = join.push(
        endpoints([(1, 1, True), (2, 1, True), (3, 9, False), (4, 5, True), (4, 5, False)]),
        endpoints([(0, 1, True)]),
        until=4,
    )
    assert verdicts(first) == [(0, 1, ALREADY_OPEN), (0, 9, NEVER_STARTED), (0, 5, EMPTY), (0, 5, EMPTY)]
    assert first.used == 2
    assert pairs_of(first) == [(1, 1, 1)]
    late = join.push(endpoints([(4, 6, True), (5, 1, False)]), endpoints([]), until=5)
    assert verdicts(late) == [(0, 6, TOO_LATE)]
    assert join.open_rows == 1


def test_bad_rows_are_refused_with_a_reason():
    join = EndpointJoin(relation("intersects"), left="start", right="end")
    out = join.push(rows([(1, (3, 3)), (2, (4, 2)), (3, (1, 9))]), rows([(1, (0, 2))]), until=9)
    assert sorted(verdicts(out)) == [(0, 1, EMPTY), (0, 2, REVERSED)]
    assert pairs_of(out) == [(3, 1, 2)]


def test_an_id_may_be_used_again():
    join = EndpointJoin(relation("before"))
    events = [(0, 1, True), (2, 1, False), (2, 1, True), (4, 1, False)]
    out = join.push(endpoints(events), endpoints([(3, 8, True), (9, 9, True)]), until=9)
    assert out.refused == ()
    assert pairs_of(out) == [(1, 8, 3), (1, 9, 9), (1, 9, 9)]


def test_an_incomplete_instant_waits():
    """Without a promise, the latest instant may still get events that change the answer."""
    join = EndpointJoin(relation("overlaps"))
    assert join.push(endpoints([(0, 1, True), (3, 1, False)]), endpoints([(1, 2, True)])).lefts.size == 0
    assert join.push(endpoints([]), endpoints([(3, 2, False)])).lefts.size == 0
    assert join.push(endpoints([(4, 3, True)]), endpoints([])).lefts.size == 0
    again = EndpointJoin(relation("overlaps"))
    again.push(endpoints([(0, 1, True), (3, 1, False)]), endpoints([(1, 2, True)]))
    assert pairs_of(again.push(endpoints([]), endpoints([(4, 2, False)]))) == [(1, 2, 3)]


def test_delayed_decisions_cross_batches():
    """r must outlast s.start by five ticks: certain at s.start + 4, when no event comes."""
    join = EndpointJoin(Relation(start_start=(0, None), start_end=(None, -5)))
    assert join.push(endpoints([(0, 1, True)]), endpoints([(2, 2, True)]), until=5).lefts.size == 0
    assert pairs_of(join.push(endpoints([]), endpoints([]), until=6)) == [(1, 2, 6)]


@pytest.mark.parametrize(("option", "value"), [("how", "sideways"), ("left", "begin"), ("right", "")])
def test_unknown_options(option, value):
    with pytest.raises(UsageError, match=f"{option}={value!r} is unknown"):
        EndpointJoin(relation("before"), **{option: value})
