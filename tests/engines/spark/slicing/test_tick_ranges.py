"""Tick ranges of few rows are found without the compiler: the same that the kernel finds, at the axis' ends, too."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from timeloom.engines.spark.slicing.tick_ranges import ranges_of_few
from timeloom.kernels.slicing.tick_ranges import AT_END, AT_START, WITHIN, tick_ranges
from timeloom.model.ticks import MAX_TICK, MIN_TICK

near = st.integers(-9, 9)
ticks = near | st.integers(MAX_TICK - 9, MAX_TICK) | st.integers(MIN_TICK, MIN_TICK + 9)
ways = st.lists(st.tuples(st.sampled_from([AT_START, AT_END, WITHIN]), ticks, ticks, ticks, ticks), max_size=3)


@given(st.lists(st.tuples(ticks, ticks), max_size=8), ways)
def test_few_rows_have_the_ranges_that_the_kernel_finds(rows, asked):
    starts, ends = (np.array([row[at] for row in rows], np.int64) for at in (0, 1))
    given_ways = np.array(asked, np.int64).reshape(len(asked), 5)
    low, high = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
    tick_ranges(starts, ends, given_ways, low, high)
    found = ranges_of_few(starts, ends, given_ways)
    assert [column.tolist() for column in found] == [low.tolist(), high.tolist()]
