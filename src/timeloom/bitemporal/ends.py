"""System ends that a batch gives to earlier rows: by number, in ticks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from timeloom.bitemporal.identity import read_numbers
from timeloom.engines.tables.ticks import TimeType, column_ticks
from timeloom.errors import InvalidInputError, UsageError, shown
from timeloom.kernels.bitemporal.windows import Ticks
from timeloom.model.ticks import Axis


def _none() -> Ticks:
    return np.empty(0, np.int64)


@dataclass(frozen=True)
class Ends:
    """Row numbers, each once, and the system end of each."""

    numbers: Ticks = field(default_factory=_none)
    at: Ticks = field(default_factory=_none)

    @classmethod
    def of(cls, ticks: Mapping[int, int]) -> "Ends":
        """Ends by row number."""
        return cls(np.array(list(ticks), np.int64), np.array(list(ticks.values()), np.int64))

    @classmethod
    def read(cls, given: object, types: Callable[[], tuple[TimeType, TimeType]]) -> "Ends":
        """Ends as the user gives them: a mapping, or two columns."""
        if isinstance(given, Mapping):
            numbers = read_numbers(list(given))
            if not numbers.size:
                return cls()
            return cls(numbers, np.array(types()[0].many_ticks_of(list(given.values()), "at"), np.int64))
        if not isinstance(given, tuple) or len(given) != 2:
            raise UsageError(
                f"ended={shown(given)} are no ends of rows; give row numbers and their system ends: a mapping such as "
                "{0: 5}, or a pair of columns such as ([0], [5])"
            )
        numbers = read_numbers(given[0])
        at = _instants(given[1], types()[0]) if numbers.size else _none()
        if numbers.size != at.size:
            raise UsageError(f"ended has {numbers.size} row numbers and {at.size} system ends; give one for each")
        ordered = np.sort(numbers)
        twice = np.flatnonzero(ordered[1:] == ordered[:-1])
        if twice.size:
            raise InvalidInputError(f"row {ordered[twice[0]]} would end more than once; end each row once")
        return cls(numbers, at)


def _instants(given: Any, kind: TimeType) -> Ticks:
    """A column of instants on an axis."""
    if kind.axis is Axis.INTEGER and isinstance(given, np.ndarray) and given.dtype == np.int64 and given.ndim == 1:
        return given
    if isinstance(given, list | tuple):
        return np.array(kind.many_ticks_of(given, "at"), np.int64)
    try:
        column = given if isinstance(given, pa.Array | pa.ChunkedArray) else pa.array(given)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise UsageError(f"ended={shown(given)} are no system ends: {error}; give a list or a column") from error
    found = TimeType.of(column.type, "ended", "given")
    ticks, missing = column_ticks(column, found, truncate=False)
    if found.axis is not kind.axis or missing.any():
        told = "some of which are null" if missing.any() else f"but the index holds {kind.arrow}"
        raise InvalidInputError(f"the system ends are {found.arrow}, {told}; give each row an end of that type")
    return ticks
