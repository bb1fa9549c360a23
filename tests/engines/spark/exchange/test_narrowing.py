"""Columns that travel in fewer bytes arrive as they were."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeloom.engines.spark.exchange.blocks import ipc_column, read_ipc
from timeloom.engines.spark.exchange.narrowing import FEW, narrowed, widened

ENDS = st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-300, 300), st.integers(2**63 - 300, 2**63 - 1))
KINDS = {
    "int64": pa.int64(),
    "micros": pa.timestamp("us"),
    "zoned": pa.timestamp("us", "Europe/Berlin"),
    "duration": pa.duration("us"),
}


def filled(values, kind):
    """A column of some values, as many rows as are worth it."""
    repeated = np.resize(np.array(values, np.int64), FEW)
    return pa.array(repeated).view(kind)


def sent(table):
    return read_ipc(ipc_column(table)[0])


@given(st.lists(ENDS, min_size=1, max_size=4), st.sampled_from(sorted(KINDS)))
def test_values_arrive_as_they_were(values, kind):
    table = pa.table({"x": filled(values, KINDS[kind])})
    found = sent(table)
    assert found.schema == table.schema
    assert found["x"].combine_chunks().equals(table["x"].combine_chunks())
    assert sent(table.slice(7))["x"].combine_chunks().equals(table.slice(7)["x"].combine_chunks())


@given(st.lists(st.tuples(ENDS, ENDS), min_size=1, max_size=4), st.sampled_from(sorted(KINDS)), st.booleans())
def test_columns_that_are_written_above_others_arrive_as_they_were(values, kind, texts):
    first, second = ([pair[at] for pair in values] for at in (0, 1))
    table = pa.table(
        {"x": filled(first, KINDS[kind]), "y": filled(second, KINDS[kind]), "z": filled(first, pa.int64())}
    )
    if texts:
        half = pa.array(["x"] * (FEW // 2))
        table = table.append_column("text", pa.chunked_array([half, half]))
    assert sent(table).equals(table)


def test_an_end_takes_as_few_bytes_as_it_lies_above_its_start():
    starts = filled([2**40, 0, -(2**50)], pa.int64())
    table = pa.table({"start": starts, "end": pa.array(np.asarray(starts) + np.resize([1, 200], FEW))})
    assert [field.type.bit_width for field in narrowed(table).schema] == [64, 8]
    dates = pa.table({name: column.cast(pa.int32()) for name, column in {"a": filled([0, 9], pa.int64())}.items()})
    assert sent(dates.append_column("b", table["end"])).equals(dates.append_column("b", table["end"]))


@given(st.integers(-(2**63), 2**63 - 1), st.lists(st.integers(-200, 200), min_size=1, max_size=5))
def test_rows_that_lie_near_the_row_before_arrive_as_they_were(first, steps):
    with np.errstate(over="ignore"):
        values = np.int64(first) + np.cumsum(np.resize(np.array(steps, np.int64), 2 * FEW))
    table = pa.table({"x": values, "y": values[::-1].copy()})
    assert sent(table).equals(table)


def test_numbers_of_rows_and_times_in_order_take_one_byte():
    rows = 200_000
    steps = np.random.default_rng(1).integers(0, 250, rows)
    ids, starts = np.arange(rows) + 2**40, np.cumsum(steps)
    table = pa.table({"id": ids, "start": starts, "end": starts + 5, "last": pa.array(ids % 2**31).cast(pa.int32())})
    assert [field.type.bit_width for field in narrowed(table).schema] == [8] * 4
    assert sent(table).equals(table)
    late = table.set_column(0, "id", pa.array(np.where(ids % 7 == 6, 2**50, ids)))  # the first rows promise too much
    assert sent(late).equals(late)


@pytest.mark.parametrize(("span", "width"), [(255, 8), (256, 16), (65_535, 16), (65_536, 32), (2**32 - 1, 32)])
def test_numbers_take_as_few_bytes_as_they_need(span, width):
    for low in (-(2**63), -5, 2**63 - 1 - span):
        table = pa.table({"x": filled([low, low + span], pa.int64())})
        assert narrowed(table).schema.field("x").type.bit_width == width
        assert widened(narrowed(table)).equals(table)


def test_what_would_not_be_smaller_travels_as_it_is():
    wide = filled([0, 2**32], pa.int64())
    others = {
        "wide": wide,
        "null": pa.array([None, *range(FEW - 1)]),
        "text": pa.array(["x"] * FEW),
        "real": pa.array([0.5] * FEW),
        "short": pa.array([1] * FEW, pa.int8()),
        "exact": pa.array([1] * FEW, pa.decimal128(38, 2)),
    }
    table = pa.table(others).replace_schema_metadata({"of": "the user"})
    assert narrowed(table) is table
    more = table.append_column("dates", filled([3, 9], pa.int64()).cast(pa.int32()).cast(pa.date32()))
    found = sent(more)
    assert narrowed(more).nbytes < more.nbytes
    assert found.equals(more, check_metadata=True)
    assert narrowed(more.slice(0, FEW - 1)).num_columns == more.num_columns
