"""How finely time is sliced: what is known before anything runs, and which boundaries that chooses from a sample."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession

from timeloom.engines.spark.cluster.session import cores, shuffle_partitions
from timeloom.engines.spark.cluster.sizes import PARTITION_BYTES, all_within, estimate
from timeloom.engines.spark.slicing.boundaries import (
    COPIES,
    HEAVY,
    LIMITED,
    copies,
    heavy_ticks,
    quantiles,
    sample_size,
    sampled_share,
    work,
)
from timeloom.engines.spark.slicing.sharing import Grid, Present, grids
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
    task reads and takes all rows. ``shares`` if several tasks may have parts of one slice: all that is made of it is
    pairs, which need not know of each other. ``agreed`` if every task gets all rows, and chooses the cuts itself.
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
    shares: bool = False
    agreed: bool = False
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
        known = sum(size for size in sizes if size is not None)
        most = min(shuffle_partitions(spark), max(2 * at_once, known // PARTITION_BYTES))
        share = 1.0 if None in sizes and sample_size(most) <= LIMITED else sampled_share(sizes)
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
        return self.chosen(low, high, keys, counts, np.zeros(low.size, np.int64))[0]

    def chosen(
        self, low: Ticks, high: Ticks, keys: Ticks, counts: NDArray[np.float64], sources: Ticks
    ) -> tuple[dict[int, Ticks], dict[int, dict[int, Grid]]]:
        """The same, and which of the slices are shared; for that it matters from which source rows come."""
        buckets, numbers, seen = np.unique(self.buckets(keys), return_inverse=True, return_counts=True)
        rows = np.bincount(numbers, counts, buckets.size).astype(np.float64)
        hot = (seen >= self.least_seen) & self._hot(rows)
        by_bucket, last = np.lexsort((low, numbers)), np.cumsum(seen)
        found, shared = {}, {}
        cut = np.flatnonzero(hot | (self.forced or not self.by_key))
        for at, slices in zip(cut.tolist(), self._wanted(rows[cut], counts.sum()).tolist(), strict=True):
            mine = by_bucket[last[at] - seen[at] : last[at]]
            bounds, grid = self._cut(Present(low[mine], high[mine], counts[mine], sources[mine]), slices)
            if bounds.size or grid:
                found[int(buckets[at])], shared[int(buckets[at])] = bounds, grid
        return found, {bucket: grid for bucket, grid in shared.items() if grid}

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

    def _wanted(self, rows: NDArray[np.float64], total: float) -> Ticks:
        """Into how many slices to cut buckets that have so many of all rows.

        A bucket that is one of many gets no more slices than its share of all rows is worth. As the slices of all of
        them go to one task after the other, some more are made, of the buckets whose slices are largest, until each
        task has as many.
        """
        wanted = np.clip(rows / self.rows_per_slice, self.least, self.slices).astype(np.int64)
        if not self.by_key or self.groups:
            return wanted
        wanted = np.minimum(wanted, np.ceil(PIECES * self.slices * rows / total).astype(np.int64))
        missing = -wanted.sum() % self.tasks if wanted.sum() > self.tasks else 0
        while missing:
            more = np.argsort(-rows / wanted, kind="stable")[:missing]
            wanted[more] += 1
            missing -= more.size
        return wanted

    def _cut(self, rows: Present, wanted: int) -> tuple[Ticks, dict[int, Grid]]:
        """Boundaries for so many slices, or fewer if rows, in order of their first ticks, were copied too often.

        What a group costs is its rows; what a join costs is pairs as well. A tick that weighs as many slices is shared
        by as many tasks.
        """
        low, high, counts, _ = rows
        weights = counts if self.groups else work(low, high, counts)
        ticks, heavy = heavy_ticks(low, weights, wanted) if self.shares else (low[:0], counts[:0])
        slices = _beside(wanted, heavy, counts[~np.isin(low, ticks)].sum() / counts.sum()) if heavy.size else wanted
        while True:
            bounds = quantiles(low, slices, weights)
            if slices <= self.least or copies(bounds, low, high, counts) <= COPIES:
                at = np.searchsorted(bounds, ticks, side="right").tolist()
                return bounds, grids(bounds, dict(zip(at, heavy.tolist(), strict=True)), rows) if heavy.size else {}
            slices = max(self.least, slices * 3 // 4)

    def facts(self, *, grouped: bool) -> dict[str, str | int | float]:
        """What is known before anything runs: how many slices a group has at most, how often rows are copied."""
        strategy = "keys" if grouped else "slices" if self.slices > 1 else "one task"
        bound = COPIES if self.slices > 1 else 1.0
        return {"strategy": strategy, "partitions": self.tasks, "slices": self.slices, "replication bound": bound}

    def reasons(self, *, grouped: bool, whole: int = WHOLE_BYTES) -> tuple[str, ...]:
        """Why it is sliced like this; inputs of less than ``whole`` bytes are not."""
        if self.alone:
            return (
                f"the input has less than {ALONE_BYTES:,} bytes, so one task reads and takes all of it",
                "nothing is cut by time",
            )
        if self.slices == 1:
            return (f"the input has less than {whole:,} bytes, so nothing is cut by time",)
        which = "groups with the rows of two tasks or more are" if grouped else "there are no groups, so all rows are"
        return (
            f"{which} cut by time, at quantiles of a sample taken inside the plan",
            f"fewer slices are made where rows would be copied more than {COPIES:g} times on average",
        )


def _beside(wanted: int, heavy: NDArray[np.float64], light: float) -> int:
    """How many slices there are if ticks weigh as many of them: so many less, but not too few for the other rows.

    These are a part of all rows, and have little work; yet a task must hold them.
    """
    return int(heavy.size + math.ceil(max(wanted - heavy.sum(), wanted * light / HEAVY, 1.0)))
