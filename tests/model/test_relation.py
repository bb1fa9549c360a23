from datetime import timedelta
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import timeloom as tl
from drawing import ranges
from reference.relations import PARAMETERS, RELATIONS
from timeloom.model.box import Box, disjoint
from timeloom.model.ticks import Axis
from tree import worked_examples

GOLDEN = [case for case in worked_examples("sweeping").values() if case["operator"] == "relation_bounds"]
PERIODS = [(a, b) for a in range(6) for b in range(a + 1, 7)]
boxes = st.builds(Box, ranges(), ranges(), ranges(), ranges())


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case["id"])
def test_bounds_are_those_of_the_table_of_definitions(case):
    name = case["input"]["relation"].lower().replace(" ", "_")
    prefix = "iseql." if case["input"]["family"] == "ISEQL" else ""
    values = {"delta": 7, "eps": 11, "-delta": -7, "-eps": -11}
    options = {{"delta": "delta", "eps": "epsilon"}[p]: values[p] for p in case["input"]["params"]}
    relation = tl.relation(prefix + name, **options)
    if case["input"]["inverse"]:
        relation = ~relation
    expected = case.get("expected", case.get("output"))
    wanted = [
        tuple(values.get(bound, bound) for bound in expected[difference])
        for difference in ("s.start-r.start", "s.start-r.end", "s.end-r.start", "s.end-r.end")
    ]
    assert [tuple(found) for found in relation.terms[0].ranges] == wanted


@pytest.mark.parametrize("name", RELATIONS)
@pytest.mark.parametrize("limit", [None, 0, 2])
def test_every_named_relation_holds_exactly_where_its_definition_does(name, limit):
    options = dict.fromkeys(PARAMETERS.get(name, ()), limit) if limit is not None else {}
    relation = tl.relation(name, **options)
    for r, s in product(PERIODS, PERIODS):
        assert relation.holds(r, s) == RELATIONS[name](r, s, **options), (r, s)


def test_exactly_one_of_allens_relations_holds():
    thirteen = [getattr(tl.allen, name) for name in tl.allen.NAMES if name != "intersects"]
    assert len(thirteen) == 13
    for r, s in product(PERIODS, PERIODS):
        assert sum(relation.holds(r, s) for relation in thirteen) == 1


@given(boxes)
def test_a_tight_box_holds_the_same_pairs_and_is_none_only_when_empty(box):
    tight = box.tight()
    held = [(r, s) for r, s in product(PERIODS, PERIODS) if box.holds(r, s)]
    if tight is None:
        assert not held
    else:
        assert held == [(r, s) for r, s in product(PERIODS, PERIODS) if tight.holds(r, s)]


@given(st.lists(boxes, min_size=1, max_size=3))
def test_a_union_becomes_disjoint_boxes_with_the_same_pairs(union):
    pieces = disjoint(tuple(union))
    for r, s in product(PERIODS[::2], PERIODS[::2]):
        assert sum(piece.holds(r, s) for piece in pieces) == any(box.holds(r, s) for box in union)


@given(boxes, boxes)
def test_and_or_and_inverse_mean_what_they_say(a, b):
    first, second = tl.Relation.of([a]), tl.Relation.of([b])
    for r, s in product(PERIODS[::3], PERIODS[::3]):
        assert (first & second).holds(r, s) == (a.holds(r, s) and b.holds(r, s))
        assert (first | second).holds(r, s) == (a.holds(r, s) or b.holds(r, s))
        assert (~first).holds(r, s) == a.holds(s, r)


def test_a_custom_relation_from_bounds():
    relation = tl.Relation(start_start=(0, 3), end_end=(None, "2 minutes"))
    assert repr(relation) == "Relation(0 <= s.start - r.start <= 3 and s.end - r.end <= 0:02:00)"
    assert relation.boxes(Axis.TIMESTAMP)[0].end_end == (None, 120_000_000)


def test_named_relations_state_their_definition():
    assert repr(tl.allen.during) == "Relation(during: s.start - r.start <= -1 and 1 <= s.end - r.end)"
    assert repr(tl.iseql.before(delta=5)) == "Relation(iseql.before: 0 <= s.start - r.end <= 5)"
    assert (tl.allen.meets | tl.allen.before).name == "meets | before"
    assert ~tl.allen.during == tl.allen.contains
    assert tl.relation("~iseql.before", delta=1) == tl.iseql.after(delta=1)
    assert tl.relation(tl.iseql.during) == tl.iseql.during()


def test_durations_need_an_axis_with_units():
    relation = tl.iseql.before(delta=timedelta(hours=1))
    assert relation.boxes(Axis.ZONED)[0].start_end == (0, 3_600_000_000)
    with pytest.raises(tl.UsageError, match="integer periods"):
        relation.boxes(Axis.INTEGER)
    with pytest.raises(tl.UsageError, match="no whole number of date ticks"):
        relation.boxes(Axis.DATE)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tl.relation("durring"), "unknown relation 'durring'. Did you mean 'during'"),
        (lambda: tl.relation("during", delta=1), "'during' takes no delta; these do: .*iseql.during"),
        (lambda: tl.relation("iseql.before", epsilon=1), "'iseql.before' takes no epsilon; it takes delta"),
        (lambda: tl.relation("iseql.before", delta=-1), "delta=-1 is negative"),
        (lambda: tl.relation("iseql.before", delta="soon"), "delta='soon' is no span"),
        (lambda: tl.relation("iseql.before", delta="3 months"), "is no span"),
        (lambda: tl.relation("iseql.before", delta=2.5), "is no span"),
        (lambda: tl.relation([]), "no relation given"),
        (lambda: tl.Relation(start_start=5), "no pair of bounds"),
        (lambda: tl.Relation(start_start=(1, 2, 3)), "no pair of bounds"),
    ],
)
def test_bad_relations_are_refused_with_a_way_out(call, words):
    with pytest.raises(tl.UsageError, match=words):
        call()
