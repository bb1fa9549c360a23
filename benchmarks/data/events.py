"""The events of the stab-forest paper: flights, civil unrest, and gap data; all sorted by (start, end)."""

import numpy as np

DAY = 24 * 60
MINUTES = 10 * 365 * DAY
FLIGHTS, LONGEST_FLIGHT = 61_100_539, 1350
UNREST, LONGEST_UNREST, UNREST_DAYS = 62_141, 18_407, 21_800

Events = tuple[np.ndarray, np.ndarray]


def in_order(starts: np.ndarray, ends: np.ndarray) -> Events:
    rows = np.lexsort((ends, starts))
    return starts[rows], ends[rows]


def flights(count: int, seed: int = 1) -> Events:
    """Ten years of minutes; starts follow a daily cycle, durations are log-normal around two hours, 1,350 at most."""
    random = np.random.default_rng(seed)
    hour = random.normal(13, 4, count) % 24
    starts = random.integers(0, MINUTES // DAY, count) * DAY + (hour * 60).astype(np.int64)
    return in_order(starts, starts + _flight_lengths(random, count))


def dense_flights(count: int, seed: int = 11) -> Events:
    """As many flights for each minute as in the paper, 11.6: the first of ten years, as far as they reach."""
    random = np.random.default_rng(seed)
    starts = random.integers(0, max(1, count * MINUTES // FLIGHTS), count)
    return in_order(starts, starts + _flight_lengths(random, count))


def _flight_lengths(random: np.random.Generator, count: int) -> np.ndarray:
    """Closed periods of 0 to 1,350 minutes, as half-open ones."""
    lengths = np.clip(random.lognormal(np.log(120), 0.6, count), 0, LONGEST_FLIGHT).astype(np.int64)
    lengths[:2] = 0, LONGEST_FLIGHT
    return lengths + 1


def unrest(count: int = UNREST, seed: int = 2) -> Events:
    """Sixty years of days; most events last a day, a few up to fifty years."""
    random = np.random.default_rng(seed)
    starts = random.integers(0, UNREST_DAYS, count)
    lengths = np.minimum(random.pareto(0.9, count) * 0.7, LONGEST_UNREST).astype(np.int64)
    starts[0], lengths[0] = 0, LONGEST_UNREST
    return in_order(starts, starts + lengths + 1)


def gap_data(count: int, gap: int) -> tuple[Events, Events]:
    """Disjoint events in groups of a size, by turns on either side."""
    number = np.arange(count)
    starts, left = 2 * number, number // gap % 2 == 0
    return (starts[left], starts[left] + 2), (starts[~left], starts[~left] + 2)
