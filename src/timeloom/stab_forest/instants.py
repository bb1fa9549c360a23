"""What a caller may give as instants, events and windows, checked and turned into ticks."""

import operator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from timeloom.engines.admission import admit
from timeloom.errors import InvalidInputError, UsageError
from timeloom.kernels.order import Ticks
from timeloom.model.period import Period, PeriodLike
from timeloom.model.policy import Policy
from timeloom.model.ticks import FOREVER, MAX_TICK, MIN_TICK

Window = tuple[int, int | None]


def one_tick(value: Any, what: str) -> int:
    """Read one instant."""
    try:
        tick = operator.index(value)
    except TypeError as error:
        raise UsageError(
            f"{what}={value!r} is {type(value).__name__}; expected an integer tick: "
            "convert dates and timestamps to ticks first, or use tl.stab on a table"
        ) from error
    if not MIN_TICK <= tick <= MAX_TICK:
        raise InvalidInputError(f"{what}={value!r} does not fit into int64; expected {MIN_TICK} to {MAX_TICK}")
    return tick


def one_end(value: Any, start: int) -> int:
    """Read the end of an event; None means that it is open."""
    if value is None:
        return FOREVER
    end = one_tick(value, "end")
    if end <= start:
        raise InvalidInputError(
            f"the event [{start}, {end}) {'is empty' if end == start else 'ends before it starts'}; expected an end "
            f"after {start}: periods are half-open, a single instant is [{start}, {start + 1})"
        )
    return end


def many_ticks(values: ArrayLike, what: str) -> Ticks:
    """Read an array of instants."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise UsageError(f"{what} has {array.ndim} dimensions; expected a list or an array of one")
    if array.size == 0:
        return np.zeros(0, np.int64)
    if array.dtype.kind not in "iu" or (array.dtype.kind == "u" and array.max() > MAX_TICK):
        raise UsageError(f"{what} holds {array.dtype}; expected integer ticks that fit into int64")
    return np.ascontiguousarray(array, np.int64)


def many_events(starts: ArrayLike, ends: ArrayLike) -> tuple[Ticks, Ticks]:
    """Read arrays of starts and ends, and refuse events that are empty or reversed."""
    first, last = many_ticks(starts, "starts"), many_ticks(ends, "ends")
    if first.size != last.size:
        raise UsageError(f"{first.size} starts and {last.size} ends; expected one end for each start")
    wrong = np.flatnonzero(last <= first)
    if wrong.size:
        row = int(wrong[0])
        raise InvalidInputError(
            f"{wrong.size} of {first.size} events are empty or end before they start, first row {row}: "
            f"[{first[row]}, {last[row]}); expected ends after starts: periods are half-open, a single instant is "
            f"[t, t + 1)"
        )
    return first, last


def table_events(table: Any, period: PeriodLike) -> tuple[Ticks, Ticks]:
    """Read the periods of an Arrow table, or of anything that exports an Arrow stream."""
    if not isinstance(table, pa.Table):
        if not hasattr(table, "__arrow_c_stream__"):
            raise UsageError(
                f"{type(table).__name__} is no table; expected arrays of starts and ends, or a table with a period"
            )
        table = pa.table(table)
    rows = admit(table, Period.of(period), "given", Policy())
    return rows.starts, rows.ends


def read_window(window: Window | None) -> tuple[int, int]:
    """Read a window: two instants, the second one excluded and None for no limit."""
    if window is None:
        return MIN_TICK, MAX_TICK
    try:
        begin, end = window
    except (TypeError, ValueError) as error:
        raise UsageError(f"window={window!r}; expected two instants, (begin, end)") from error
    first = one_tick(begin, "window begin")
    last = MAX_TICK if end is None else one_tick(end, "window end")
    if last <= first:
        raise InvalidInputError(f"the window [{first}, {last}) is empty; expected an end after the beginning")
    return first, last
