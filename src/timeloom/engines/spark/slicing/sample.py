"""The sample from which cuts are chosen, inside the plan: nothing runs before the user's action.

The rows whose numbers have the smallest hashes are the sample, so that only periods and keys are read.
"""

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import DataFrame

from timeloom.engines.spark.cluster.readings import reuses
from timeloom.engines.spark.slicing.boundaries import FAVOURED, LIMITED, RANKS

SAMPLED = ("source", "start", "end", "key", "rank")
"""The columns of a sample."""

FIRST_ROW = f"monotonically_increasing_id() % {2**33} = 0"
"""Whether a row is the first of its partition, in SQL: rows of each are numbered from such a multiple."""


def sampled(rows: DataFrame, source: int, ticks: tuple[str, str], key: str, share: float) -> DataFrame:
    """The share of a source's rows that has the least ranks; long rows are favoured. ``ticks`` and ``key`` are SQL.

    If Spark may evaluate the sample more than once in a plan, it must give the same rows in whatever order they come:
    then what counts is what a row says, not its number, though equal rows are then in the sample together, or not.
    """
    start, end = ticks
    half = f"shiftright({end}, 1) - shiftright({start}, 1)"
    steps = " ".join(f"WHEN {half} < {1 << (bits - 1)}L THEN {step}" for step, bits in enumerate(FAVOURED))
    hashed = "monotonically_increasing_id()" if reuses(rows.sparkSession) else f"{start}, {end}, {key}"
    sample = rows.selectExpr(
        f"CAST({source} AS BIGINT) AS source",
        f"{start} AS start",
        f"{end} AS end",
        f"CAST({key} AS BIGINT) AS key",
        f"shiftright(xxhash64({hashed}, {source}) & {RANKS - 1}L, CASE {steps} ELSE {len(FAVOURED)} END) AS rank",
    )
    return sample if share == 1 else sample.where(f"rank < {int(share * RANKS)}L")


def least_ranks(samples: Sequence[DataFrame], size: int) -> DataFrame:
    """Of the samples of all sources, at most so many rows with the least ranks, in one partition.

    Spark leaves out a limit that is above the known number of rows, and with it the promise of one partition. It holds
    all rows of a limit as objects, so larger samples are left to the task that reads them: it keeps the least.
    """
    together = reduce(lambda one, other: one.unionAll(other), samples)
    return together.orderBy("rank").limit(size).coalesce(1) if size <= LIMITED else together.repartition(1)


def in_first_row(value: str) -> str:
    """A value, in SQL, in the first row of each partition; null in all others."""
    return f"CASE WHEN {FIRST_ROW} THEN {value} END"
