"""Time slices: where they begin, chosen inside the plan from the data themselves, and which of them a row goes to.

A sample of rows (those with the smallest hashes, so it is the same sample however often the plan is run) goes to one
small task, which picks the boundaries and the hot keys. Its one row is joined to every row by broadcast, so nothing
runs before the user's action. Rows with a key that is not hot have one slice, the whole axis.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from timeloom.engines.spark.admission import Admitted
from timeloom.engines.spark.boundaries import RESULT, SAMPLE, Slicing

HASHED = 8
"""The sample hashes at most so many columns of a row besides its period."""


def boundaries(rows: DataFrame, slicing: Slicing) -> DataFrame:
    """The plan of one row with the boundaries, from rows (low, high, key, rank); the least ranks are the sample."""
    reaching = rows.select("low", "high", "key", "rank").where(F.col("low").isNotNull())
    return reaching.orderBy("rank").limit(SAMPLE).mapInArrow(slicing, RESULT)


def sample_rank(side: Admitted, key: Column) -> Column:
    """A hash of a row's content that orders rows at random, but always in the same way.

    It covers all that decides about slices, so rows of equal rank are interchangeable.
    """
    atomic = [name for name in side.schema.names if _is_atomic(side.schema[name].dataType)]
    return F.xxhash64(side.columns.raw_start, side.columns.raw_end, key, *map(side.column, atomic[:HASHED]))


def number(frame: DataFrame, ticks: dict[str, Column], slices: int) -> DataFrame:
    """Add columns with the number of the slice in which each tick lies: a binary search in the column ``bounds``."""
    step = 1 << max(0, (slices - 1).bit_length() - 1) if slices > 1 else 0
    frame = frame.withColumns({name: F.lit(0) for name in ticks})
    while step:
        found = {
            name: F.when(F.get("bounds", F.col(name) + F.lit(step - 1)) <= tick, F.col(name) + F.lit(step)).otherwise(
                F.col(name)
            )
            for name, tick in ticks.items()
        }
        frame = frame.withColumns(found)
        step >>= 1
    return frame


def within(tick: Column, slice_number: Column) -> Column:
    """Tell whether a tick lies in a slice; null ticks lie in none."""
    after = F.coalesce(F.get("bounds", slice_number - F.lit(1)) <= tick, F.lit(True))
    before = F.coalesce(tick < F.get("bounds", slice_number), F.lit(True))
    return tick.isNotNull() & after & before


def _is_atomic(kind: T.DataType) -> bool:
    return isinstance(kind, T.NumericType | T.StringType | T.DateType | T.TimestampType | T.TimestampNTZType)
