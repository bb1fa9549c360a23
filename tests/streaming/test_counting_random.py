"""Streaming counts of random relations against nested loops; the largest boxes of random unions against their pairs."""

from functools import reduce
from itertools import product
from operator import or_

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from reference.certainty import NEVER
from reference.relations import PARAMETERS, RELATIONS
from timeloom.errors import UsageError
from timeloom.model.names import relation
from timeloom.model.relation import Relation
from timeloom.model.ticks import Axis
from timeloom.streaming import EndpointCount
from timeloom.streaming.intake import Events
from timeloom.streaming.largest import covered, largest_boxes

LAST = 12
FAR = 2**63 - 60
ticks = st.integers(0, LAST)
closed = st.tuples(ticks, ticks).filter(lambda span: span[0] != span[1]).map(lambda span: tuple(sorted(span)))
tables = st.lists(closed | ticks.map(lambda start: (start, NEVER)), max_size=5)
cuts = st.lists(ticks, max_size=3).map(sorted)
bound = st.none() | st.integers(-4, 4)
SIDES = ("start_start", "start_end", "end_start", "end_end")
boxes = st.fixed_dictionaries({side: st.tuples(bound, bound) for side in SIDES}).map(lambda some: Relation(**some))
limit = st.none() | st.integers(-1, 6)
ends = st.fixed_dictionaries({side: st.tuples(limit, limit) for side in SIDES[:2]}).map(lambda some: Relation(**some))


@st.composite
def named(draw) -> Relation:
    name = draw(st.sampled_from(sorted(RELATIONS)))
    limits = {option: draw(st.none() | st.integers(0, 3)) for option in PARAMETERS.get(name, ())}
    return relation(name, **{option: limit for option, limit in limits.items() if limit is not None})


def part(table: list, first: int, last: int, moved: int) -> Events:
    found = sorted(
        (time, row, starting)
        for row, span in enumerate(table)
        for time, starting in zip(span, (True, False), strict=True)
        if first <= time <= last
    )
    columns = [list(column) for column in zip(*found, strict=True)] or [[], [], []]
    times = np.array(columns[0], np.int64) + np.int64(moved)
    return Events.endpoints(np.array(columns[1], np.int64), times, np.array(columns[2], np.bool_))


@settings(max_examples=150, deadline=None)
@given(
    parts=st.lists(named() | boxes | ends, min_size=1, max_size=2),
    left=tables,
    right=tables,
    at=cuts,
    moved=st.sampled_from([0, 0, -20, FAR]),
)
def test_what_can_be_counted_is_counted_exactly(parts, left, right, at, moved):
    """Also with rows that never end, before 0, and near the end of the axis, where no sum may wrap round."""
    wanted = reduce(or_, parts)
    try:
        count = EndpointCount(wanted)
    except UsageError:
        assume(False)
    first, found = 0, []
    for last in [*at, LAST + 1]:
        out = count.push(part(left, first, last, moved), part(right, first, last, moved), until=last + moved)
        assert (out.instants <= last + moved).all()
        assert not out.refused
        found += zip(out.ids.tolist(), out.counts.tolist(), strict=True)
        first = max(first, last + 1)
    out = count.close()
    found += zip(out.ids.tolist(), out.counts.tolist(), strict=True)
    shifted = [
        [(start + moved, end if end == NEVER else end + moved) for start, end in table] for table in (left, right)
    ]
    expected = [(row, sum(wanted.holds(r, s) for s in shifted[1])) for row, r in enumerate(shifted[0])]
    assert sorted(found) == expected
    assert count.state_size == 0


PERIODS = [(start, end) for start in range(5) for end in range(start + 1, 8)]


@settings(max_examples=60, deadline=None)
@given(parts=st.lists(named() | boxes, min_size=2, max_size=3))
def test_the_largest_boxes_hold_what_the_union_holds(parts):
    """Each lies within the union, and together they are all of it."""
    union = reduce(or_, parts).boxes(Axis.INTEGER)
    largest = largest_boxes(union)
    assert all(covered(box, union) for box in largest)
    for r, s in product(PERIODS, PERIODS):
        assert any(box.holds(r, s) for box in largest) == any(box.holds(r, s) for box in union)
