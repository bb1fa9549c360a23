"""Measures of buckets of time: how many rows touch one, what they cover of it, and means weighted by time."""

from math import nan

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeloom.engines.tables.ticks import Ticks, whole
from timeloom.engines.timelines.pieces import Cut
from timeloom.errors import InvalidInputError
from timeloom.kernels.sequenced.coalesce import merge_near

Rows = NDArray[np.int64]


class Buckets:
    """The pieces of rows by group and cell of the grid, in that order; bucket b is ``offsets[b]:offsets[b + 1]``."""

    def __init__(self, cut: Cut, groups: Rows) -> None:
        owners = groups[cut.rows]
        self._order = np.lexsort((cut.rows, cut.cells, owners))
        self.rows = cut.rows[self._order]
        self._starts, self._ends = cut.starts[self._order], cut.ends[self._order]
        cells, owners = cut.cells[self._order], owners[self._order]
        changes = np.flatnonzero((np.diff(cells) != 0) | (np.diff(owners) != 0)) + 1
        self.offsets = (
            np.concatenate([[0], changes, [cells.size]]).astype(np.int64) if cells.size else np.zeros(1, np.int64)
        )
        self.cells, self.groups = cells[self.offsets[:-1]], owners[self.offsets[:-1]]

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
        order = np.lexsort((self._starts, self.numbers)).astype(np.int32)
        merged = merge_near(self._starts, self._ends, self.numbers, order, 0)
        found = np.zeros(len(self), np.int64)
        np.add.at(found, self.numbers[merged[0]], merged[2] - merged[1])
        return found

    def time_avg(self, column: pa.ChunkedArray, name: str) -> pa.Array:
        """The mean of a column, each value weighted by the time of its row within the bucket; exact, rounded once."""
        kind = column.type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            raise InvalidInputError(f"time_avg of column {name!r}, which is {kind}; cast it to a double or an integer")
        array = whole(column)
        known = np.asarray(array.is_valid())[self.rows]
        values = np.asarray(array.fill_null(0) if array.null_count else array)[self.rows]
        weights = (self._ends - self._starts).astype(object)
        means = [
            _mean(values[first:last][known[first:last]], weights[first:last][known[first:last]])
            for first, last in zip(self.offsets[:-1], self.offsets[1:], strict=True)
        ]
        return pa.array(means, pa.float64())


def _mean(values: "NDArray[np.generic]", weights: "NDArray[np.object_]") -> float | None:
    """A weighted mean: whole numbers without rounding, then one division."""
    if not values.size:
        return None
    total = sum(weights.tolist())
    if values.dtype.kind != "f":
        return float(sum(int(value) * weight for value, weight in zip(values.tolist(), weights, strict=True)) / total)
    if not np.isfinite(values).all():
        return float(values[~np.isfinite(values)].sum()) if values.size else nan
    fractions, exponents = np.frexp(values.astype(np.float64))
    least = int(exponents.min()) - 53
    whole_parts = (
        int(fraction * 2**53) << (int(exponent) - 53 - least)
        for fraction, exponent in zip(fractions.tolist(), exponents.tolist(), strict=True)
    )
    exact = sum(part * weight for part, weight in zip(whole_parts, weights, strict=True))
    return float((exact << least) / total if least >= 0 else exact / (total << -least))
