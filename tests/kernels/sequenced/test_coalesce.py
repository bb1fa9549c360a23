"""Coalescing of arrays against brute force."""

import numpy as np
from hypothesis import given

from drawing import periods
from reference import sequenced as reference
from timeloom.kernels.sequenced.coalesce import coalesce


@given(periods())
def test_coalesce_names_the_first_row_of_each_period(rows):
    array = np.array(rows, np.int64).reshape(-1, 2)
    found = coalesce(array[:, 0].copy(), array[:, 1].copy())
    merged = list(zip(found.starts.tolist(), found.ends.tolist(), strict=True))
    assert merged == reference.coalesce(rows)
    starts = [start for start, _ in rows]
    assert found.rows.tolist() == [starts.index(start) for start, _ in merged]
