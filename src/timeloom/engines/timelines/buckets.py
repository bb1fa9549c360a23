"""Measures of buckets of time: how many rows touch one, what they cover of it, and means weighted by time."""

from collections.abc import Iterable
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeloom.engines.joins.key_axis import Fold
from timeloom.engines.resources.threads import chunks, gathered, in_parallel
from timeloom.engines.tables.ticks import Ticks, whole
from timeloom.engines.timelines.measure_values import decimal_words, decimals, mean_type
from timeloom.engines.timelines.pieces import Cut
from timeloom.errors import InvalidInputError
from timeloom.kernels.aggregates.means import EXACT
from timeloom.kernels.aggregates.weighted import weighted_means
from timeloom.kernels.aggregates.weighted_decimals import weighted_decimals
from timeloom.kernels.order import Order, sort
from timeloom.kernels.sequenced.coalesce import merge_near
from timeloom.model.measures import Measure

Rows = NDArray[np.int64]


class Buckets:
    """The pieces of rows by group and cell of the grid, in that order; bucket b is ``offsets[b]:offsets[b + 1]``."""

    def __init__(self, cut: Cut, groups: Rows, threads: int = 1) -> None:
        self._threads = threads
        owners = gathered(groups, cut.rows, threads)
        order = _order_within(owners, cut.cells, threads)
        self.rows, self._starts, self._ends = (
            gathered(column, order.ids, threads) for column in (cut.rows, cut.starts, cut.ends)
        )
        changes = np.flatnonzero(order.values[1:] != order.values[:-1]) + 1
        size = order.ids.size
        self.offsets = np.concatenate([[0], changes, [size]]).astype(np.int64) if size else np.zeros(1, np.int64)
        leaders = order.ids[self.offsets[:-1]]
        self.cells, self.groups = cut.cells[leaders], owners[leaders]

    def __len__(self) -> int:
        return self.offsets.size - 1

    @property
    def numbers(self) -> Rows:
        """The bucket of each piece."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    def counts(self, column: pa.ChunkedArray | None = None) -> pa.Array:
        """How many rows touch each bucket; of a column, how many that have a value."""
        if column is None:
            return pa.array(np.diff(self.offsets), pa.int64())
        known = np.asarray(column.is_valid())[self.rows]
        return pa.array(np.bincount(self.numbers[known], minlength=len(self)), pa.int64())

    def covered(self) -> Ticks:
        """The ticks of each bucket that any row covers."""
        numbers = self.numbers
        order = _order_within(numbers, self._starts, self._threads)
        rows, starts, ends = merge_near(self._starts, self._ends, numbers, order.ids, 0)
        found = np.zeros(len(self), np.int64)
        np.add.at(found, numbers[rows], ends - starts)
        return found

    def time_avg(self, column: pa.ChunkedArray, measure: Measure) -> pa.Array:
        """The mean of a column, each value weighted by the time of its row within the bucket; exact, rounded once."""
        kind, array = column.type, whole(column)
        known = np.asarray(array.is_valid())[self.rows] if array.null_count else np.ones(self.rows.size, np.bool_)
        if pa.types.is_decimal(kind):
            return self._decimal_mean(array, known, measure)
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            raise InvalidInputError(
                f"time_avg of column {measure.column!r}, which is {kind}; cast it to a double, an integer or a decimal"
            )
        plain = np.asarray(array.fill_null(0) if array.null_count else array)
        values, weights = gathered(_as_doubles(plain), self.rows, self._threads), self._ends - self._starts
        means, totals = np.empty(len(self)), np.empty(len(self), np.int64)
        pieces = values, weights, known, self.offsets, means, totals
        parts = chunks(len(self), self._threads)
        certain = in_parallel([partial(weighted_means, *pieces, *part) for part in parts], self._threads)
        for number in np.flatnonzero(~np.concatenate(certain)):
            chosen = np.arange(self.offsets[number], self.offsets[number + 1])
            chosen = chosen[known[chosen]]
            means[number] = _mean(plain[self.rows[chosen]], weights[chosen].astype(object))
        return pa.array(means, pa.float64(), mask=totals == 0)

    def _decimal_mean(self, column: pa.Array, known: "NDArray[np.bool_]", measure: Measure) -> pa.Array:
        """The weighted mean of decimals, in the type of their average."""
        kind, factor = mean_type(column.type)
        lower, upper = decimal_words(column, measure)
        weights = self._ends - self._starts
        means, totals = np.empty((len(self), 2), np.int64), np.empty(len(self), np.int64)
        pieces = lower, upper, self.rows, weights, known, self.offsets, factor, means, totals
        parts = chunks(len(self), self._threads)
        certain = in_parallel([partial(weighted_decimals, *pieces, *part) for part in parts], self._threads)
        for number in np.flatnonzero(~np.concatenate(certain)):
            chosen = np.arange(self.offsets[number], self.offsets[number + 1])
            chosen = chosen[known[chosen]]
            halves = lower[self.rows[chosen]].tolist(), upper[self.rows[chosen]].tolist()
            values = ((high << 64) + low % 2**64 for low, high in zip(*halves, strict=True))
            means[number] = _decimal_mean(values, weights[chosen].tolist(), factor)
            totals[number] = 1
        low, high = (np.ascontiguousarray(half) for half in means.T)
        return decimals(low, high, kind, totals == 0, measure, "buckets")


def _order_within(groups: Rows, ticks: Ticks, threads: int) -> Order:
    """The order of rows by group, then by tick; level rows stay as they are."""
    count = int(groups.max(initial=0)) + 1
    return sort(Fold.over([ticks], count).points(ticks, groups), threads)


def _as_doubles(values: "NDArray[np.generic]") -> "NDArray[np.float64]":
    """Numbers as doubles; not-a-number for whole ones that are none."""
    doubles = values.astype(np.float64)
    if values.dtype.kind != "f" and values.dtype.itemsize == 8:
        doubles[np.abs(doubles) >= EXACT] = np.nan
    return doubles


def _mean(values: "NDArray[np.generic]", weights: "NDArray[np.object_]") -> float:
    """A weighted mean: whole numbers without rounding, then one division."""
    total = sum(weights.tolist())
    if values.dtype.kind != "f":
        return float(sum(int(value) * weight for value, weight in zip(values.tolist(), weights, strict=True)) / total)
    if not np.isfinite(values).all():
        with np.errstate(invalid="ignore"):  # infinities of both signs have no mean: not a number
            return float(values[~np.isfinite(values)].sum())
    fractions, exponents = np.frexp(values.astype(np.float64))
    least = int(exponents.min()) - 53
    whole_parts = (
        int(fraction * 2**53) << (int(exponent) - 53 - least)
        for fraction, exponent in zip(fractions.tolist(), exponents.tolist(), strict=True)
    )
    exact = sum(part * weight for part, weight in zip(whole_parts, weights, strict=True))
    return float((exact << least) / total if least >= 0 else exact / (total << -least))


def _decimal_mean(values: Iterable[int], weights: "list[int]", factor: int) -> Ticks:
    """Both halves of ``factor`` times a weighted mean, halves away from zero."""
    exact, total = factor * sum(value * weight for value, weight in zip(values, weights, strict=True)), sum(weights)
    found = (2 * abs(exact) + total) // (2 * total) * (1 if exact >= 0 else -1)
    return np.array([found % 2**64, (found >> 64) % 2**64], np.uint64).view(np.int64)
