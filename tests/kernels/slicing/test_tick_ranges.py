"""Cells of time: as by hand."""

from bisect import bisect_right

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from timeloom.kernels.slicing.tick_ranges import number_cells

ROWS = st.lists(st.tuples(st.integers(-5, 30), st.integers(0, 40), st.booleans(), st.integers(0, 2)), max_size=20)


@given(
    ROWS,
    st.integers(0, 4).flatmap(
        lambda levels: st.lists(st.integers(0, 25), min_size=2**levels - 1, max_size=2**levels - 1)
    ),
)
def test_rows_get_the_least_cell_that_is_longer_than_they(rows, bounds):
    bounds = sorted(bounds)
    low, length, present, homes = (np.array([row[at] for row in rows], np.int64) for at in range(4))
    least = np.minimum([0, 1, 2], len(bounds).bit_length())
    numbers = np.empty(len(rows), np.int16)
    number_cells(low, low + length, present.astype(np.bool_), homes, least, np.array(bounds, np.int64), numbers)
    cells = len(bounds) + 1
    for (start, span, here, home), number in zip(rows, numbers.tolist(), strict=True):
        assert number // (2 * cells) == home
        at = number % (2 * cells)
        if not here:
            assert at == 2 * cells - 1
            continue
        first, last = bisect_right(bounds, start), bisect_right(bounds, start + span)
        level = max(int(least[home]), (last - first).bit_length())
        assert at == sum(cells >> below for below in range(level)) + (first >> level)
