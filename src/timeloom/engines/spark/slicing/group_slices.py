"""Time slices of each group: groups that are hot are cut at starts of their own rows, all others stay whole.

The boundaries are chosen by one small task inside the plan, from the rows with the smallest hashes. Every boundary is
the start of a row of its group, so that an aggregate changes there anyway and the cut leaves no trace in it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from timeloom.engines.spark.cluster.session import cores, shuffle_partitions
from timeloom.engines.spark.cluster.sizes import estimated_bytes
from timeloom.engines.spark.cluster.workers import mapped
from timeloom.engines.spark.slicing.boundaries import COPIES, SAMPLE, copies, estimated_rows, quantiles
from timeloom.engines.spark.slicing.slices import SLICES, in_first_row, number

Ticks = NDArray[np.int64]

WHOLE_BYTES = 16 << 20
"""Inputs below this size are not sliced."""

_SAMPLE = pa.schema([(name, pa.int64()) for name in ("low", "high", "key", "rank")])
_CHOSEN = pa.map_(pa.int64(), pa.list_(pa.int64()))


@dataclass(frozen=True)
class GroupSlicing:
    """How finely to slice: into how many slices at most, how many at least even if rows are long.

    If ``forced``, every group is cut into as many slices as its starts allow; otherwise a group is cut when it has the
    rows of two slices or more.
    """

    slices: int
    least: int
    partitions: int
    forced: bool = False
    rows_per_slice: int = 50_000

    @classmethod
    def of(
        cls, spark: SparkSession, inputs: Sequence[DataFrame], slices: int | None = None, *, grouped: bool = True
    ) -> "GroupSlicing":
        """Choose by the size of the session and of the inputs, or take the number that is given.

        Inputs that a single task could take are not sliced: then nothing need be sampled either, and without groups
        there is one task.
        """
        at_once = cores(spark)
        partitions = min(shuffle_partitions(spark), 2 * at_once)
        if slices is not None:
            return cls(slices, slices, partitions, forced=True)
        sizes = [estimated_bytes(frame) for frame in inputs]
        if sum(WHOLE_BYTES if size is None else size for size in sizes) < WHOLE_BYTES:
            return cls(1, 1, partitions if grouped else 1)
        return cls(partitions, min(partitions, at_once), partitions)

    def facts(self, *, grouped: bool) -> dict[str, str | int | float]:
        """What is known before anything runs: how many slices a group has at most, how often rows are copied."""
        strategy = "keys" if grouped else "slices" if self.slices > 1 else "one task"
        bound = COPIES if self.slices > 1 else 1.0
        return {"strategy": strategy, "partitions": self.partitions, "slices": self.slices, "replication bound": bound}

    def reasons(self, *, grouped: bool) -> tuple[str, ...]:
        """Why it is sliced like this."""
        if self.slices == 1:
            return (f"the input has less than {WHOLE_BYTES:,} bytes, so nothing is cut by time",)
        which = "groups with the rows of two tasks or more are" if grouped else "there are no groups, so all rows are"
        return (
            f"{which} cut by time, at quantiles of a sample taken inside the plan",
            f"fewer slices are made where rows would be copied more than {COPIES:g} times on average",
        )

    def copied(self, placed: DataFrame) -> DataFrame:
        """Rows with a ``slice``, once for each that they go to."""
        return placed.withColumn("slice", F.lit(0) if self.slices == 1 else F.explode(F.expr(SLICES)))

    def placed(self, rows: DataFrame, ranked: DataFrame) -> DataFrame:
        """Give each row its group's boundaries as ``bounds`` and the ``first`` and ``last`` slice it goes to.

        ``rows`` and ``ranked`` have the columns ``key``, ``low`` and ``high``; ``ranked`` has a ``rank`` as well.
        """
        if self.slices == 1:
            return whole(rows)
        looked_up = F.expr("try_element_at(chosen, key)")
        known = rows.join(self._chosen(ranked), F.lit(True), "left").withColumn("bounds", looked_up).drop("chosen")
        return number(known, {"first": "low", "last": "high"}, self.slices)

    def attached(self, rows: DataFrame, ranked: DataFrame) -> DataFrame:
        """Give the first row of each partition the boundaries of all groups that are cut, as ``chosen``.

        They are written as text: lists and maps that are mostly null take Spark very long to send to Python.
        """
        chosen = in_first_row(F.expr("to_json(chosen)"))
        return rows.join(self._chosen(ranked), F.lit(True), "left").withColumn("chosen", chosen)

    def _chosen(self, ranked: DataFrame) -> DataFrame:
        """One row with the boundaries, to be broadcast, from rows with ``low``, ``high``, ``key`` and ``rank``.

        Spark leaves out a limit that it knows to be idle, and with it the promise of one partition.
        """
        timed = ranked.select("low", "high", "key", "rank").where("low IS NOT NULL")
        sample = timed.orderBy("rank").limit(SAMPLE).coalesce(1)
        return F.broadcast(mapped(sample, self, "chosen map<bigint, array<bigint>>"))

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Turn the sample into one row: the boundaries of each hot group, by the hash of the group."""
        table = pa.Table.from_batches(list(batches) or [pa.RecordBatch.from_pylist([], _SAMPLE)])
        low, high, key, rank = (np.asarray(table[name].combine_chunks()) for name in ("low", "high", "key", "rank"))
        found = [(group, bounds.tolist()) for group, bounds in self.choose(low, high, key, rank).items()]
        yield pa.RecordBatch.from_arrays([pa.array([found], _CHOSEN)], names=["chosen"])

    def choose(self, low: Ticks, high: Ticks, key: Ticks, rank: Ticks) -> dict[int, Ticks]:
        """Choose the boundaries of each group that is to be cut."""
        groups, counts = np.unique(key, return_counts=True)
        share = counts / max(1, key.size)
        budget = min(self.slices, max(self.least, estimated_rows(rank) / self.rows_per_slice))
        wanted = np.full(groups.size, self.slices) if self.forced else np.rint(budget * share).astype(np.int64)
        found = {}
        for at in np.flatnonzero(wanted > 1):
            chosen = key == groups[at]
            bounds = self._cut(low[chosen], high[chosen], int(wanted[at]))
            if bounds.size:
                found[int(groups[at])] = bounds
        return found

    def _cut(self, low: Ticks, high: Ticks, wanted: int) -> Ticks:
        """Boundaries for so many slices, or for fewer if rows would be copied too often."""
        while True:
            bounds = quantiles(low, wanted)
            if wanted <= self.least or copies(bounds, low, high) <= COPIES:
                return bounds
            wanted = max(self.least, wanted * 3 // 4)


def whole(rows: DataFrame) -> DataFrame:
    """Rows of groups that are not cut: there is one slice."""
    return rows.withColumns({"bounds": F.expr("CAST(NULL AS ARRAY<BIGINT>)"), "first": F.lit(0), "last": F.lit(0)})
