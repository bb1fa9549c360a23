"""The whole of a stream equals the join of the tables, for any relation, arrival, kind of join, open ends and keys."""

from functools import reduce
from itertools import product
from operator import or_
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import timeloom as tl
from reference import shortest_paths
from reference.certainty import NEVER, alone_from, certain_from, known_from, may_match, pair_is_certain
from reference.relations import PARAMETERS, RELATIONS, anti_rows, join_pairs, semi_rows
from timeloom.model.names import relation
from timeloom.model.relation import Relation
from timeloom.streaming.deciding import ARRIVALS
from timeloom.streaming.emitted import HOWS, Emitted
from timeloom.streaming.intake import Events
from timeloom.streaming.operator import EndpointJoin
from timeloom.streaming.storage import seal, unseal

Span = tuple[int, int]
LAST, LATEST = 12, 24

ticks = st.integers(0, LAST)
closed = st.tuples(ticks, ticks).filter(lambda span: span[0] != span[1]).map(lambda span: tuple(sorted(span)))
periods = closed | ticks.map(lambda start: (start, NEVER))
tables = st.lists(periods, max_size=5)
cuts = st.lists(st.integers(0, LAST - 1), max_size=4).map(sorted)
arrivals = st.tuples(st.sampled_from(ARRIVALS), st.sampled_from(ARRIVALS))

bound = st.none() | st.integers(-4, 4)
SIDES = ("start_start", "start_end", "end_start", "end_end")
boxes = st.fixed_dictionaries({side: st.tuples(bound, bound) for side in SIDES}).map(lambda some: Relation(**some))


@st.composite
def named(draw) -> Relation:
    name = draw(st.sampled_from(sorted(RELATIONS)))
    limits = {option: draw(st.none() | st.integers(0, 3)) for option in PARAMETERS.get(name, ())}
    return relation(name, **{option: limit for option, limit in limits.items() if limit is not None})


relations = st.lists(named() | boxes, min_size=1, max_size=3).map(lambda parts: reduce(or_, parts))


def batch(table: list[Span], arrival: str, first: int, last: int, latest: int = LAST) -> Events:
    """What one side delivers at the instants first..last."""
    if arrival == "events":
        found = sorted(
            (time, row, starting)
            for row, span in enumerate(table)
            for time, starting in zip(span, (True, False), strict=True)
            if first <= time <= last
        )
        times, ids, starting = (list(column) for column in zip(*found, strict=True)) if found else ([], [], [])
        return Events.endpoints(np.array(ids, np.int64), np.array(times, np.int64), np.array(starting, np.bool_))
    known = 0 if arrival == "start" else 1
    rows = [(row, *span) for row, span in enumerate(table) if first <= span[known] <= last]
    if last == latest and arrival == "end":
        rows += [(row, *span) for row, span in enumerate(table) if span[1] == NEVER]
    ids, starts, ends = (np.array(column, np.int64) for column in zip(*rows, strict=True)) if rows else [EMPTY] * 3
    return Events.rows(ids, starts, ends)


EMPTY = np.empty(0, np.int64)


def played(
    make, left: list[Span], right: list[Span], at: list[int], stored: bool, latest: int = LAST
) -> tuple[list, list]:
    """The pairs, and the single rows by side, of a stream that is cut at these instants, with their instants."""
    join, parts, first, given = make(), [], 0, 0
    for last in [*at, latest]:
        batches = [
            batch(table, side.arrival, first, last, latest)
            for table, side in zip((left, right), join.intake.sides, strict=True)
        ]
        given += sum(some.ids.size for some in batches)
        parts.append(join.push(*batches, until=last))
        first = max(first, last + 1)
        if stored:
            state, join = unseal(seal(join.snapshot(), join.query), join.query), make()
            join.restore(state)
    parts.append(join.close())
    assert not any(part.refused for part in parts)
    assert sum(part.used for part in parts) == given
    whole = Emitted(*(np.concatenate(columns) for columns in list(zip(*parts, strict=True))[:6]), ())
    pairs = sorted(zip(*(column.tolist() for column in whole[:3]), strict=True))
    return pairs, sorted(
        zip(*(column.tolist() for column in (whole.row_sides, whole.rows, whole.row_instants)), strict=True)
    )


def table_of(spans: list[Span]) -> pa.Table:
    ends = [None if end == NEVER else end for _, end in spans]
    columns = {"id": range(len(spans)), "start": [start for start, _ in spans], "end": ends}
    return pa.table({name: pa.array(list(values), pa.int64()) for name, values in columns.items()})


def joined_pairs(left: list[Span], right: list[Span], wanted: Relation) -> list[tuple[int, int]]:
    found = tl.join(table_of(left), table_of(right), wanted)
    return sorted(zip(found["id"].to_pylist(), found["id_right"].to_pylist(), strict=True))


