"""What a picture needs of a large DataFrame, as aggregates of a few hundred rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from timeloom.engines.spark.columns.ticks import literal, period_columns
from timeloom.errors import InvalidInputError
from timeloom.model.period import Period
from timeloom.model.ticks import FOREVER, Axis
from timeloom.plots.reduction import bin_edges, edges

MOST_NUMBER = "1e308D"
"""Greater ones cannot be drawn: infinity, and not-a-number, which Spark takes for the greatest."""


def quoted(name: str) -> str:
    """A column's name in SQL."""
    return "`" + name.replace("`", "``") + "`"


def _number(schema: T.StructType, value: str) -> str:
    if not isinstance(schema[value].dataType, T.NumericType):
        raise InvalidInputError(
            f"column {value!r} is {schema[value].dataType.simpleString()}; expected numbers to draw"
        )
    return f"CAST({quoted(value)} AS DOUBLE)"


def spark_buckets(df: DataFrame, value: str, period: Period) -> tuple[dict[str, Any], Axis, int]:
    """The least and the greatest value in each bucket of time."""
    schema = df.schema
    found = period_columns({name: quoted(name) for name in schema.names}, schema, period, "input")
    rows = df.selectExpr(f"{found.start} AS s", f"{found.end} AS e", f"{_number(schema, value)} AS v")
    invalid = "count_if(s IS NULL OR s >= e)"
    known = f"max(CASE WHEN e = {literal(FOREVER)} THEN s + 1 ELSE e END)"
    wrong, first, last = rows.selectExpr(invalid, "min(s)", known).toArrow().to_pylist()[0].values()
    if wrong:
        raise InvalidInputError(
            f"{wrong} rows have no period: {period.start!r} is null, or not before {period.end!r}; mend them first"
        )
    rows = rows.where(f"v IS NOT NULL AND abs(v) < {MOST_NUMBER}")
    size = rows.count() if first is not None else 0
    if not size:
        raise InvalidInputError(f"no row has a period and a number in {value!r}; there is nothing to draw")
    bounds = edges(first, last)
    width = f"({literal(last)} - {literal(first)})"
    count = bounds.size - 1
    begin = f"((s - {literal(first)}) * CAST({count} AS DECIMAL(20)) / {width})"
    end = f"((least(e, {literal(last)}) - 1 - {literal(first)}) * CAST({count} AS DECIMAL(20)) / {width})"
    cells = rows.selectExpr("v", f"explode(sequence(CAST(floor({begin}) AS INT), CAST(floor({end}) AS INT))) AS cell")
    merged = (
        cells.groupBy("cell").agg(F.min("v").alias("least"), F.max("v").alias("greatest")).orderBy("cell").toArrow()
    )
    at = np.asarray(merged["cell"].combine_chunks(), np.int64)
    return (
        {
            "starts": bounds[at],
            "ends": bounds[at + 1],
            "least": merged["least"].to_pylist(),
            "greatest": merged["greatest"].to_pylist(),
        },
        found.kind.type.axis,
        size,
    )


def spark_bins(df: DataFrame, value: str) -> "tuple[list[int], NDArray[np.float64]]":
    """How many rows have a value in each of some ranges."""
    schema = df.schema
    rows = df.selectExpr(f"{_number(schema, value)} AS v").where(f"v IS NOT NULL AND abs(v) < {MOST_NUMBER}")
    low, high = rows.selectExpr("min(v)", "max(v)").toArrow().to_pylist()[0].values()
    if low is None:
        return [], np.zeros(1)
    bounds = bin_edges(low, high, whole=isinstance(schema[value].dataType, T.IntegralType))
    last, width = bounds.size - 2, float(bounds[1] - bounds[0])
    cell = f"least({last}, CAST(floor((v - {float(bounds[0])!r}D) / {width!r}D) AS INT))"
    counts = [0] * (last + 1)
    for row in rows.selectExpr(f"{cell} AS cell").groupBy("cell").count().toArrow().to_pylist():
        counts[row["cell"]] = row["count"]
    return counts, bounds
