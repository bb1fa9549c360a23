"""Parcels dealt out to time slices, in SQL: there are few of them, so this costs nothing per row."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from timeloom.engines.spark.slicing.boundaries import Slicing
from timeloom.engines.spark.slicing.slices import SLICES, number


def dealt(parcels: DataFrame, cuts: Column, slicing: Slicing) -> DataFrame:
    """Send each parcel to every slice that it touches. By key, only homes with too many rows are cut."""
    if slicing.slices == 1:
        nowhere = "CAST(NULL AS BIGINT)"
        columns = ["home AS place", "0 AS slice", f"{nowhere} AS low", f"{nowhere} AS high", "is_right", "parcel"]
        return parcels.selectExpr(*columns)
    cut = "low IS NOT NULL AND array_contains(cuts.hot, home)" if slicing.by_key else "low IS NOT NULL"
    known = parcels.withColumn("cuts", cuts).withColumn("bounds", F.expr(f"CASE WHEN {cut} THEN cuts.bounds END"))
    placed = number(known, {"first": "low", "last": "high"}, slicing.slices)
    copied = placed.withColumn("slice", F.explode(F.expr(SLICES)))
    return copied.selectExpr(
        f"pmod(home + slice, {slicing.slices}) AS place",
        "slice",
        "CASE WHEN slice > first THEN get(bounds, slice - 1) END AS low",
        "CASE WHEN slice < last THEN get(bounds, slice) END AS high",
        "is_right",
        "parcel",
    )
