"""Expressions over a sliding window: kept up to date by what enters and leaves, or computed over the valid rows."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeloom.bitemporal.exact import ExactSum
from timeloom.errors import InvalidInputError, UsageError, did_you_mean
from timeloom.kernels.bisw import Ticks

Column = Callable[[str, Ticks], pa.Array]
"""Reads the values of a column in some rows."""

BY_DELTA = ("count", "sum", "avg")
OVER_SET = ("min", "max")
Select = Mapping[str, Any]


class Expression:
    """One entry of ``select``: a name for the result, a column, and what to compute."""

    def __init__(self, column: str | None, function: "str | Callable[[Any], Any]", top: int = 0) -> None:
        self.column = column
        self.function = function
        self.top = top
        self.count = 0
        self.sum = ExactSum()

    @property
    def by_delta(self) -> bool:
        """True if what enters and leaves is all that it needs."""
        return self.function in BY_DELTA

    def slide(self, entered: Ticks, left: Ticks, column: Column) -> None:
        """Take notice of a delta."""
        for sign, rows in ((1, entered), (-1, left)):
            if self.column is None:
                self.count += sign * rows.size
                continue
            values = column(self.column, rows).drop_null()
            self.count += sign * len(values)
            if self.function != "count":
                self.sum.add(values, sign)

    def value(self, valid: Callable[[], Ticks], column: Column) -> Any:
        """The value over the rows that are valid now."""
        if self.function == "count":
            return self.count
        if self.function in BY_DELTA:
            if not self.count:
                return None
            return self.sum.value() if self.function == "sum" else self.sum.mean(self.count)
        assert self.column is not None
        values = column(self.column, valid())
        if callable(self.function):
            return self.function(np.asarray(values))
        if self.function == "top":
            order = pc.sort_indices(values.drop_null(), sort_keys=[("", "descending")])[: self.top]
            return values.drop_null().take(order).to_pylist()
        extremes = pc.min_max(values).as_py()
        return extremes[self.function]


def parse_select(select: Select, columns: "list[str] | None") -> dict[str, Expression]:
    """Read ``select``: ``"count"``, ``(column, function)``, ``(column, "top", k)`` or ``(column, callable)``."""
    return {name: _expression(name, entry, columns) for name, entry in select.items()}


def _expression(name: str, entry: Any, columns: "list[str] | None") -> Expression:
    if entry == "count":
        return Expression(None, "count")
    parts = tuple(entry) if isinstance(entry, tuple | list) else ()
    if len(parts) not in (2, 3) or not isinstance(parts[0], str):
        raise UsageError(
            f"select {name!r}: {entry!r} is no expression; give 'count', (column, 'sum'), (column, 'top', 3) or "
            "(column, callable)"
        )
    column, function = parts[0], parts[1]
    if columns is not None and column not in columns:
        raise InvalidInputError(f"select {name!r}: there is no column {column!r}. {did_you_mean(column, columns)}")
    if function == "top":
        if len(parts) != 3 or not isinstance(parts[2], int) or parts[2] < 1:
            raise UsageError(f"select {name!r}: 'top' needs how many, at least 1, as in ({column!r}, 'top', 3)")
        return Expression(column, "top", parts[2])
    if len(parts) == 2 and (callable(function) or function in (*BY_DELTA, *OVER_SET)):
        return Expression(column, function)
    raise UsageError(
        f"select {name!r}: {function!r} is no aggregate. {did_you_mean(str(function), [*BY_DELTA, *OVER_SET, 'top'])}"
    )
