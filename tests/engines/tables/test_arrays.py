"""Columns of numbers and arrays of numbers are the same numbers, with and without nulls, offsets and pieces."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from timeloom.engines.tables.arrays import filled, from_numpy, to_numpy, words

DTYPES = ["bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"]


@pytest.mark.parametrize("dtype", DTYPES)
@given(st.data())
def test_there_and_back(dtype, data):
    values = data.draw(arrays(dtype, st.integers(0, 20), elements={"allow_nan": False} if dtype[0] == "f" else None))
    skipped = data.draw(st.integers(0, len(values)))
    column = from_numpy(values)
    assert column.equals(pa.array(values))
    assert to_numpy(column.slice(skipped)).tolist() == values[skipped:].tolist()
    pieces = pa.chunked_array([column.slice(skipped), column.slice(0, skipped)], column.type)
    assert to_numpy(pieces).tolist() == [*values[skipped:].tolist(), *values[:skipped].tolist()]
    mask = data.draw(arrays("bool", len(values)))
    assert from_numpy(values, mask=mask).equals(pa.array(values, mask=mask))


def test_what_is_not_plain_is_left_to_arrow():
    days = np.array(["2024-01-01", "2024-01-02"], "M8[D]")
    assert from_numpy(days).equals(pa.array(days))
    assert to_numpy(pa.array(days)).tolist() == days.tolist()
    assert from_numpy(np.array([1, 2]), pa.int32()).equals(pa.array([1, 2], pa.int32()))
    assert to_numpy(pa.array([1.5, None])).tolist()[0] == 1.5
    assert from_numpy(np.arange(6)[::2]).to_pylist() == [0, 2, 4]
    assert not to_numpy(pa.array([1, 2])).flags.writeable


KINDS = [*map(pa.from_numpy_dtype, DTYPES[1:]), pa.date32(), pa.date64(), pa.timestamp("us", "UTC"), pa.timestamp("s")]


@pytest.mark.parametrize("kind", KINDS, ids=str)
@given(st.data())
def test_nulls_are_filled_as_arrow_does(kind, data):
    whole = pa.types.is_temporal(kind)
    values = data.draw(st.lists(st.none() | st.integers(0, 9), max_size=20))
    small = pa.int32() if pa.types.is_date32(kind) else pa.int64()
    column = pa.array(values, small if whole else kind)
    column = (column.view(kind) if whole else column).slice(data.draw(st.integers(0, len(values))))
    wanted = [3 if value is None else value for value in (column.view(small) if whole else column).to_pylist()]
    for given_as in (column, pa.chunked_array([column.slice(2), column.slice(0, 2)], kind)):
        found = filled(given_as, 3)
        assert (found.type, found.null_count) == (kind, 0)
        plain = (found.view(small) if whole else found).to_pylist()
        assert sorted(plain) == sorted(wanted)
        assert given_as is not column or plain == wanted


def test_columns_that_have_no_memory_are_filled():
    assert filled(pa.nulls(3, pa.int16()), -1).to_pylist() == [-1, -1, -1]


@given(st.lists(st.tuples(st.text(max_size=3), st.integers(0, 4))))
def test_words_as_often_as_they_say(runs):
    assert words(runs).equals(pa.array([text for text, count in runs for _ in range(count)], pa.string()))
