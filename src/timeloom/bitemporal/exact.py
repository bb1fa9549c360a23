"""A running sum that forgets nothing: what was added and taken away again leaves no trace."""

from decimal import Context, Decimal, localcontext
from typing import Any

import numpy as np
import pyarrow as pa

from timeloom.errors import InvalidInputError

MANTISSA = 53
LEAST = 1074 + MANTISSA
"""Doubles are whole multiples of 2**-LEAST once their mantissa is read as an integer of 53 bits."""

WIDE = Context(prec=100)


class ExactSum:
    """Integers, decimals and doubles as one long integer; infinities and NaN are counted beside it."""

    def __init__(self) -> None:
        self.total = 0
        self.unit: int | str = 1
        self.scale = 0
        self.special = {"nan": 0, "inf": 0, "-inf": 0}

    def add(self, values: pa.Array, sign: int) -> None:
        """Add or, with sign -1, take away values."""
        if pa.types.is_integer(values.type):
            self.total += sign * _whole(np.asarray(values.cast(pa.int64())))
        elif pa.types.is_floating(values.type):
            self.unit = 1 << LEAST
            self._add_doubles(np.asarray(values.cast(pa.float64())), sign)
        elif pa.types.is_decimal(values.type):
            self.unit = "decimal"
            self.scale = scale = values.type.scale
            with localcontext(WIDE):
                self.total += sign * sum(int(value.scaleb(scale)) for value in values.to_pylist())
        else:
            raise InvalidInputError(f"sums need numbers, but the column is {values.type}; cast it first")

    def value(self) -> Any:
        """The sum, rounded once for doubles, exact for everything else."""
        return self._over(1)

    def mean(self, count: int) -> Any:
        """The sum divided by a count."""
        return self._over(count)

    def _over(self, count: int) -> Any:
        if self.unit == "decimal":
            with localcontext(WIDE):
                exact = Decimal(self.total).scaleb(-self.scale)
                return exact if count == 1 else exact / count
        if self.unit == 1:
            return self.total if count == 1 else self.total / count
        if self.special["nan"] or (self.special["inf"] and self.special["-inf"]):
            return float("nan")
        if self.special["inf"] or self.special["-inf"]:
            return float("inf") if self.special["inf"] else float("-inf")
        assert isinstance(self.unit, int)
        try:
            return self.total / (self.unit * count)
        except OverflowError:
            return float("inf") if self.total > 0 else float("-inf")

    def _add_doubles(self, values: np.ndarray[Any, np.dtype[np.float64]], sign: int) -> None:
        self.special["nan"] += sign * int(np.isnan(values).sum())
        self.special["inf"] += sign * int(np.isposinf(values).sum())
        self.special["-inf"] += sign * int(np.isneginf(values).sum())
        fractions, exponents = np.frexp(values[np.isfinite(values)])
        mantissas = np.ldexp(fractions, MANTISSA).astype(np.int64)
        for exponent in np.unique(exponents).tolist():
            whole = _whole(mantissas[exponents == exponent])
            self.total += sign * (whole << (LEAST + exponent - MANTISSA))


def _whole(values: np.ndarray[Any, np.dtype[np.int64]]) -> int:
    """Sum int64 values without wrapping."""
    return (int((values >> 32).sum()) << 32) + int((values & 0xFFFFFFFF).sum())