LOST = {
    "wanted": relation("during | after"),
    "left": [(5, 11)],
    "right": [(3, NEVER)],
    "at": [],
    "both": ("start", "start"),
}
WITNESSED = {
    "wanted": relation("equals"),
    "left": [(0, 5)],
    "right": [(0, 12)],
    "at": [],
    "both": ("events", "events"),
}
"""The end of the left row says that the right one, which is open, has no partner."""

KNOWN_LATE = {
    "wanted": relation("iseql.contains", delta=1, epsilon=1),
    "left": [],
    "right": [(6, 7)],
    "at": [],
    "both": ("events", "end"),
}
"""The right row is known late, a left one would have been known in time."""

LAST_TICK = {
    "wanted": relation("finished_by") | Relation(end_end=(None, -2)),
    "left": [(0, NEVER)],
    "right": [(1, NEVER)],
    "at": [],
    "both": ("start", "events"),
}
"""The right row may still end one tick before the end of the axis, where the left one is known to end."""

LAST_ROW = {
    "wanted": Relation(end_start=(None, 2), end_end=(1, None)),
    "left": [],
    "right": [(0, NEVER)],
    "at": [],
    "both": ("events", "start"),
}
"""A left row may still come in the last ticks of the axis."""

BEFORE_NEVER: dict[str, Any] = {
    "wanted": Relation(start_start=(None, 1), end_end=(-2, -2)),
    "left": [(0, NEVER)],
    "right": [],
    "at": [],
    "both": ("start", "events"),
}
"""A right row may still start at 1, and end two ticks before the left one, which is known to end at the last tick."""

AFTER_THE_END: dict[str, Any] = {
    "wanted": Relation(start_start=(0, 1), end_end=(4, 4)),
    "left": [(0, 12)],
    "right": [(0, NEVER)],
    "at": [],
    "both": ("start", "events"),
}
"""The right row may still end four ticks after the left one, whose end is known twelve ticks ahead."""

NOT_LOOKED_AT: dict[str, Any] = {
    "wanted": Relation(end_end=(None, 0)) | relation("overlaps"),
    "left": [(6, NEVER)],
    "right": [(12, NEVER), (2, NEVER)],
    "at": [],
    "both": ("events", "start"),
}
"""At the last tick the left row can only never end. So a pair is certain, when another row comes and nobody looks."""

ONLY_NEVER: dict[str, Any] = {
    "wanted": relation("finishes"),
    "left": [(12, NEVER)],
    "right": [(11, NEVER)],
    "at": [],
    "both": ("events", "events"),
}
"""From the last tick on both rows can only end at one time: never."""

END_TOGETHER: dict[str, Any] = {
    "wanted": relation("finished_by"),
    "left": [(11, NEVER)],
    "right": [(12, NEVER)],
    "at": [],
    "both": ("events", "start"),
}
"""Partners end together, so nobody looks for them while an end is awaited."""

NEVER_TOO_FAR: dict[str, Any] = {
    "wanted": Relation(start_start=(0, None), end_end=(-2, 0)) | relation("starts"),
    "left": [(9, NEVER)],
    "right": [(9, NEVER)],
    "at": [],
    "both": ("events", "events"),
}
"""At their start the right row may still end three ticks before never, which is too far from a left end of never."""

KEEPING = (("left", "full", "anti"), ("right", "full"))
"""The kinds of join that keep the rows of each side that have no partner."""


def seen_from(wanted: Relation, side: int):
    """The relation with the row of this side first."""
    return wanted.holds if side == 0 else lambda s, r: wanted.holds(r, s)


EXACT = pytest.mark.parametrize("how", HOWS)


@EXACT
@settings(max_examples=60, deadline=None)
@given(wanted=relations, left=tables, right=tables, at=cuts, both=arrivals, stored=st.booleans())
@example(**LOST, stored=False)
@example(**LOST, stored=True)
@example(**WITNESSED, stored=True)
@example(**KNOWN_LATE, stored=False)
@example(**LAST_TICK, stored=False)
@example(**LAST_ROW, stored=True)
@example(**BEFORE_NEVER, stored=False)
@example(**AFTER_THE_END, stored=True)
def test_nothing_is_lost_and_everything_is_as_early_as_can_be(how, wanted, left, right, at, both, stored):
    pairs = join_pairs(left, right, lambda r, s, *_: wanted.holds(r, s))
    assert joined_pairs(left, right, wanted) == pairs

    def make() -> EndpointJoin:
        return EndpointJoin(wanted, how=how, left=both[0], right=both[1])

    certain = {
        (i, j): certain_from(wanted.holds, left[i], right[j], ahead=24, arrivals=both, latest=LATEST) for i, j in pairs
    }
    found, single = played(make, left, right, at, stored)
    if how in ("semi", "anti"):
        assert found == []
    else:
        assert found == [(i, j, certain[i, j]) for i, j in pairs]
    if how == "semi":
        assert single == [(0, i, min(certain[i, j] for a, j in pairs if a == i)) for i in semi_rows(pairs)]
    else:
        assert single == [
            (side, row, alone_from(seen_from(wanted, side), own[row], others, LATEST, ahead=14, arrivals=arrivals))
            for side, own, others, arrivals in ((0, left, right, both), (1, right, left, both[::-1]))
            if how in KEEPING[side]
            for row in anti_rows([pair[:2][:: 1 - 2 * side] for pair in pairs], len(own))
        ]


