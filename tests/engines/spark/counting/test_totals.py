"""Sums and averages that several slices make together: exact, and of the local engine's types."""

import math
from datetime import timedelta
from decimal import Decimal

import pyarrow as pa
import pytest

import timeloom as tl

pytestmark = pytest.mark.spark

ROWS = 40
DOUBLES = [1e300, 1.0, -1e300, 0.1, 5e-324, math.nan, 1.7e308, math.inf, None, 1e15]
DECIMALS = [Decimal(10) ** 35, Decimal("-0.01"), -(Decimal(10) ** 35) + 1, None]
COLUMNS = {
    "double": pa.array([DOUBLES[row % 10] if row % 7 else 0.25 * row for row in range(ROWS)], pa.float64()),
    "exact": pa.array([DECIMALS[row % 4] for row in range(ROWS)], pa.decimal128(38, 2)),
    "price": pa.array([Decimal(row) / 4 for row in range(ROWS)], pa.decimal128(9, 2)),
    "large": pa.array([2**62 + row if row % 2 else -(2**62) for row in range(ROWS)], pa.int64()),
    "lasted": pa.array([timedelta(microseconds=3 * row) for row in range(ROWS)], pa.duration("us")),
}
AGGREGATES = {f"{name}_{function}": (name, function) for name in COLUMNS for function in ("sum", "avg")}


def test_slices_add_up_as_the_local_engine_does(spark):
    starts = [(row * 7) % 50 for row in range(ROWS)]
    right = pa.table({"start": starts, "end": [start + 1 + start % 5 for start in starts], **COLUMNS})
    left = pa.table({"id": [1, 2, 3, 4], "start": [0, 10, 24, 45], "end": [50, 12, 40, 60]})
    expected = tl.count_join(left, right, aggregates=AGGREGATES)
    frames = spark.createDataFrame(left), spark.createDataFrame(right).repartition(3)
    found = tl.count_join(*frames, aggregates=AGGREGATES, strategy="slices").orderBy("id").toArrow()
    assert [repr(row) for row in found.to_pylist()] == [repr(row) for row in expected.to_pylist()]
    assert found.schema.types == expected.schema.types
