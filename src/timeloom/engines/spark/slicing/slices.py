"""How finely time is sliced: what is known before anything runs, and which boundaries that chooses from a sample."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession

from timeloom.engines.spark.cluster.session import cores, shuffle_partitions
from timeloom.engines.spark.cluster.sizes import PARTITION_BYTES, Estimate, all_within, estimate
from timeloom.engines.spark.slicing.boundaries import (
    COPIES,
    HEAVY,
    LIMITED,
    copies,
    divided,
    heaviest,
    heavy_ticks,
    quantiles,
    sample_size,
    sampled_share,
)
from timeloom.engines.spark.slicing.sharing import Grid, Present, grids
from timeloom.engines.spark.slicing.stretches import stretches
from timeloom.engines.spark.slicing.work import work
from timeloom.engines.tables.ticks import Ticks

WHOLE_BYTES = 16 << 20
"""Inputs of grouped verbs and chains below this size are not sliced."""

ALONE_BYTES = 4 << 20
"""Inputs of grouped verbs and chains below this size that are merely read are taken by one task whole."""

AGREED_BYTES = 64 << 20
"""Inputs that have no more bytes together, and are merely read, are sent whole to tasks that agree where to cut."""

AGREED_TASKS = 4
"""Where more tasks than this run at once, it takes less to sample than to send all rows to each of them."""

LEAST_SEEN = 16
"""A bucket of which the sample has fewer rows is not taken to be hot."""

PIECES = 8
"""A tick with more than such a part of what a task should have is heavy in a bucket, whose slices are as small then."""

HOT_TASK, HOT_GROUP = 1.15, 2.0
"""A bucket, or a group, with more than so many times the rows that a task should have is cut."""

GROUP_ROWS = 50_000
"""So many rows of a group are worth a slice."""


class Chosen(NamedTuple):
    """Of each bucket that is cut: its boundaries, which of its slices are shared, and the task of its first slice."""

    bounds: dict[int, Ticks]
    grids: dict[int, dict[int, Grid]]
    firsts: dict[int, int]

    def add(self, bucket: int, first: int, bounds: Ticks, grids: dict[int, Grid]) -> None:
        """Cut a bucket; one of a single slice that is not shared stays whole, unless it goes to another task."""
        if bounds.size or grids or first != bucket:
            self.bounds[bucket], self.firsts[bucket] = bounds, first
            if grids:
                self.grids[bucket] = grids

    def slots(self, bucket: int) -> int:
        """How many tasks have a part of a bucket."""
        if bucket not in self.bounds:
            return 1
        return self.bounds[bucket].size + 1 + sum(grid.tasks - 1 for grid in self.grids.get(bucket, {}).values())


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
        cls,
        spark: SparkSession,
        inputs: Sequence[DataFrame],
        slices: int | None = None,
        *,
        grouped: bool = True,
        agrees: bool = False,
    ) -> "Slicing":
        """Slice groups by the size of the session and of the inputs, or into the number that is given.

        Inputs that a single task could take are not sliced: then nothing need be sampled either, and without groups
        there is one task, or as many as run at once if tasks can agree where to cut.
        """
        at_once = cores(spark)
        most = min(shuffle_partitions(spark), 2 * at_once)
        if slices is not None:
            return cls(slices, slices, grouped, GROUP_ROWS, partitions=most, groups=True, forced=True)
        estimates = [estimate(frame) for frame in inputs]
        if all_within(estimates, ALONE_BYTES):
            return cls(1, 1, grouped, partitions=1, groups=True, alone=True)
        if agrees and 1 < min(most, at_once) <= AGREED_TASKS and agreeable(estimates):
            return cls(1, 1, grouped, partitions=min(most, at_once), groups=True, agreed=True)
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
        return self.chosen(low, high, keys, counts, np.zeros(low.size, np.int64)).bounds

    def chosen(self, low: Ticks, high: Ticks, keys: Ticks, counts: NDArray[np.float64], sources: Ticks) -> "Chosen":
        """The same, which slices are shared, for which it matters whose rows are whose, and to which tasks they go."""
        buckets, numbers = self._numbered(keys)
        rows = np.bincount(numbers, counts, buckets.size).astype(np.float64)
        seen = np.bincount(numbers, minlength=buckets.size)
        hot = (seen >= self.least_seen) & self._hot(rows) | (self.forced or not self.by_key)
        order, last = np.argsort(numbers, kind="stable") if buckets.size > 1 else None, np.cumsum(seen)
        found = Chosen({}, {}, {})
        cut = {}
        for at in np.flatnonzero(hot & (seen > 0)).tolist():
            mine = slice(None) if order is None else order[last[at] - seen[at] : last[at]]
            present = Present(low[mine], high[mine], counts[mine], sources[mine]).in_order()
            if self.by_key and not self.groups:
                cut[int(buckets[at])] = float(rows[at]), present
            else:
                wanted = int(np.clip(rows[at] / self.rows_per_slice, self.least, self.slices))
                found.add(int(buckets[at]), int(buckets[at]), *self._cut(present, wanted))
        if cut:
            held = np.bincount(buckets[~hot] % self.tasks, rows[~hot], self.tasks).astype(np.float64)
            self._lay_out(found, held, cut)
        return found

    def _numbered(self, keys: Ticks) -> tuple[Ticks, NDArray[np.integer]]:
        """The buckets that there may be, and of each row which of them it has."""
        if not self.by_key:
            return np.zeros(1, np.int64), np.zeros(keys.size, np.int8)
        if self.groups:
            return np.unique(keys, return_inverse=True)
        return np.arange(self.slices), self.buckets(keys).astype(np.uint16 if self.slices < 2**16 else np.int64)

    def _hot(self, rows: NDArray[np.float64]) -> NDArray[np.bool_]:
        """The buckets that have too many rows to be whole; more groups are, since they must be put together again."""
        share = rows.sum() / self.slices
        return np.asarray(rows > (HOT_GROUP if self.groups else HOT_TASK) * share)

    def _lay_out(self, found: "Chosen", held: NDArray[np.float64], cut: dict[int, tuple[float, Present]]) -> None:
        """Give the buckets that are cut to tasks that hold so many rows of whole ones, until all have as much.

        A bucket with a tick that weighs too much for a task's room is cut into equal slices first, which go to one task
        after the other.
        """
        share, task = (held.sum() + sum(rows for rows, _ in cut.values())) / self.tasks, 0
        weighed = {bucket: self._weights(present) for bucket, (_, present) in cut.items()}
        for bucket, (rows, present) in list(cut.items()):
            wanted = min(self.slices, math.ceil(PIECES * rows / share))
            if heaviest(present.low, weighed[bucket]) * rows < share / PIECES:
                continue
            found.add(bucket, task, *self._cut(present, wanted))
            slots = found.slots(bucket)
            np.add.at(held, (task + np.arange(slots)) % self.tasks, rows / slots)
            task += slots
            del cut[bucket]
        lengths = np.array([rows for rows, _ in cut.values()])
        for (bucket, (_, present)), (first, parts) in zip(cut.items(), stretches(held, lengths), strict=True):
            bounds = divided(present.low, weighed[bucket], parts)
            if parts.size < self.least or copies(bounds, present.low, present.high, present.counts) <= COPIES:
                found.add(bucket, first, bounds, {})
            else:
                found.add(bucket, first, *self._cut(present, parts.size + 1))

    def _weights(self, rows: Present) -> NDArray[np.float64]:
        """What a group costs is its rows; what a join costs is pairs as well."""
        return rows.counts if self.groups else work(rows.low, rows.high, rows.counts, exact=self.agreed)

    def _cut(self, rows: Present, wanted: int) -> tuple[Ticks, dict[int, Grid]]:
        """Boundaries for so many slices, or fewer if rows, in order of their first ticks, were copied too often.

        A tick that weighs as many slices is shared by as many tasks.
        """
        low, high, counts, _ = rows
        weights = self._weights(rows)
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
        strategy = "keys" if grouped else "slices" if self.slices > 1 or self.agreed else "one task"
        bound = COPIES if self.slices > 1 else 1.0
        return {"strategy": strategy, "partitions": self.tasks, "slices": self.slices, "replication bound": bound}

    def reasons(self, *, grouped: bool, whole: int = WHOLE_BYTES) -> tuple[str, ...]:
        """Why it is sliced like this; inputs of less than ``whole`` bytes are not."""
        if self.alone:
            return (
                f"the input has less than {ALONE_BYTES:,} bytes, so one task reads and takes all of it",
                "nothing is cut by time",
            )
        if self.agreed:
            return (
                f"the input has no more than {AGREED_BYTES:,} bytes, so {self.tasks} tasks agree where to cut time",
            )
        if self.slices == 1:
            return (f"the input has less than {whole:,} bytes, so nothing is cut by time",)
        which = "groups with the rows of two tasks or more are" if grouped else "there are no groups, so all rows are"
        return (
            f"{which} cut by time, at quantiles of a sample taken inside the plan",
            f"fewer slices are made where rows would be copied more than {COPIES:g} times on average",
        )


def agreeable(estimates: Collection[Estimate]) -> bool:
    """Whether each of a few tasks can hold all rows of some inputs, and these are the same when they are read again."""
    return all_within(estimates, AGREED_BYTES) and all(one.steady for one in estimates)


def _beside(wanted: int, heavy: NDArray[np.float64], light: float) -> int:
    """How many slices there are if ticks weigh as many of them: so many less, but not too few for the other rows.

    These are a part of all rows, and have little work; yet a task must hold them.
    """
    return int(heavy.size + math.ceil(max(wanted - heavy.sum(), wanted * light / HEAVY, 1.0)))
