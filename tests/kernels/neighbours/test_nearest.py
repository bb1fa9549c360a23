"""The steps of a walk to the nearest rows, each against plain loops."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from timeloom.kernels.neighbours.nearest import first_above, next_above, running_maximum, tree_of_maxima

VALUES = st.lists(st.integers(-5, 9), min_size=1, max_size=40).map(lambda values: np.array(values, np.int64))


@given(VALUES, st.integers(-6, 9), st.data())
def test_the_first_position_above_a_limit(values, limit, data):
    highest = np.empty_like(values)
    running_maximum(values, highest)
    assert highest.tolist() == np.maximum.accumulate(values).tolist()
    above = np.flatnonzero(highest > limit)
    if above.size:
        assert first_above(highest, data.draw(st.sampled_from(above.tolist())), limit) == above[0]


@given(VALUES, st.integers(-6, 9), st.integers(0, 45))
def test_the_next_position_above_a_limit(values, limit, first):
    size = 1 << max(0, values.size - 1).bit_length()
    tree = np.empty(2 * size, np.int64)
    tree_of_maxima(values, tree)
    expected = next((at for at in range(first, values.size) if values[at] > limit), size)
    assert next_above(tree, first, limit) == expected
