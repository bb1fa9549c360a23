"""How relations are cut for distribution: every pair is found in exactly one slice."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timeloom as tl
from drawing import ranges
from timeloom.engines.spark.slicing.join_parts import DURATION, POINT, UNBOUNDED, WINDOW, cover, spread
from timeloom.model.box import Box


@pytest.mark.parametrize(
    ("relation", "reach"),
    [
        ("meets", POINT),
        ("equals", POINT),
        ("starts", POINT),
        ("finishes", POINT),
        ("finished_by", POINT),
        ("intersects", DURATION),
        ("during", DURATION),
        ("contains", DURATION),
        ("overlaps", DURATION),
        ("before", UNBOUNDED),
    ],
)
def test_driving_rows_reach_as_little_as_the_relation_allows(relation, reach):
    pieces = cover(tl.relation(relation).boxes())
    assert max(spread(piece.driver) for piece in pieces) == reach


def test_a_span_bounds_the_reach():
    assert [spread(piece.driver) for piece in cover(tl.iseql.before(delta=5).boxes())] == [WINDOW]


@settings(max_examples=100)
@given(
    boxes=st.lists(st.builds(Box, ranges(), ranges(), ranges(), ranges()), min_size=1, max_size=2),
    r=st.tuples(st.integers(0, 8), st.integers(1, 5)),
    s=st.tuples(st.integers(0, 8), st.integers(1, 5)),
)
def test_pieces_are_disjoint_and_cover_the_relation(boxes, r, s):
    relation = tl.Relation.of(boxes)
    r, s = (r[0], r[0] + r[1]), (s[0], s[0] + s[1])
    holding = [piece for piece in cover(relation.boxes()) if piece.box.holds(r, s)]
    assert len(holding) == relation.holds(r, s)
