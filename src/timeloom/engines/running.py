"""Running sums over a timeline, cut into ranges of periods: each thread sums its own range, beginning with zero."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from timeloom.engines.threads import chunks, in_parallel
from timeloom.kernels.aggregate import Timeline, running_sums
from timeloom.kernels.aggregate_double import LOW, WORD, fits_words, long_sums, round_words, running_words
from timeloom.kernels.order import Ticks


def integer_sums(line: Timeline, values: Ticks, threads: int) -> Ticks:
    """Sum int64 values over the active rows; the caller knows that no sum overflows."""
    totals = np.empty(line.starts.size, np.int64)
    parts = chunks(totals.size, threads)
    sweep = partial(running_sums, values, line.by_start, line.by_end, line.entered, line.left)
    before = 0
    for (begin, stop), total in zip(
        parts, in_parallel([partial(sweep, *part, totals) for part in parts], threads), strict=True
    ):
        totals[begin:stop] += before
        before += total
    return totals


def double_sums(line: Timeline, values: NDArray[np.float64], threads: int) -> NDArray[np.float64]:
    """Sum doubles over the active rows, each sum exact and rounded once. Rows without a value hold zero."""
    fits, unit, _ = fits_words(values)
    if not fits:
        return long_sums(line, values)
    size = line.starts.size
    highs, lows, totals = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.float64)
    parts = chunks(size, threads)
    sweep = partial(running_words, values, unit, line.by_start, line.by_end, line.entered, line.left)
    ends = in_parallel([partial(sweep, *part, highs, lows) for part in parts], threads)
    tasks, high, low = [], 0, 0
    for part, end in zip(parts, ends, strict=True):
        tasks.append(partial(round_words, highs, lows, high, low, unit, *part, totals))
        low += end[1]
        high, low = high + end[0] + (low >> WORD), low & LOW
    in_parallel(tasks, threads)
    return totals
