"""Datasets beside those of the example: other plans, and what is refused. The refusals are a dataset, too."""

from pyspark import pipelines as dp
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import timeloom as tl

SHIFTS = "who string, start timestamp_ntz, end timestamp_ntz"
CALLS = "call int, start timestamp_ntz, end timestamp_ntz"
spark = SparkSession.active()


def told():
    return tl.with_schema(spark.read.table("calls"), CALLS), tl.with_schema(spark.read.table("shifts"), SHIFTS)


@dp.materialized_view
def sent_to_all():
    return tl.join(*told(), "during", how="full", strategy="broadcast")


@dp.materialized_view
def in_force():
    return tl.as_of(*told(), at="start")


@dp.materialized_view
def laid_out():
    """A chain: what a verb returns knows its columns."""
    return tl.lanes(tl.coalesce(tl.join(*told(), "during", columns=["call", "who", "start", "end"])), by="who")


@dp.materialized_view
def faults():
    return tl.check(told()[1], by="who", gaps=True)


@dp.materialized_view
def in_a_row():
    calls, shifts = told()
    return tl.pattern({"a": calls, "b": shifts, "c": calls}, [("a", "during", "b"), ("a", "before", "c")])


@dp.materialized_view
def unanswered():
    calls, shifts = (table.select("start", "end") for table in told())
    times = "start timestamp_ntz, end timestamp_ntz"
    return tl.temporal_except(tl.with_schema(calls, times), tl.with_schema(shifts, times))


def refusal(verb, *args):
    try:
        verb(*args)
    except tl.UsageError as error:
        return str(error)
    return "none"


@dp.materialized_view
def refusals():
    untold = refusal(tl.coalesce, spark.read.table("shifts"))
    tables = {"calls": told()[0], "shifts": spark.read.table("shifts")}
    pattern = refusal(tl.pattern, tables, [("calls", "during", "shifts")])
    return spark.range(1).select(F.lit(untold).alias("untold"), F.lit(pattern).alias("pattern"))
