"""Who was on duty when a call came, and how many were: datasets of a declarative pipeline.

In dataset functions plans are made and not looked at, so columns are told with `tl.with_schema`.
"""

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

import timeloom as tl

SHIFTS = "who string, start timestamp_ntz, end timestamp_ntz"
CALLS = "call int, start timestamp_ntz, end timestamp_ntz"
HOURS = (
    "select name as {name}, timestamp_ntz'2024-01-01' + start * interval '1' hour as start, "
    "timestamp_ntz'2024-01-01' + end * interval '1' hour as end from values {rows} as t(name, start, end)"
)
spark = SparkSession.active()


@dp.materialized_view
def shifts() -> DataFrame:
    """Who is on duty from when to when."""
    rows = "('Ann', 8, 12), ('Ann', 12, 13), ('Bob', 10, 16), ('Cid', 18, 22)"
    return spark.sql(HOURS.format(name="who", rows=rows))


@dp.materialized_view
def calls() -> DataFrame:
    """Calls, each with a beginning and an end."""
    return spark.sql(HOURS.format(name="call", rows="(1, 9, 10), (2, 11, 13), (3, 17, 19)"))


def read(name: str, schema: str) -> DataFrame:
    """A dataset of this pipeline, with its columns told."""
    told: DataFrame = tl.with_schema(spark.read.table(name), schema)
    return told


@dp.materialized_view
def answered() -> DataFrame:
    """Calls and who was on duty from their beginning to their end; calls that nobody took stay."""
    found: DataFrame = tl.join(read("calls", CALLS), read("shifts", SHIFTS), "during", how="left")
    return found


@dp.materialized_view
def on_duty() -> DataFrame:
    """How many are on duty over time."""
    found: DataFrame = tl.temporal_aggregate(read("shifts", SHIFTS), {"people": "count"})
    return found


@dp.materialized_view
def presence() -> DataFrame:
    """When each is present, with shifts that touch made one."""
    found: DataFrame = tl.coalesce(read("shifts", SHIFTS))
    return found


@dp.materialized_view
def at_noon() -> DataFrame:
    """Who is on duty at noon."""
    found: DataFrame = tl.stab(read("shifts", SHIFTS), "2024-01-01T12:00:00")
    return found
