"""Rectangles over the events of a forest, against a look at every event."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from timeloom.kernels.stab_forest.build import build
from timeloom.kernels.stab_forest.layout import FOREVER, NEVER
from timeloom.kernels.stab_forest.rectangle import count_rows, search_many

events = st.lists(st.tuples(st.integers(0, 12), st.integers(1, 9)), max_size=120)
limits = st.tuples(*[st.integers(-4, 4)] * 4) | st.just((NEVER, FOREVER, NEVER, FOREVER))


def fits(tick, start, end, bounds):
    low = max(start + bounds[0], end + bounds[2])
    high = min(start + bounds[1], end + bounds[3])
    return low <= tick <= high


@given(events, st.lists(st.tuples(st.integers(0, 12), st.integers(1, 9)), max_size=5), limits, limits)
def test_each_row_with_the_events_of_its_rectangle(given_events, rows, by_start, by_end):
    held = sorted((start, start + length) for start, length in given_events)
    forest = build(*(np.array([event[at] for event in held], np.int64) for at in (0, 1)))
    starts = np.array([start for start, _ in rows], np.int64)
    ends = np.array([start + length for start, length in rows], np.int64)
    wanted = [
        (row, at)
        for row, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True))
        for at, event in enumerate(held)
        if fits(event[0], start, end, by_start) and fits(event[1], start, end, by_end)
    ]
    found_rows, positions, _ = search_many(forest, starts, ends, by_start, by_end)
    assert sorted(zip(found_rows.tolist(), positions.tolist(), strict=True)) == wanted
    counts = np.zeros(len(rows), np.int64)
    count_rows(forest, starts, ends, by_start, by_end, 0, counts)
    assert counts.tolist() == [sum(at == row for at, _ in wanted) for row in range(len(rows))]
