"""Both engines on the same rows: what Spark gives must be what local tables give."""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from rows import assert_same

Case = tuple[object, DataFrame, pa.Table]
"""What is told if it fails, a plan, and the rows that it must give."""


def random_rows(
    seed: int,
    rows: int = 60,
    keys: Sequence[str | None] = ("a", "b", "c", None),
    latest: int = 40,
    open_ends: float = 0.05,
) -> pa.Table:
    """Rows with ties, equal, nested, touching and long periods, open ends, null keys and values hard to add."""
    draw = random.Random(seed)
    starts = [draw.randrange(latest) for _ in range(rows)]
    ends = [start + draw.choice([1, 1, 2, 3, 5, 8, 30]) for start in starts]

    def some(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
        return pa.array([draw.choice(values) for _ in range(rows)], kind)

    return pa.table(
        {
            "start": pa.array(starts, pa.int64()),
            "end": pa.array([None if draw.random() < open_ends else end for end in ends], pa.int64()),
            "key": some(keys, pa.string()),
            "number": some([1, 2, -7, None], pa.int32()),
            "price": some([0.1, 1e15, -1e15, 3e-7, None], pa.float64()),
            "cost": some([Decimal("0.10"), Decimal("-2.35"), None], pa.decimal128(9, 2)),
            "id": pa.array(range(rows), pa.int64()),
        }
    )


def on_spark(spark: SparkSession, rows: pa.Table) -> DataFrame:
    """The rows as a DataFrame; instants without a zone stay so."""
    return spark.createDataFrame(rows, from_arrow_schema(rows.schema, prefer_timestamp_ntz=True))


def assert_all_same(cases: Iterable[Case]) -> None:
    """Compare plans with local tables; plans of one schema run as one action."""
    by_schema: dict[str, list[Case]] = {}
    for case in cases:
        assert case[1].columns == case[2].column_names, case[0]
        by_schema.setdefault(case[1].schema.simpleString(), []).append(case)
    for together in by_schema.values():
        numbered = [
            plan.select(F.lit(number).alias("call"), F.struct("*").alias("row"))
            for number, (_, plan, _) in enumerate(together)
        ]
        found = reduce(DataFrame.unionAll, numbered).toArrow()
        for number, (told, _, expected) in enumerate(together):
            mine = found.filter(pc.equal(found["call"], number))["row"]
            assert_same(mine.to_pylist(), expected.to_pylist(), told)


def assert_calls_same(
    spark: SparkSession, verb: Callable[..., Any], tables: Sequence[pa.Table], calls: Iterable[Mapping[str, Any]]
) -> None:
    """Compare each call of a verb on DataFrames with the same call on tables."""
    frames = [on_spark(spark, rows) for rows in tables]
    assert_all_same([(call, verb(*frames, **call), verb(*tables, **call)) for call in calls])
