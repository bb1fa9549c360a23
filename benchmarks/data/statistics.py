"""Interval data that meet a paper's table of statistics: how many, how long, over which time, on how many instants."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from timeloom.kernels.order import distinct

Periods = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Statistics:
    """A line of a paper's table.

    Sets with fewer distinct points than rows have all endpoints in a pool of so many points; the others are chains, in
    which a row may start where another ends.
    """

    name: str
    rows: int
    domain: int
    shortest: int
    longest: int
    mean: float
    points: int
    law: Literal["exponential", "pareto"] = "exponential"
    clustering: float = 1.0
    """The shape of the gamma law of how many rows start at a point: the smaller, the more they cluster."""

    @property
    def pooled(self) -> bool:
        return self.points < self.rows

    def scaled(self, rows: int) -> "Statistics":
        """Fewer rows of the same shape.

        Pooled sets keep their time axis and their lengths, and have fewer points, so that as many rows start at each.
        Of chains the time axis is cut, since lengths are short and points dense: as many rows overlap as before.
        """
        share = rows / self.rows
        if share >= 1:
            return self
        points = max(16, round(self.points * share))
        if self.pooled:
            return replace(self, rows=rows, points=points)
        longest = max(2 * self.shortest, round(self.longest * share))
        return replace(self, rows=rows, points=points, domain=round(self.domain * share), longest=longest)

    def draw(self, seed: int = 7) -> Periods:
        """Starts and ends in no order. The law is corrected until the drawn mean is that of the table."""
        random = np.random.default_rng(seed)
        place = random.bit_generator.state
        target, found = self.mean, (np.empty(0, np.int64),) * 2
        for _ in range(6):
            random.bit_generator.state = place
            found = self._pool(random, target) if self.pooled else self._chains(random, target)
            drawn = float((found[1] - found[0]).mean())
            if abs(drawn / self.mean - 1) < 0.005:
                break
            target = min(max(target * self.mean / drawn, 1.001 * self.shortest), 0.45 * self.longest)
        return found

    def _lengths(self, random: np.random.Generator, mean: float) -> np.ndarray:
        """Lengths at evenly spaced quantiles of the law, shuffled: their mean is that of the law."""
        at = (np.arange(self.rows) + random.random(self.rows)) / self.rows
        quantiles = _exponential if self.law == "exponential" else _pareto
        lengths = quantiles(at, self.shortest, self.longest, mean).astype(np.int64)
        return random.permutation(np.clip(lengths, self.shortest, self.longest))

    def _pool(self, random: np.random.Generator, mean: float) -> Periods:
        """Starts at points of the pool, ends at the first point that is far enough."""
        pool = self._points(random)
        lengths = self._lengths(random, mean)
        weights = np.cumsum(random.gamma(self.clustering, size=pool.size))
        cut = np.searchsorted(pool, self.domain - lengths, side="right")
        reach = weights[np.maximum(cut, 1) - 1]
        at = np.searchsorted(weights, random.random(self.rows) * reach)
        until = np.minimum(np.searchsorted(pool, pool[at] + lengths), pool.size - 1)
        until -= pool[until] - pool[at] > self.longest
        bad = (until <= at) | (pool[until] - pool[at] < self.shortest)
        at[bad], until[bad] = 0, np.searchsorted(pool, self.longest)
        at[:2], until[:2] = np.searchsorted(pool, [0, 0]), np.searchsorted(pool, [self.longest, self.shortest])
        return pool[at], pool[until]

    def _points(self, random: np.random.Generator) -> np.ndarray:
        """Distinct instants, among them some that are apart as the shortest and the longest row are."""
        needed = distinct(np.array([0, self.shortest, self.longest, self.domain]))
        free = distinct(random.integers(1, self.domain, self.points + self.points // 2))
        free = random.permutation(np.setdiff1d(free, needed, assume_unique=True))
        return np.sort(np.concatenate([needed, free[: self.points - needed.size]]))

    def _chains(self, random: np.random.Generator, mean: float) -> Periods:
        """Rows start at even distances; some where the row before ends, so that the distinct points are as wanted."""
        lengths = self._lengths(random, mean)
        lengths[0] = self.longest
        starts = np.minimum(np.arange(self.rows) * self.domain // self.rows, self.domain - lengths)
        links = 2 * self.rows - self.points
        for _ in range(4):
            follows = np.zeros(self.rows, bool)
            follows[1 : 1 + 2 * max(0, links) : 2] = True
            begun = starts.copy()
            begun[follows] = (starts + lengths)[np.flatnonzero(follows) - 1]
            begun = np.minimum(begun, self.domain - lengths)
            links += distinct(np.concatenate([begun, begun + lengths])).size - self.points
        order = random.permutation(self.rows)
        return begun[order], (begun + lengths)[order]


def _exponential(at: np.ndarray, low: float, high: float, mean: float) -> np.ndarray:
    """Quantiles of the exponential law cut off at both ends, whose mean is solved for."""
    width, wanted = high - low, mean - low
    if wanted >= 0.499 * width:
        return low + at * width
    small, large = 1e-9 * width, 100 * width
    for _ in range(200):
        scale = (small * large) ** 0.5
        cut = width / scale
        average = scale - width / np.expm1(min(cut, 700))
        small, large = (scale, large) if average < wanted else (small, scale)
    return low - scale * np.log1p(at * np.expm1(-min(width / scale, 700)))


def _pareto(at: np.ndarray, low: float, high: float, mean: float) -> np.ndarray:
    """Quantiles of the Pareto law cut off at both ends, whose exponent is solved for."""
    light, heavy = 0.01, 20.0
    for _ in range(200):
        exponent = (light + heavy) / 2
        values = _bounded(at, low, high, exponent)
        light, heavy = (light, exponent) if values.mean() < mean else (exponent, heavy)
        if heavy - light < 1e-9:
            break
    return values


def _bounded(at: np.ndarray, low: float, high: float, exponent: float) -> np.ndarray:
    return low * (1 - at * (1 - (low / high) ** exponent)) ** (-1 / exponent)


COUNTING = {
    one.name: one
    for one in (
        Statistics("FLIGHTS", 445_827, 2_750_280, 1_261, 42_301, 8_791, 41_975),
        Statistics("BOOKS", 2_312_602, 31_507_200, 1, 31_406_400, 2_201_320, 5_330),
        Statistics("GREEND", 110_115_441, 283_356_410, 1, 59_468_008, 16, 182_028_123, "pareto"),
        Statistics("WEBKIT", 2_347_346, 461_829_284, 1, 461_815_512, 33_206_300, 174_471),
    )
}
"""Table 1 of the count semi-join paper, in seconds."""

SWEEPING = {
    one.name: one
    for one in (
        Statistics("flight", 58_000, 812_000, 61, 86_000, 8_000, 10_000),
        Statistics("inc", 84_000, 9_000, 2, 574, 184, 2_700, clustering=0.6),
        Statistics("web", 1_200_000, 352_000_000, 1, 352_000_000, 60_000_000, 110_000),
        Statistics("feed", 3_700_000, 8_600, 1, 8_500, 432, 5_600),
        Statistics("basf", 5_300_000, 16_000_000, 1, 16_000_000, 127_000, 760_000),
    )
}
"""Table 3 of the sweeping paper. That of inc is clustered so that 60 % of its runs have ten starts (its figure 12)."""


def drawn(periods: Periods) -> dict[str, float]:
    """The same statistics of data."""
    starts, ends = periods
    lengths = ends - starts
    return {
        "rows": starts.size,
        "domain": int(ends.max() - starts.min()),
        "shortest": int(lengths.min()),
        "longest": int(lengths.max()),
        "mean": float(lengths.mean()),
        "points": distinct(np.concatenate([starts, ends])).size,
    }


def shares(wanted: Statistics) -> dict[str, float]:
    """The statistics of data that are drawn, as shares of those that were wanted."""
    return {key: value / getattr(wanted, key) for key, value in drawn(wanted.draw()).items()}