@pytest.mark.parametrize("side", [0, 1])
def test_a_row_that_never_ends_waits_for_partners_that_end_in_the_last_ticks(side):
    """Never is the last tick, so a partner may end two ticks before: until 1 it may start, and the row is not alone."""
    wanted, endless, partner = BEFORE_NEVER["wanted"], [(0, NEVER)], (1, NEVER - 2)
    arrivals = ("start", "events")[:: 1 - 2 * side]
    turned = wanted if side == 0 else Relation.of(box.inverse() for box in wanted.boxes())

    def emitted(others: list[Span]) -> list[tuple[list, list]]:
        join, found = EndpointJoin(turned, how="full", left=arrivals[0], right=arrivals[1]), []
        for first, last in ((0, 0), (1, 1), (2, NEVER - 1)):
            both = (batch(endless, "start", first, last), batch(others, "events", first, last))
            part = join.push(*both[:: 1 - 2 * side], until=last)
            found.append((part.instants.tolist(), part.row_instants.tolist()))
        return found

    assert wanted.holds(endless[0], partner)
    assert emitted([partner]) == [([], []), ([], []), ([NEVER - 2], [])]
    assert emitted([]) == [([], []), ([], [1]), ([], [])]


@settings(max_examples=60, deadline=None)
@given(wanted=relations, left=tables, right=tables, at=cuts, both=arrivals)
@example(**{**BEFORE_NEVER, "at": [0]})
@example(**{**AFTER_THE_END, "at": [0]})
def test_the_futures_that_are_tried_are_enough(wanted, left, right, at, both):
    parts = [box.ranges for box in wanted.boxes()]
    for instant, r in product(at, left):
        if known_from(r, both[0]) > instant:
            continue
        possible = shortest_paths.may_match(parts, r, right, instant, both)
        assert may_match(wanted.holds, r, right, instant, 14, both) == possible
        for s in right:
            if known_from(s, both[1]) <= instant:
                certain = shortest_paths.is_certain(parts, r, s, instant, both)
                assert pair_is_certain(wanted.holds, r, s, instant, 24, both) == certain


MOVED = NEVER - 1 - LAST


def in_the_last_ticks(table: list[Span]) -> list[Span]:
    """The rows, moved so that the last one may start just before never."""
    return [(start + MOVED, min(end, LAST + 1) + MOVED) for start, end in table]


@EXACT
@settings(max_examples=60, deadline=None)
@given(wanted=relations, left=tables, right=tables, at=cuts, both=arrivals, stored=st.booleans())
@example(**NOT_LOOKED_AT, stored=False)
@example(**ONLY_NEVER, stored=False)
@example(**END_TOGETHER, stored=True)
@example(**NEVER_TOO_FAR, stored=False)
def test_nothing_is_lost_or_too_early_in_the_last_ticks_of_the_axis(how, wanted, left, right, at, both, stored):
    left, right = in_the_last_ticks(left), in_the_last_ticks(right)
    pairs = join_pairs(left, right, lambda r, s, *_: wanted.holds(r, s))
    parts = [box.ranges for box in wanted.boxes()]

    def is_certain(i: int, j: int, instant: int) -> bool:
        known = max(known_from(left[i], both[0]), known_from(right[j], both[1]))
        return known <= instant and shortest_paths.is_certain(parts, left[i], right[j], instant, both)

    def make() -> EndpointJoin:
        return EndpointJoin(wanted, how=how, left=both[0], right=both[1])

    found, single = played(make, left, right, [cut + MOVED for cut in at], stored, NEVER - 1)
    assert [pair[:2] for pair in found] == ([] if how in ("semi", "anti") else pairs)
    assert all(is_certain(*pair) for pair in found)
    if how == "semi":
        assert [row for _, row, _ in single] == semi_rows(pairs)
        assert all(any(is_certain(i, j, instant) for a, j in pairs if a == i) for _, i, instant in single)
        return
    for side, own, others in ((0, left, right), (1, right, left)):
        alone = anti_rows([pair[:: 1 - 2 * side] for pair in pairs], len(own)) if how in KEEPING[side] else []
        assert [row for some, row, _ in single if some == side] == alone
        seen = parts if side == 0 else [box.inverse().ranges for box in wanted.boxes()]
        for some, row, instant in single:
            if some == side and instant < NEVER:
                assert not shortest_paths.may_match(seen, own[row], others, instant, both[:: 1 - 2 * side])
