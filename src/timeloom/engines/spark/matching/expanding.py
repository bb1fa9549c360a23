"""Run batches written out as pairs, in SQL."""

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from timeloom.engines.joins.drivers import exact_pieces
from timeloom.engines.spark.matching.runs import COUNTS, FIRSTS, FLIP, names
from timeloom.engines.spark.slicing.join_parts import POINT, JoinPart, spread
from timeloom.model.naming import OutputColumn

MOST_COLUMNS = 16
"""A result with more columns is not written out in SQL: the code that Spark makes for it must stay small."""


def suits(spark: SparkSession, algorithm: str, parts: Sequence[JoinPart], columns: Sequence[OutputColumn]) -> bool:
    """Tell whether the pairs of an inner join can be sent as runs: they are runs, and are columns of one side each.

    Without code of Spark's own making, each pair would cost a copy of its run batch. Rows that match at most a few
    others gain nothing.
    """
    return (
        algorithm in ("auto", "forward_scan")
        and len(columns) <= MOST_COLUMNS
        and all(column.origin in ("left", "right", "key") for column in columns)
        and all(exact_pieces(part.box) and spread(part.driver) != POINT for part in parts)
        and str(spark.conf.get("spark.sql.codegen.wholeStage", "true")).lower() == "true"
    )


def quoted(name: str) -> str:
    """A user's column in SQL, whatever its name."""
    return "`" + name.replace("`", "``") + "`"


def run_batch_schema(fields: Sequence[T.StructField]) -> T.StructType:
    """The schema of run batches whose pairs have these fields."""
    numbers = T.ArrayType(T.IntegerType(), containsNull=False)
    kinds = [T.BooleanType(), numbers, numbers, *(T.ArrayType(field.dataType) for field in fields)]
    return T.StructType([T.StructField(name, kind) for name, kind in zip(names(len(fields)), kinds, strict=True)])


def expanded(batches: DataFrame, fields: Sequence[T.StructField], sides: Sequence[str]) -> DataFrame:
    """Write out the pairs: each run of each batch, and each row of the window that belongs to it.

    What all pairs of a run have in common is looked up once.
    """
    values = names(len(fields))[3:]
    runs = batches.selectExpr(FLIP, COUNTS, *values, f"posexplode({FIRSTS}) AS (run, first)")
    owns = {"left": f"NOT {FLIP}", "right": FLIP}
    common = [
        f"CASE WHEN {owns[side]} THEN get({value}, run) END AS {value}_run"
        for value, side in zip(values, sides, strict=True)
    ]
    met = f"explode(sequence(first, first + get({COUNTS}, run) - 1)) AS met"
    pairs = runs.selectExpr(FLIP, *values, *common, met)
    columns = [
        f"CASE WHEN {owns[side]} THEN {value}_run ELSE get({value}, met) END"
        for value, side in zip(values, sides, strict=True)
    ]
    if not any(field.metadata for field in fields):
        return pairs.selectExpr(
            *(f"{text} AS {quoted(field.name)}" for text, field in zip(columns, fields, strict=True))
        )
    return pairs.select(
        *(
            F.expr(text).alias(field.name, metadata=field.metadata or {})
            for text, field in zip(columns, fields, strict=True)
        )
    )
