"""Where time slices begin: quantiles of a sample of rows, each of which stands for so many."""

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.order import distinct

SAMPLE = 10_000
"""Rows in the sample of a join in few slices; one Arrow batch by Spark's default."""

SAMPLED_PER_SLICE = 500
"""So many rows are sampled for each slice if there are few: the largest of 100 has about a sixth more than the mean."""

MOST_SAMPLED_PER_SLICE = 2_000
"""So many if there are many: the more slices, the further off is the one about which the sample errs most."""

LIMITED = 2_000_000
"""Of so many rows Spark itself finds those with the least ranks; it holds them as objects of 150 bytes."""

COPIES = 4.0
"""With more copies of a row than this, on average, fewer slices are made."""

SAMPLED_BYTES = 1 << 19
"""Of inputs with more bytes than this, only so many are ranked, but not less than the share below."""

LEAST_SHARE, USUAL_SHARE = 1 / 128, 1 / 32
"""Of large inputs, and of those whose size is unknown, so much is ranked."""

RANKED_BYTES = 1 << 30
"""No more bytes than this are ranked, however large inputs are: one task reads them."""

HEAVY = 2.0
"""A tick that weighs so many times what a slice should is worth the copies that it takes to share it."""

FAVOURED = (6, 12, 18, 24, 30, 36)
"""A row of ``2**6`` ticks or more is twice as likely to be in the sample, one of ``2**12`` four times, and so on.

Long rows are few, but have many pairs: a sample with too few of them tells little about the work.
"""

RANKS = 2**63
"""The ranks of rows lie below this: the rows with the least ranks are the sample."""


def sampled_share(sizes: Collection[int | None]) -> float:
    """Which share of the rows to rank, for inputs of these sizes."""
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes):
        return USUAL_SHARE
    total = max(1, sum(known))
    return float(np.clip(SAMPLED_BYTES / total, min(LEAST_SHARE, RANKED_BYTES / total), 1.0))


def sample_size(slices: int) -> int:
    """How many rows the sample has at most, for so many slices."""
    each = min(SAMPLED_PER_SLICE + 2 * slices, MOST_SAMPLED_PER_SLICE)
    return max(SAMPLE, each * slices)


def favour(starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """How often the odds of rows to be in the sample double."""
    return np.searchsorted(np.left_shift(1, np.array(FAVOURED) - 1), (ends >> 1) - (starts >> 1), side="right")


def stand_for(
    starts: NDArray[np.int64], ends: NDArray[np.int64], rank: NDArray[np.int64], share: float, size: int = SAMPLE
) -> NDArray[np.float64]:
    """How many rows each sampled one stands for; the sample has a share of the rows, or is full with so many."""
    below = share if rank.size < size else (float(rank.max()) + 1) / RANKS
    counts: NDArray[np.float64] = np.maximum(1.0, 1 / (below * 2.0 ** favour(starts, ends)))
    return counts


def divided(points: NDArray[np.int64], weights: NDArray[np.float64], parts: NDArray[np.float64]) -> NDArray[np.int64]:
    """Boundaries of sorted points before which such parts of all weight lie; several may lie at the same tick."""
    until = np.cumsum(weights)
    before = until - weights
    at = np.searchsorted(before, until[-1] * parts).clip(max=points.size - 1)
    return points[_between_ticks(points, before, at)]


def heaviest(points: NDArray[np.int64], weights: NDArray[np.float64]) -> float:
    """Which part of all weight the heaviest tick has; points are sorted."""
    first = np.flatnonzero(np.r_[True, points[1:] != points[:-1]])
    return float(np.add.reduceat(weights, first).max() / weights.sum())


def quantiles(points: NDArray[np.int64], slices: int, weights: NDArray[np.float64] | None = None) -> NDArray[np.int64]:
    """Boundaries that cut the points into so many slices of about equal weight; equal points stay together."""
    if not points.size or slices < 2:
        return np.zeros(0, np.int64)
    ordered, weighed = _in_order(points, weights)
    if weighed is None:
        at = np.arange(1, slices) * points.size // slices
    else:
        spread = bounded(ordered, weighed, slices)
        until = np.cumsum(spread)
        before = until - spread
        at = np.searchsorted(before, until[-1] * np.arange(1, slices) / slices).clip(max=points.size - 1)
        at = _between_ticks(ordered, before, at)
    picked = distinct(ordered[at])
    found: NDArray[np.int64] = picked[picked > ordered[0]]
    return found


def _in_order(
    points: NDArray[np.int64], weights: NDArray[np.float64] | None
) -> tuple[NDArray[np.int64], NDArray[np.float64] | None]:
    """Points in ascending order, and their weights; those of a sample are already."""
    if (points[1:] >= points[:-1]).all():
        return points, weights
    order = np.argsort(points, kind="stable")
    return points[order], None if weights is None else weights[order]


def _between_ticks(points: NDArray[np.int64], before: NDArray[np.float64], at: NDArray[np.int64]) -> NDArray[np.int64]:
    """Positions within a tick of several rows moved to its nearer end: where it begins, or where the next does."""
    first, after = (np.searchsorted(points, points[at], side=side) for side in ("left", "right"))
    last = after.clip(max=points.size - 1)
    nearer: NDArray[np.int64] = np.where(2 * before[at] > before[first] + before[last], last, first)
    return nearer


def bounded(points: NDArray[np.int64], weights: NDArray[np.float64], slices: int) -> NDArray[np.float64]:
    """Weights of sorted points of which no tick has more than a slice's share.

    A tick cannot be cut. If one weighs more than a slice should, it is a slice of its own, and the other slices have
    equal shares of the rest; otherwise nearly all boundaries would fall into that tick, and none elsewhere.
    """
    first = np.flatnonzero(np.r_[True, points[1:] != points[:-1]])
    ticks = np.add.reduceat(weights, first)
    heavy = np.zeros(ticks.size, np.bool_)
    share = 0.0
    while heavy.sum() < min(slices, ticks.size):
        share = ticks[~heavy].sum() / (slices - heavy.sum())
        more = ~heavy & (ticks > share)
        if not more.any():
            break
        heavy |= more
    scale = np.where(heavy & (ticks > share), share / ticks, 1.0)
    found: NDArray[np.float64] = weights * np.repeat(scale, np.diff(first, append=points.size))
    return found


def heavy_ticks(
    points: NDArray[np.int64], weights: NDArray[np.float64], slices: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The ticks that weigh as much as two slices should, or more, and as how many slices each weighs."""
    ordered, weighed = _in_order(points, weights)
    assert weighed is not None
    first = np.flatnonzero(np.diff(ordered, prepend=ordered[:1] - 1))
    shares = np.add.reduceat(weighed, first) * slices / weights.sum()
    heavy = shares >= HEAVY
    return ordered[first[heavy]], shares[heavy]


def copies(
    bounds: NDArray[np.int64],
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    counts: NDArray[np.float64] | None = None,
) -> float:
    """How many slices a row goes to on average, if rows count so much."""
    if not low.size:
        return 1.0
    touched = np.searchsorted(bounds, high, side="right") - np.searchsorted(bounds, low, side="right") + 1
    return float(np.average(touched, weights=counts))
