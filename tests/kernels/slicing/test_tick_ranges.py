"""Where rows must be present, against the limits one by one."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from timeloom.kernels.slicing.tick_ranges import AT_END, AT_START, WITHIN, tick_ranges

ticks = st.integers(-9, 9)
ways = st.lists(
    st.tuples(st.sampled_from([AT_START, AT_END, WITHIN]), ticks, ticks, ticks, ticks), min_size=1, max_size=3
)


def present(start, end, way):
    kind, *limits = way
    if kind != WITHIN:
        return [end if kind == AT_END else start]
    low, high = max(start + limits[0], end + limits[2]), min(start + limits[1], end + limits[3])
    return list(range(low, high + 1))


@given(st.lists(st.tuples(ticks, ticks), max_size=8), ways)
def test_from_the_first_to_the_last_tick_of_all_ways(rows, asked):
    starts, ends = (np.array([row[at] for row in rows], np.int64) for at in (0, 1))
    low, high = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
    tick_ranges(starts, ends, np.array(asked, np.int64), low, high)
    for (start, end), first, last in zip(rows, low, high, strict=True):
        wanted = [tick for way in asked for tick in present(start, end, way)]
        assert (first, last) == (min(wanted), max(wanted)) if wanted else first > last
