"""Different values in rectangles that are open on one side, against brute force."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from timeloom.kernels.counts.distinct import Asked, distinct_in_ranges


@given(st.lists(st.integers(0, 3), max_size=12), st.data())
def test_values_are_counted_once_in_each_rectangle(codes, data):
    size = len(codes)
    arrival = data.draw(st.permutations(range(size)))
    place = st.integers(0, size)
    asked = data.draw(st.lists(st.tuples(place, place, place), max_size=6))
    asked = [(min(low, high), max(low, high), seen) for low, high, seen in asked]
    columns = np.array(asked, np.int64).reshape(-1, 3)
    found = distinct_in_ranges(
        np.array(codes, np.int64),
        np.array(arrival, np.int32),
        Asked(columns[:, 0].copy(), columns[:, 1].copy(), columns[:, 2].copy()),
    )
    assert found.tolist() == [
        len({codes[at] for at in arrival[:seen] if low <= at < high}) for low, high, seen in asked
    ]
