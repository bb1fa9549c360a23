"""Rows that several tasks have: whether they match anything is known only when all tasks are heard.

A row matches or not by its period and key alone. So tasks report the periods and keys that have matched, and the rows
are compared with these: no row needs an identity, and a task that runs twice does no harm.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from timeloom.engines.spark.columns.packing import Packing
from timeloom.model.naming import OutputColumn


def matched_schema(key_types: Sequence[T.DataType]) -> T.StructType:
    """The schema of what tasks report: a period in ticks, and the key."""
    fields = [T.StructField(name, T.LongType()) for name in ("start", "end")]
    return T.StructType(fields + [T.StructField(f"k{number}", kind) for number, kind in enumerate(key_types)])


def decided(rows: DataFrame, matched: DataFrame, places: Sequence[int], *, keep_matched: bool) -> DataFrame:
    """The undecided rows that have matched, or those that have not; ``places`` are those of the key."""
    reported = matched.toDF("matched_start", "matched_end", *(f"matched_p{place}" for place in places))
    names = ["start", "end", *(f"p{place}" for place in places)]
    same = F.expr(" AND ".join(f"{name} = matched_{name}" for name in names))
    return rows.join(reported, same, "left_semi" if keep_matched else "left_anti")


def alone(
    rows: DataFrame, side: str, columns: Sequence[OutputColumn], schema: T.StructType, packing: Packing
) -> DataFrame:
    """Packed rows of a side as result rows without a partner."""
    found = [_column(column, side, packing).cast(schema[column.name].dataType) for column in columns]
    return rows.select(*(value.alias(column.name) for value, column in zip(found, columns, strict=True)))


def _column(column: OutputColumn, side: str, packing: Packing) -> Column:
    if side == "left" and column.origin in ("left", "key"):
        return F.col(f"p{packing.left[column.left]}")
    if side == "right" and column.origin in ("right", "key"):
        return F.col(f"p{packing.right[column.right]}")
    return F.lit(None)
