"""Running sums over a timeline, cut into ranges of periods: each thread sums its own range, beginning with zero."""

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np

from timeloom.engines.resources.threads import chunks, in_parallel
from timeloom.kernels.aggregates.doubles import LOW, WORD, fits_words, long_sums, round_words, running_words
from timeloom.kernels.aggregates.exact import Doubles
from timeloom.kernels.aggregates.means import word_means
from timeloom.kernels.aggregates.timeline import Timeline, running_sums
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


class DoubleSums:
    """Exact sums of doubles over the active rows of a timeline, to be rounded once: as sums or as averages.

    Rows without a value hold zero. Sums that fit into two words are made once for both.
    """

    def __init__(self, line: Timeline, values: Doubles, threads: int) -> None:
        self._line, self._values, self._threads = line, values, threads
        self._fits, self._unit, _ = fits_words(values)

    def totals(self) -> Doubles:
        """The sum of each period."""
        if not self._fits:
            return long_sums(self._line, self._values)
        return self._rounded(round_words)

    def means(self, counts: Ticks) -> Doubles:
        """The sum of each period divided by a count; zero where the count is."""
        if not self._fits:
            return long_sums(self._line, self._values, counts)
        return self._rounded(partial(_means_of, counts))

    def _rounded(self, write: Callable[..., None]) -> Doubles:
        highs, lows, parts = self._words
        found = np.empty(highs.size, np.float64)
        tasks = [partial(write, highs, lows, *before, self._unit, *part, found) for part, before in parts]
        in_parallel(tasks, self._threads)
        return found

    @cached_property
    def _words(self) -> "tuple[Ticks, Ticks, list[tuple[tuple[int, int], tuple[int, int]]]]":
        """Sums in two words: of each range of periods from zero on, and what came before the range."""
        line, size = self._line, self._line.starts.size
        highs, lows = np.empty(size, np.int64), np.empty(size, np.int64)
        ranges = chunks(size, self._threads)
        sweep = partial(running_words, self._values, self._unit, line.by_start, line.by_end, line.entered, line.left)
        ends = in_parallel([partial(sweep, *part, highs, lows) for part in ranges], self._threads)
        parts, high, low = [], 0, 0
        for part, end in zip(ranges, ends, strict=True):
            parts.append((part, (high, low)))
            low += end[1]
            high, low = high + end[0] + (low >> WORD), low & LOW
        return highs, lows, parts


def _means_of(counts: Ticks, highs: Ticks, lows: Ticks, high: int, low: int, unit: int, *rest: Any) -> None:
    word_means(highs, lows, high, low, unit, counts, *rest)
