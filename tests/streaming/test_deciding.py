"""Deciding endpoints: against all futures, for every relation, for unions, and for boxes at random."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.certainty import certain_from
from reference.relations import ALLEN, PARAMETERS, RELATIONS
from timeloom.model.box import Box, disjoint
from timeloom.model.names import relation
from timeloom.streaming.deciding import AT_END, AT_START, Decision, decide, decisions
from timeloom.streaming.largest import covered, largest_boxes

Span = tuple[int, int]
GRID = [(start, end) for start in range(5) for end in range(start + 1, 6)]

bound = st.none() | st.integers(-3, 3)
boxes = st.builds(Box, *(st.tuples(bound, bound) for _ in range(4)))


def instant_of(decision: Decision, r: Span, s: Span) -> int:
    constants = (*decision.left, *decision.right)
    return max(end + constant for end, constant in zip((*r, *s), constants, strict=True) if constant is not None)


def decided(found: tuple[Decision, ...], r: Span, s: Span) -> int:
    return min(instant_of(decision, r, s) for decision in found if decision.box.holds(r, s))


@pytest.mark.parametrize("limit", [None, 0, 2])
@pytest.mark.parametrize("name", RELATIONS)
def test_every_relation_is_decided_at_the_first_certain_instant(name: str, limit: int | None):
    limits = dict.fromkeys(PARAMETERS.get(name, ()), limit)
    holds = RELATIONS[name]
    found = decisions(relation(name, **limits).boxes())
    for r in GRID:
        for s in GRID:
            if holds(r, s, **limits):
                first = certain_from(lambda a, b: holds(a, b, **limits), r, s)
                assert decided(found, r, s) == first, (r, s)


@settings(max_examples=25, deadline=None)
@given(names=st.sets(st.sampled_from(sorted(ALLEN)), min_size=2, max_size=6))
def test_unions_are_decided_at_the_first_certain_instant(names: set[str]):
    found = decisions(relation(sorted(names)).boxes())
    for r in GRID:
        for s in GRID:
            if any(ALLEN[name](r, s) for name in names):
                first = certain_from(lambda a, b: any(ALLEN[name](a, b) for name in names), r, s)
                assert decided(found, r, s) == first, (r, s)


@settings(max_examples=30, deadline=None)
@given(box=boxes)
def test_any_box_is_decided_at_the_first_certain_instant(box: Box):
    if box.tight() is None:
        return
    found = decisions((box,))
    for r in GRID:
        for s in GRID:
            if box.holds(r, s):
                assert decided(found, r, s) == certain_from(box.holds, r, s, ahead=10), (r, s)


@settings(max_examples=20, deadline=None)
@given(given_boxes=st.lists(boxes, min_size=2, max_size=3))
def test_a_union_is_never_decided_too_early_nor_later_than_its_boxes(given_boxes: list[Box]):
    parts = disjoint(tuple(given_boxes))
    found, apart = decisions(parts), [decide(part) for part in parts]

    def holds(r: Span, s: Span) -> bool:
        return any(part.holds(r, s) for part in parts)

    for r in GRID:
        for s in GRID:
            assert any(decision.box.holds(r, s) for decision in found) == holds(r, s)
            if holds(r, s):
                first, last = certain_from(holds, r, s, ahead=10), decided(tuple(apart), r, s)
                assert first <= decided(found, r, s) <= last, (r, s)


@settings(max_examples=20, deadline=None)
@given(given_boxes=st.lists(boxes, min_size=2, max_size=3))
def test_largest_boxes_cover_the_union_and_nothing_else(given_boxes: list[Box]):
    parts = disjoint(tuple(given_boxes))
    largest = largest_boxes(parts)
    assert all(covered(box, parts) for box in largest)
    assert all(covered(part, largest) for part in parts)


@settings(max_examples=40, deadline=None)
@given(box=boxes)
def test_the_side_that_decides_is_ready_last(box: Box):
    decision = decide(box)
    for r in GRID:
        for s in GRID:
            if box.holds(r, s):
                left, right = (
                    max(end + constant for end, constant in zip(row, constants, strict=True) if constant is not None)
                    for row, constants in ((r, decision.left), (s, decision.right))
                )
                assert decision.left_decides or right >= left
                assert decision.right_decides or left >= right


def test_whole_rows_are_decided_when_they_are_known():
    """Known at their start, rows decide earlier; known at their end, later."""
    (box,) = relation("contains").boxes()
    assert decide(box).describe() == "s.end"
    assert decide(box, AT_START, AT_START).describe() == "s.start"
    assert decide(box, AT_END, AT_END).describe() == "r.end"
    (box,) = relation("iseql.start_preceding").boxes()
    assert decide(box, "events", AT_END).describe() == "s.end"


WORDS = {
    "intersects": "r.start or s.start, the later one",
    "overlaps": "r.end",
    "during": "r.end",
    "contains": "s.end",
    "iseql.start_preceding": "s.start",
    "before": "s.start",
}


@pytest.mark.parametrize("name", WORDS)
def test_description(name: str):
    (box,) = relation(name).boxes()
    assert decide(box).describe() == WORDS[name]


def test_a_shifted_endpoint_is_described():
    assert decide(Box(start_start=(0, None), start_end=(None, -5))).describe() == "s.start + 4"
