"""Timelines and running aggregates against brute force over instants, by either algorithm."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import periods
from kernels import whole
from reference import sequenced as reference
from timeloom.kernels.aggregates import timeline as aggregate
from timeloom.kernels.aggregates.dip import dip_timeline
from timeloom.kernels.aggregates.extremes import greatest
from timeloom.model.ticks import FOREVER
from tree import worked_examples

CASES = worked_examples("dip")
both = pytest.mark.parametrize("timeline", [whole.timeline, dip_timeline], ids=["sweep", "dip"])


def columns(rows: list) -> tuple[np.ndarray, np.ndarray]:
    array = np.array(rows, np.int64).reshape(-1, 2)
    return array[:, 0].copy(), array[:, 1].copy()


def with_values(values):
    return periods().flatmap(
        lambda rows: st.tuples(st.just(rows), st.lists(values, min_size=len(rows), max_size=len(rows)))
    )


@both
def test_averages_of_figure_16(timeline):
    case = CASES["DIP-fig16-aggregation"]
    rows = case["input"]["R"]
    line = timeline(*columns([row[1:3] for row in rows]))
    totals = aggregate.sums(line, np.array([row[4] for row in rows], np.int64))
    averages = [Fraction(int(total), int(count)) for total, count in zip(totals, line.active, strict=True)]
    found = [
        [start, end, average.numerator, average.denominator]
        for start, end, average in zip(line.starts.tolist(), line.ends.tolist(), averages, strict=True)
    ]
    assert found == case["expected"]


@both
@given(rows=periods(max_size=12))
def test_periods_end_exactly_where_lineage_changes(timeline, rows):
    line = timeline(*columns(rows))
    found = aggregate.members(line)
    listed = [tuple(found.rows[a:b].tolist()) for a, b in zip(found.offsets, found.offsets[1:], strict=False)]
    expected = reference.lineage(rows)
    by_start = [tuple(sorted(names, key=lambda at: rows[at][0])) for _, _, names in expected]
    assert list(zip(line.starts.tolist(), line.ends.tolist(), strict=True)) == [run[:2] for run in expected]
    assert listed == by_start
    assert line.active.tolist() == [len(names) for names in listed]


@both
@given(drawn=with_values(st.integers(-3, 3)))
def test_sums_and_distinct_counts(timeline, drawn):
    rows, values = drawn
    line, expected = timeline(*columns(rows)), reference.lineage(rows)
    assert aggregate.sums(line, np.array(values, np.int64)).tolist() == [
        sum(values[at] for at in names) for _, _, names in expected
    ]
    codes = np.array([max(value, -1) for value in values], np.int32)
    assert aggregate.distinct(line, codes, 4).tolist() == [
        len({values[at] for at in names if values[at] >= 0}) for _, _, names in expected
    ]


@both
@given(drawn=with_values(st.tuples(st.integers(-3, 3), st.booleans())))
def test_greatest_is_the_first_of_equals(timeline, drawn):
    rows, values = drawn
    starts, ends = columns(rows)
    codes = np.array([code for code, _ in values], np.int64)
    valid = np.array([known for _, known in values], np.bool_)

    def best(names: tuple[int, ...]) -> int:
        known = [at for at in names if values[at][1]]
        return min(known, key=lambda at: (-values[at][0], rows[at][0], at), default=-1)

    found = greatest(timeline(starts, ends), ends, codes, valid)
    assert found.tolist() == [best(names) for _, _, names in reference.lineage(rows)]


def test_greatest_forgets_rows_that_ended_below_the_top():
    """A long row on top keeps hundreds of ended rows in the heap, until they are thrown out together."""
    rows = [(0, 1000), *((at, at + 1) for at in range(1000)), (1000, 1001)]
    codes = np.array([5000, *range(1000), 0], np.int64)
    starts, ends = columns(rows)
    found = greatest(whole.timeline(starts, ends), ends, codes, np.ones(codes.size, np.bool_))
    assert found.tolist() == [0] * 1000 + [1001]
    without = np.ones(codes.size, np.bool_)
    without[0] = False
    assert greatest(whole.timeline(starts, ends), ends, codes, without).tolist() == [*range(1, 1001), 1001]


@both
def test_open_ends_and_gaps(timeline):
    line = timeline(*columns([(0, 2), (5, FOREVER), (7, FOREVER)]))
    assert line.starts.tolist() == [0, 5, 7]
    assert line.ends.tolist() == [2, 7, FOREVER]


@both
def test_no_rows(timeline):
    line = timeline(*columns([]))
    assert line.starts.size == 0
    assert aggregate.members(line).offsets.tolist() == [0]
    assert aggregate.sums(line, np.empty(0, np.int64)).size == 0
