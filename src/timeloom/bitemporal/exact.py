"""A running sum that forgets nothing: what was added and taken away again leaves no trace."""

from typing import Any

import numpy as np
import pyarrow as pa

from timeloom.engines.timelines.measure_values import double_values, integer_halves
from timeloom.engines.timelines.measures import integer_mean, integer_sum
from timeloom.errors import InvalidInputError
from timeloom.kernels.order import distinct
from timeloom.model.measures import Measure

MANTISSA = 53
LEAST = 1074 + MANTISSA
"""Doubles are whole multiples of 2**-LEAST once their mantissa is read as an integer of 53 bits."""

WORD = 2**64


class ExactSum:
    """Whole numbers, decimals or doubles as one long integer; infinities and NaN are counted beside it.

    Results have the types, and the limits, that `timeloom.engines.timelines.measures` gives them.
    """

    def __init__(self, kind: pa.DataType, measure: Measure) -> None:
        self.kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        self.measure = measure
        self.total = 0
        self.special = {"nan": 0, "inf": 0, "-inf": 0}

    def add(self, values: pa.Array, sign: int) -> None:
        """Add or, with sign -1, take away values."""
        if values.type != self.kind:
            values = values.cast(self.kind)
        if pa.types.is_floating(self.kind):
            self._add_doubles(double_values(values), sign)
            return
        low, high = integer_halves(values, self.measure)
        self.total += sign * (_whole(low) + (0 if high is None else _whole(high) * WORD))

    def value(self, count: int) -> Any:
        """The sum, rounded once for doubles, exact for everything else."""
        if pa.types.is_floating(self.kind):
            return self._double()
        return integer_sum(self.kind, *self._words(), np.array([count == 0]), self.measure)[0].as_py()

    def mean(self, count: int) -> Any:
        """The sum divided by a count, rounded once."""
        if pa.types.is_floating(self.kind):
            return self._double(count)
        return integer_mean(self.kind, *self._words(), np.array([count]), self.measure)[0].as_py()

    def _words(self) -> tuple[np.ndarray[Any, np.dtype[np.int64]], np.ndarray[Any, np.dtype[np.int64]]]:
        if not -(2**127) <= self.total < 2**127:
            raise InvalidInputError(
                f"aggregate {self.measure.name!r}: the sum of {self.measure.column!r} has more than 38 digits, which "
                f"leaves no {self.measure.function}; cast {self.measure.column!r} to double first"
            )
        lower = np.array([self.total % WORD], np.uint64).view(np.int64)
        return lower, np.array([self.total // WORD], np.int64)

    def _double(self, count: int = 1) -> float:
        if self.special["nan"] or (self.special["inf"] and self.special["-inf"]):
            return float("nan")
        if self.special["inf"] or self.special["-inf"]:
            return float("inf") if self.special["inf"] else float("-inf")
        try:
            return self.total / (count << LEAST)
        except OverflowError:
            return float("inf") if self.total > 0 else float("-inf")

    def _add_doubles(self, values: np.ndarray[Any, np.dtype[np.float64]], sign: int) -> None:
        self.special["nan"] += sign * int(np.isnan(values).sum())
        self.special["inf"] += sign * int(np.isposinf(values).sum())
        self.special["-inf"] += sign * int(np.isneginf(values).sum())
        fractions, exponents = np.frexp(values[np.isfinite(values)])
        mantissas = np.ldexp(fractions, MANTISSA).astype(np.int64)
        for exponent in distinct(exponents).tolist():
            whole = _whole(mantissas[exponents == exponent])
            self.total += sign * (whole << (LEAST + exponent - MANTISSA))


def _whole(values: np.ndarray[Any, np.dtype[np.int64]]) -> int:
    """Sum int64 values without wrapping."""
    return (int((values >> 32).sum()) << 32) + int((values & 0xFFFFFFFF).sum())
