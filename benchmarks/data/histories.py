"""The data of the DIP paper: feed-like measurements, a government's time intervals, contacts, power, growing blocks."""

from dataclasses import replace

import numpy as np

from benchmarks.data.statistics import Periods, Statistics


def feed(rows: int, seed: int, *, timeless: int = 0, stretch: int = 1) -> Periods:
    """As many rows as instants; 90 % shorter than 10, 9.5 % up to 1,000, 0.5 % up to 10,000; some last for ever.

    A history that is stretched has so many times more instants.
    """
    random = np.random.default_rng(seed)
    starts, kind = random.integers(0, rows * stretch, rows), random.random(rows)
    most = np.select([kind < 0.9, kind < 0.995], [9, 1_000], 10_000)
    ends = starts + random.integers(1, most + 1)
    starts[:timeless], ends[:timeless] = 0, rows * stretch
    return starts, ends


def time_intervals(years: int = 60) -> Periods:
    """TI: every day, month and year, one and a half years from each half year, two years from each year."""
    first = np.datetime64("1950-01", "M")
    months = first + np.arange(years * 12 + 24)
    days = (months.astype("datetime64[D]") - months[0].astype("datetime64[D]")).astype(np.int64)
    halves = days[np.arange(0, years * 12 - 18, 6)]
    pieces = [(np.arange(days[years * 12]), np.arange(days[years * 12]) + 1)]
    pieces.append((halves, halves + 547 + np.arange(halves.size) % 2))
    for length, pace in ((1, 1), (12, 12), (24, 12)):
        at = np.arange(0, years * 12 - length + 1, pace)
        pieces.append((days[at], days[at + length]))
    return np.concatenate([piece[0] for piece in pieces]), np.concatenate([piece[1] for piece in pieces])


def contacts(rows: int, seed: int = 5, *, most: int = 51) -> Periods:
    """INFECTIOUS: periods of 20 seconds that are equal or disjoint, at most 51 at once, over two months or a part."""
    random = np.random.default_rng(seed)
    at_once = np.minimum(random.geometric(0.25, rows), most)
    at_once[0] = min(most, rows)
    slots = int(np.searchsorted(np.cumsum(at_once), rows)) + 1
    busy = np.sort(random.choice(2 * slots, slots, replace=False))
    starts = np.repeat(busy * 20, at_once[:slots])[:rows]
    return starts, starts + 20


POWER = Statistics("GREEND", 110_115_441, 151_000_000, 1, 600, 1.7, 182_028_123, "pareto")
"""January 2010 to October 2014 in seconds; a measurement lasts 1.7 seconds on average."""


def power(rows: int, *, lasting: int = 8, seed: int = 6) -> Periods:
    """GREEND: chains of short measurements, and eight rows that last for the whole time."""
    wanted = replace(POWER.scaled(rows - lasting), longest=POWER.longest)
    starts, ends = wanted.draw(seed)
    return np.append(starts, np.zeros(lasting, np.int64)), np.append(ends, np.full(lasting, wanted.domain))


def growing_blocks(blocks: int, granules: int, seed: int) -> Periods:
    """Block k of so many granules holds k times as many rows; lengths as those of the feed data."""
    random = np.random.default_rng(seed)
    starts = np.concatenate(
        [random.integers(k * granules, (k + 1) * granules, (k + 1) * granules) for k in range(blocks)]
    )
    kind = random.random(starts.size)
    most = np.select([kind < 0.9, kind < 0.995], [9, 1_000], 10_000)
    return starts, starts + random.integers(1, np.minimum(most, granules) + 1)


def nested(rows: int) -> Periods:
    """All rows overlap: each lies within the one before, so that each needs a partition of its own."""
    starts = np.arange(rows)
    return starts, 2 * rows - starts
