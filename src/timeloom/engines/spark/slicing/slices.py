"""How finely time is sliced: what is known before anything runs, and which boundaries that chooses from a sample."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession

from timeloom.engines.spark.cluster.session import cores, shuffle_partitions
from timeloom.engines.spark.cluster.sizes import all_within, estimate
from timeloom.engines.spark.slicing.boundaries import COPIES, copies, quantiles, sampled_share, work
from timeloom.engines.tables.ticks import Ticks

WHOLE_BYTES = 16 << 20
"""Inputs of grouped verbs and chains below this size are not sliced."""

ALONE_BYTES = 4 << 20
"""Inputs of grouped verbs and chains below this size that are merely read are taken by one task whole."""

LEAST_SEEN = 16
"""A bucket of which the sample has fewer rows is not taken to be hot."""

PIECES = 8
"""A bucket is cut into slices of no less than such a part of the rows that a task should have."""

HOT_TASK, HOT_GROUP = 1.2, 2.0
"""So many times its share of rows a task may have; a group with more than that many times the rows of a task is cut."""

GROUP_ROWS = 50_000
"""So many rows of a group are worth a slice."""


@dataclass(frozen=True)
class Slicing:
    """How finely to slice: at most ``slices``, not below ``least`` even if rows are long.

    By key, rows have buckets by the hashes of their keys, and only hot ones are cut. There are as many buckets as
    slices; with ``groups`` each hash is a bucket of its own, so that every boundary is the start of a row of its group.
    If ``forced``, every bucket is cut. ``share`` is the share of the rows that can be in the sample. ``alone`` if one
    task reads and takes all rows.
    """

    slices: int
    least: int
    by_key: bool = False
    rows_per_slice: int = 100_000
    share: float = 1.0
    partitions: int | None = None
    groups: bool = False
    forced: bool = False
    alone: bool = False
    least_seen: int = field(default_factory=lambda: LEAST_SEEN)

    @classmethod
    def of(
        cls, spark: SparkSession, inputs: Sequence[DataFrame], slices: int | None = None, *, grouped: bool = True
    ) -> "Slicing":
        """Slice groups by the size of the session and of the inputs, or into the number that is given.

        Inputs that a single task could take are not sliced: then nothing need be sampled either, and without groups
        there is one task.
        """
        at_once = cores(spark)
        most = min(shuffle_partitions(spark), 2 * at_once)
        if slices is not None:
            return cls(slices, slices, grouped, GROUP_ROWS, partitions=most, groups=True, forced=True)
        estimates = [estimate(frame) for frame in inputs]
        if all_within(estimates, ALONE_BYTES):
            return cls(1, 1, grouped, partitions=1, groups=True, alone=True)
        sizes = [found.size for found in estimates]
        if sum(WHOLE_BYTES if size is None else size for size in sizes) < WHOLE_BYTES:
            return cls(1, 1, grouped, partitions=most if grouped else 1, groups=True)
        share = 1.0 if None in sizes else sampled_share(sizes)
        return cls(most, min(most, at_once), grouped, GROUP_ROWS, share, partitions=most, groups=True)

    @property
    def tasks(self) -> int:
        """Into how many partitions rows are shuffled."""
        return self.slices if self.partitions is None else self.partitions

    def buckets(self, keys: Ticks) -> Ticks:
        """The buckets of rows with these hashes."""
        return keys if self.groups else keys % self.slices

    def choose(self, low: Ticks, high: Ticks, keys: Ticks, counts: NDArray[np.float64]) -> dict[int, Ticks]:
        """Choose the boundaries of each bucket that is cut, from sampled rows, each of which stands for so many."""
        buckets, numbers, seen = np.unique(self.buckets(keys), return_inverse=True, return_counts=True)
        rows = np.bincount(numbers, counts, buckets.size).astype(np.float64)
        hot = (seen >= self.least_seen) & self._hot(rows)
        found = {}
        for at in np.flatnonzero(hot | (self.forced or not self.by_key)):
            mine = numbers == at
            bounds = self._cut(low[mine], high[mine], counts[mine], counts.sum())
            if bounds.size:
                found[int(buckets[at])] = bounds
        return found

    def _hot(self, rows: NDArray[np.float64]) -> NDArray[np.bool_]:
        """The buckets that have too many rows to be whole.

        Groups are cut only if they have those of two tasks, as they must be put together again. Of other buckets so
        many are cut, the largest first, that no task has much more than its share: a part of all that are cut, and the
        largest of the whole ones.
        """
        share = rows.sum() / self.slices
        if self.groups:
            return np.asarray(rows > HOT_GROUP * share)
        largest = np.argsort(-rows, kind="stable")
        spread = (np.cumsum(rows[largest]) - rows[largest]) / self.slices
        fits = np.flatnonzero(spread + rows[largest] <= HOT_TASK * share)
        hot = np.zeros(rows.size, np.bool_)
        hot[largest[: fits[0] if fits.size else rows.size]] = True
        return hot

    def _cut(self, low: Ticks, high: Ticks, counts: NDArray[np.float64], total: float) -> Ticks:
        """Boundaries for as many slices as rows ask for, or for fewer if rows would be copied too often.

        What a group costs is its rows; what a join costs is pairs as well. A bucket that is one of many gets no more
        slices than its share of all rows is worth.
        """
        wanted = int(min(self.slices, max(self.least, counts.sum() / self.rows_per_slice)))
        if self.by_key and not self.groups:
            wanted = min(wanted, math.ceil(PIECES * self.slices * counts.sum() / total))
        weights = counts if self.groups else work(low, high, counts)
        while True:
            bounds = quantiles(low, wanted, weights)
            if wanted <= self.least or copies(bounds, low, high, counts) <= COPIES:
                return bounds
            wanted = max(self.least, wanted * 3 // 4)

    def facts(self, *, grouped: bool) -> dict[str, str | int | float]:
        """What is known before anything runs: how many slices a group has at most, how often rows are copied."""
        strategy = "keys" if grouped else "slices" if self.slices > 1 else "one task"
        bound = COPIES if self.slices > 1 else 1.0
        return {"strategy": strategy, "partitions": self.tasks, "slices": self.slices, "replication bound": bound}

    def reasons(self, *, grouped: bool) -> tuple[str, ...]:
        """Why it is sliced like this."""
        if self.alone:
            return (
                f"the input has less than {ALONE_BYTES:,} bytes, so one task reads and takes all of it",
                "nothing is cut by time",
            )
        if self.slices == 1:
            return (f"the input has less than {WHOLE_BYTES:,} bytes, so nothing is cut by time",)
        which = "groups with the rows of two tasks or more are" if grouped else "there are no groups, so all rows are"
        return (
            f"{which} cut by time, at quantiles of a sample taken inside the plan",
            f"fewer slices are made where rows would be copied more than {COPIES:g} times on average",
        )
