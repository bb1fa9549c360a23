"""The rows of a sample with the least ranks: the same as by sorting all of them."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from timeloom.engines.spark.slicing.least_ranks import least_ranked

SCHEMA = pa.schema([("start", pa.int64()), ("rank", pa.int64())])


def batches(ranks, size):
    rows = pa.table({"start": np.arange(len(ranks)), "rank": pa.array(ranks, pa.int64())})
    return iter(rows.to_batches(max_chunksize=size))


@given(st.lists(st.integers(0, 30), max_size=60), st.integers(1, 40), st.integers(1, 9))
def test_least_ranks_are_kept_as_they_came(ranks, size, chunk):
    found = least_ranked(batches(ranks, chunk), size, SCHEMA)
    assert sorted(found["rank"].to_pylist()) == sorted(ranks)[:size]
    assert found["start"].to_pylist() == sorted(found["start"].to_pylist())
    assert [ranks[row] for row in found["start"].to_pylist()] == found["rank"].to_pylist()
    assert found.schema.equals(SCHEMA)


def test_rows_above_what_is_kept_are_never_taken_in():
    draw = np.random.default_rng(5)
    ranks = draw.permutation(100_000)
    found = least_ranked(batches(ranks.tolist(), 1000), 500, SCHEMA)
    assert sorted(found["rank"].to_pylist()) == list(range(500))
