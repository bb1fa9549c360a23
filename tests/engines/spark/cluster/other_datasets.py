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


def refusal(verb, *args):
    try:
        verb(*args)
    except tl.UsageError as error:
        return str(error)
    return "none"


@dp.materialized_view
def refusals():
    untold = refusal(tl.coalesce, spark.read.table("shifts"))
    groups = refusal(tl.as_of, *told())
    return spark.range(1).select(F.lit(untold).alias("untold"), F.lit(groups).alias("groups"))
