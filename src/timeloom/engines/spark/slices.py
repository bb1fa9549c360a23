"""Time slices: where they begin, chosen inside the plan from the data themselves, and in which of them a tick lies.

A sample of rows (those with the smallest hashes, so it is the same sample however often the plan is run) goes to one
small task, which picks the boundaries and the hot keys. Its one row is joined to every row by broadcast, so nothing
runs before the user's action. Rows with a key that is not hot have one slice, the whole axis.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from timeloom.engines.spark.admission import Admitted
from timeloom.engines.spark.boundaries import RESULT, SAMPLE, Slicing

HASHED = 8
"""The sample hashes at most so many columns of a row besides its period."""


def boundaries(rows: DataFrame, slicing: Slicing) -> DataFrame:
    """The plan of one row with the boundaries, from rows (low, high, key, rank); the least ranks are the sample.

    Spark leaves out a limit that is above the known number of rows, and with it the promise of one partition.
    """
    reaching = rows.select("low", "high", "key", "rank").where("low IS NOT NULL")
    return reaching.orderBy("rank").limit(SAMPLE).coalesce(1).mapInArrow(slicing, RESULT)


def sample_rank(side: Admitted, key: str) -> str:
    """A hash of a row's content that orders rows at random, but always in the same way.

    It covers all that decides about slices, so rows of equal rank are interchangeable.
    """
    atomic = [side.column(name) for name in side.schema.names if _is_atomic(side.schema[name].dataType)]
    return f"xxhash64({', '.join([side.columns.raw_start, side.columns.raw_end, key, *atomic[:HASHED]])})"


def number(frame: DataFrame, ticks: dict[str, str], slices: int) -> DataFrame:
    """Add columns with the number of the slice in which each tick lies: a binary search in the column ``bounds``."""
    step = 1 << max(0, (slices - 1).bit_length() - 1)
    found = dict.fromkeys(ticks, "0")
    while step and slices > 1:
        searched = {
            name: f"{found[name]} + CASE WHEN get(bounds, {found[name]} + {step - 1}) <= {tick} THEN {step} ELSE 0 END"
            for name, tick in ticks.items()
        }
        frame = frame.withColumns({name: F.expr(text) for name, text in searched.items()})
        found = {name: name for name in ticks}
        step >>= 1
    return frame if slices > 1 else frame.withColumns({name: F.lit(0) for name in ticks})


def within(tick: str, slice_number: str) -> str:
    """Tell whether a tick lies in a slice; null ticks lie in none."""
    after = f"coalesce(get(bounds, {slice_number} - 1) <= {tick}, true)"
    before = f"coalesce({tick} < get(bounds, {slice_number}), true)"
    return f"({tick} IS NOT NULL AND {after} AND {before})"


def _is_atomic(kind: T.DataType) -> bool:
    return isinstance(kind, T.NumericType | T.StringType | T.DateType | T.TimestampType | T.TimestampNTZType)
