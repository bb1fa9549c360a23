"""Time slices: where they begin, chosen inside the plan from the data themselves.

A sample of rows (those whose numbers have the smallest hashes, so that only periods and keys are read) goes to one
small task, which picks the boundaries and the homes that are hot. Its one row is a scalar subquery of the plan, so
nothing runs before the user's action.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from timeloom.engines.spark.cluster.workers import mapped
from timeloom.engines.spark.columns.validity import Admitted
from timeloom.engines.spark.slicing.boundaries import FAVOURED, RANKS, SAMPLE
from timeloom.engines.spark.slicing.cuts import RESULT, CutTask
from timeloom.engines.tables.validity import VALID

HASHED = 3
"""The sample hashes at most so many columns of a row besides its period."""

SLICES = "CASE WHEN first < last THEN sequence(first, last) ELSE array(first) END"
"""The slices of a row; most rows have one, for which an array is cheaper than a sequence."""

PARTITION_ROWS = 2**33
"""``monotonically_increasing_id`` numbers the rows of each partition from a multiple of this."""


def sampled(side: Admitted, rows: DataFrame, key: str, share: float) -> DataFrame:
    """The share of a side's rows that has the least ranks: side, start, end, key, rank. Long rows are favoured."""
    columns, number = side.columns, int(side.side == "right")
    half = f"shiftright({columns.end}, 1) - shiftright({columns.start}, 1)"
    steps = " ".join(f"WHEN {half} < {1 << (bits - 1)}L THEN {step}" for step, bits in enumerate(FAVOURED))
    sample = rows.where(f"{side.verdict} = {VALID}").selectExpr(
        f"{number} AS side",
        f"{columns.start} AS start",
        f"{columns.end} AS end",
        f"CAST({key} AS BIGINT) AS key",
        f"shiftright(xxhash64(monotonically_increasing_id(), {number}) & {RANKS - 1}L, "
        f"CASE {steps} ELSE {len(FAVOURED)} END) AS rank",
    )
    return sample if share == 1 else sample.where(f"rank < {int(share * RANKS)}L")


def boundaries(rows: DataFrame, task: CutTask) -> DataFrame:
    """The plan of one row with the boundaries; of the sampled rows, at most so many with the least ranks count.

    Spark leaves out a limit that is above the known number of rows, and with it the promise of one partition.
    """
    return mapped(rows.orderBy("rank").limit(SAMPLE).coalesce(1), task, RESULT)


def in_first_row(value: Column) -> Column:
    """A value in the first row of each partition; null in all others."""
    return F.when(F.expr(f"monotonically_increasing_id() % {PARTITION_ROWS} = 0"), value)


def sample_rank(side: Admitted, key: str) -> str:
    """A hash of a row's content that orders rows at random, but always in the same way.

    It covers all that decides about slices, so rows of equal rank are interchangeable.
    """
    others = [name for name in side.schema.names if name not in (side.period.start, side.period.end)]
    atomic = [side.column(name) for name in others if _is_atomic(side.schema[name].dataType)]
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


def _is_atomic(kind: T.DataType) -> bool:
    return isinstance(kind, T.NumericType | T.StringType | T.DateType | T.TimestampType | T.TimestampNTZType)
