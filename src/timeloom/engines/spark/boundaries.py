"""Where time slices begin: chosen from a sample of rows by one small task inside the plan."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SAMPLE = 10_000
"""Rows in the sample; one Arrow batch by Spark's default."""

COPIES = 4.0
"""With more copies of a row than this, on average, fewer slices are made."""

SAMPLED_BYTES = 1 << 19
"""Of inputs with more bytes than this, only so many are ranked, but not less than the share below."""

LEAST_SHARE, USUAL_SHARE = 1 / 128, 1 / 32
"""Of large inputs, and of those whose size is unknown, so much is ranked."""

PAIRS_PER_ROW = 20.0
"""A row that is sent to a task costs about as much as so many pairs that come back."""

_HASHES = 2.0**64


def sampled_share(sizes: Collection[int | None]) -> float:
    """Which share of the rows to rank, for inputs of these sizes."""
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes):
        return USUAL_SHARE
    return float(np.clip(SAMPLED_BYTES / max(1, sum(known)), LEAST_SHARE, 1.0))


@dataclass(frozen=True)
class Slicing:
    """How finely to slice: at most ``slices``, not below ``least`` even if rows are long.

    By key, rows have homes by the hashes of their keys, as many as slices, and only hot homes are sliced. ``share`` is
    the share of the rows that can be in the sample.
    """

    slices: int
    least: int
    by_key: bool
    rows_per_slice: int = 100_000
    share: float = 1.0

    def choose(
        self, low: NDArray[np.int64], high: NDArray[np.int64], home: NDArray[np.int64], rank: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Choose boundaries at quantiles of the sampled rows, and the hot homes."""
        rows = estimated_rows(rank, self.share)
        hot = np.zeros(0, np.int64)
        if self.by_key:
            values, counts = np.unique(home, return_counts=True)
            hot = values[(counts >= 16) & (counts * self.slices > 2 * home.size)]
            chosen = np.isin(home, hot)
            rows, low, high = rows * chosen.mean() if chosen.size else 0.0, low[chosen], high[chosen]
        wanted = int(min(self.slices, max(self.least, rows / self.rows_per_slice)))
        weights = work(low, high, rows / max(1, low.size))
        while True:
            bounds = quantiles(low, wanted, weights)
            if wanted <= self.least or copies(bounds, low, high) <= COPIES:
                return bounds, hot
            wanted = max(self.least, wanted * 3 // 4)


def work(low: NDArray[np.int64], high: NDArray[np.int64], rows: float) -> NDArray[np.float64]:
    """How much work each sampled row stands for: so many rows, and their pairs with those that are present with them.

    Half of these are of the other side.
    """
    begun = np.searchsorted(np.sort(low), low, side="right")
    present = begun - np.searchsorted(np.sort(high), low, side="left")
    weights: NDArray[np.float64] = PAIRS_PER_ROW + present * rows / 2
    return weights


def quantiles(points: NDArray[np.int64], slices: int, weights: NDArray[np.float64] | None = None) -> NDArray[np.int64]:
    """Boundaries that cut the points into so many slices of about equal weight; equal points stay together."""
    if not points.size or slices < 2:
        return np.zeros(0, np.int64)
    order = np.argsort(points, kind="stable")
    ordered = points[order]
    if weights is None:
        at = np.arange(1, slices) * points.size // slices
    else:
        before = np.cumsum(weights[order]) - weights[order]
        at = np.searchsorted(before, weights.sum() * np.arange(1, slices) / slices).clip(max=points.size - 1)
    picked = np.unique(ordered[at])
    found: NDArray[np.int64] = picked[picked > ordered[0]]
    return found


def copies(bounds: NDArray[np.int64], low: NDArray[np.int64], high: NDArray[np.int64]) -> float:
    """How many slices a row goes to on average."""
    if not low.size:
        return 1.0
    touched = np.searchsorted(bounds, high, side="right") - np.searchsorted(bounds, low, side="right") + 1
    return float(touched.mean())


def estimated_rows(rank: NDArray[np.int64], share: float = 1.0) -> float:
    """Estimate how many rows were hashed, from the smallest hashes of a share; exact when it holds them all."""
    if rank.size < SAMPLE:
        return float(rank.size) / share
    return float((rank.size - 1) * _HASHES / (float(rank.max()) + _HASHES / 2 + 1))
