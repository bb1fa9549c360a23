"""What a caller may give as instants, events and windows: read as ticks, together with the axis that they lie on."""

import operator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from timeloom.engines.tables.axes import same_axis
from timeloom.engines.tables.ticks import TimeType, column_ticks
from timeloom.engines.tables.validity import admit
from timeloom.errors import InvalidInputError, UsageError, shown
from timeloom.kernels.order import Ticks
from timeloom.model.period import Period, PeriodLike
from timeloom.model.policy import Policy
from timeloom.model.ticks import FOREVER, MAX_TICK, MIN_TICK, Axis

Instant = Any
"""An integer, a date or a timestamp, with or without zone: whichever the forest's axis is."""

Window = tuple[Instant, Instant | None]

INTEGER = TimeType(Axis.INTEGER, pa.int64())
DATE = TimeType(Axis.DATE, pa.date32())
TIMESTAMP = TimeType(Axis.TIMESTAMP, pa.timestamp("us"))

_TICK = timedelta(microseconds=1)
_EPOCH, _ZONED_EPOCH, _FIRST_DAY = datetime(1970, 1, 1), datetime(1970, 1, 1, tzinfo=UTC), date(1970, 1, 1)


def plain_type(kind: TimeType) -> TimeType:
    """The type in which a forest keeps an axis: the widest, in ticks; only the zone is the input's."""
    if kind.axis is Axis.ZONED:
        return TimeType(Axis.ZONED, pa.timestamp("us", kind.arrow.tz))
    return {Axis.INTEGER: INTEGER, Axis.DATE: DATE, Axis.TIMESTAMP: TIMESTAMP}[kind.axis]


def written(tick: int, kind: TimeType | None) -> Any:
    """A tick as a value of its axis; one beyond Python's dates and timestamps as NumPy's."""
    if kind is None or kind.axis is Axis.INTEGER:
        return tick
    try:
        return kind.to_arrow(np.array([tick], np.int64))[0].as_py()
    except (ValueError, OverflowError, pa.ArrowException):
        return np.datetime64(tick, "D" if kind.axis is Axis.DATE else "us")


def one_tick(value: Any, kind: TimeType | None, what: str) -> int:
    """Read one instant on a known axis; on any axis if none is known yet."""
    return read_instant(value, kind, what)[1]


def read_instant(value: Any, kind: TimeType | None, what: str) -> tuple[TimeType, int]:
    """Read one instant, and say on which axis it lies."""
    if kind is not None and kind.axis is not Axis.INTEGER and isinstance(value, str):
        value = _parsed(value, kind, what)
    try:
        found, tick = _instant(value)
    except (TypeError, ValueError, OverflowError, pa.ArrowException) as error:
        expected = "an integer tick, a date or a timestamp" if kind is None else _expected(kind)
        because = "" if isinstance(error, TypeError) else f" ({error})"
        raise UsageError(f"{what}={shown(value)} is {type(value).__name__}{because}; expected {expected}") from error
    if kind is not None and found.axis is not kind.axis:
        raise UsageError(
            f"{what}={shown(value)} is {type(value).__name__} ({found.axis.value}), but the forest's axis is "
            f"{kind.axis.value}; expected {_expected(kind)}"
        )
    if not MIN_TICK <= tick <= MAX_TICK:
        raise InvalidInputError(f"{what}={shown(value)} does not fit into int64; expected {MIN_TICK} to {MAX_TICK}")
    return found, tick


def one_event(start: Any, end: Any, kind: TimeType | None) -> tuple[TimeType, int, int]:
    """Read one event; None as the end means that it is open."""
    found, first = read_instant(start, kind, "start")
    return found, first, one_end(end, first, found)


def one_end(value: Any, start: int, kind: TimeType | None) -> int:
    """Read the end of an event that has a start; None means that it is open."""
    end = FOREVER if value is None else one_tick(value, kind, "end")
    if end <= start:
        begun = written(start, kind)
        raise InvalidInputError(
            f"the event [{begun}, {written(end, kind)}) {'is empty' if end == start else 'ends before it starts'}; "
            f"expected an end after {begun}: periods are half-open, a single instant is "
            f"[{begun}, {written(min(start + 1, MAX_TICK), kind)})"
        )
    return end


def many_ticks(values: Any, kind: TimeType | None, what: str) -> Ticks:
    """Read a list or an array of instants on a known axis; texts in a list as single ones."""
    if kind is not None and isinstance(values, list | tuple) and any(isinstance(value, str) for value in values):
        return np.array([one_tick(value, kind, f"{what}[{row}]") for row, value in enumerate(values)], np.int64)
    found, ticks, missing = read_column(values, what)
    if missing.size:
        raise InvalidInputError(f"{what} has {missing.size} missing values, first row {missing[0]}; leave them out")
    if found is not None and kind is not None and found.axis is not kind.axis:
        raise UsageError(
            f"{what} holds {found.arrow} ({found.axis.value}), but the forest's axis is {kind.axis.value}; "
            f"expected {_expected(kind)}"
        )
    return ticks


def read_column(values: Any, what: str) -> tuple[TimeType | None, Ticks, Ticks]:
    """Read many instants: their axis (None if there are none and they have no type), ticks, and the missing rows."""
    none = np.zeros(0, np.int64)
    described: Any = getattr(values, "type", type(values).__name__)
    if not hasattr(values, "__arrow_c_array__") and not hasattr(values, "__arrow_c_stream__"):
        array = _array(values, what)
        described = array.dtype
        if array.dtype.kind in "iu" and (array.dtype.kind == "i" or not array.size or array.max() <= MAX_TICK):
            return INTEGER, np.ascontiguousarray(array, np.int64), none
        if array.size == 0 and array.dtype.kind in "fO":
            return None, none, none
        if array.dtype.kind in "OM" and getattr(values, "dtype", array.dtype).kind == "O":
            _require_one_kind(array, what)
        elif array.dtype.kind == "M" and isinstance(values, list | tuple):
            _require_one_kind(values, what)
        values = array if array.dtype.kind == "M" else values
    try:
        column = _column(values)
        if pa.types.is_null(column.type):
            return None, np.zeros(len(column), np.int64), np.arange(len(column))
        kind = TimeType.of(column.type, what, "given")
        ticks, null = column_ticks(column, kind, truncate=False)
    except (pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise UsageError(f"{what} holds {described}; expected integer ticks, dates or timestamps ({error})") from error
    return plain_type(kind), ticks, np.flatnonzero(null)


def many_events(starts: Any, ends: Any) -> tuple[TimeType | None, Ticks, Ticks]:
    """Read arrays of starts and ends, and refuse events that are empty or reversed; a missing end means open."""
    kind, first, missing = read_column(starts, "starts")
    if missing.size:
        raise InvalidInputError(f"starts has {missing.size} missing values, first row {missing[0]}; mend or drop them")
    end_kind, last, open_rows = read_column(ends, "ends")
    if kind is not None and end_kind is not None and first.size and open_rows.size < last.size:
        _same(kind, end_kind, "starts", "ends")
    if first.size != last.size:
        raise UsageError(f"{first.size} starts and {last.size} ends; expected one end for each start")
    if open_rows.size:
        last = last.copy()
        last[open_rows] = FOREVER
    wrong = np.flatnonzero(last <= first)
    if wrong.size:
        row = int(wrong[0])
        raise InvalidInputError(
            f"{wrong.size} of {first.size} events are empty or end before they start, first row {row}: "
            f"[{written(int(first[row]), kind)}, {written(int(last[row]), kind)}); expected ends after starts: periods "
            f"are half-open, a single instant is [t, t + 1)"
        )
    return kind, first, last


def table_events(table: Any, period: PeriodLike) -> tuple[TimeType | None, Ticks, Ticks]:
    """Read the periods of an Arrow table, or of anything that exports an Arrow stream."""
    if not isinstance(table, pa.Table):
        if not hasattr(table, "__arrow_c_stream__"):
            raise UsageError(
                f"{type(table).__name__} is no table; expected arrays of starts and ends, or a table with a period"
            )
        table = pa.table(table)
    rows = admit(table, Period.of(period), "given", Policy(), options=False)
    return plain_type(rows.ticks.type), rows.starts, rows.ends


def read_window(window: Window | None, kind: TimeType | None) -> tuple[int, int]:
    """Read a window: two instants, the second one excluded and None for no limit."""
    if window is None:
        return MIN_TICK, MAX_TICK
    try:
        begin, end = window
    except (TypeError, ValueError) as error:
        raise UsageError(f"window={shown(window)}; expected two instants, (begin, end)") from error
    found, first = read_instant(begin, kind, "window begin")
    last = MAX_TICK if end is None else one_tick(end, found, "window end")
    if last <= first:
        raise InvalidInputError(
            f"the window [{written(first, found)}, {written(last, found)}) is empty; expected a later end"
        )
    return first, last


def require_axis(ours: TimeType | None, theirs: TimeType | None, what: str) -> None:
    """Refuse events of another axis than the forest's; a forest without events has none yet."""
    if ours is not None and theirs is not None:
        _same(ours, theirs, "the forest", what)


def _same(left: TimeType, right: TimeType, one: str, other: str) -> None:
    try:
        same_axis(left, right)
    except InvalidInputError as error:
        raise InvalidInputError(f"{one} and {other} do not fit: {error}") from error


def _instant(value: Any) -> tuple[TimeType, int]:
    """Read a value by its own type."""
    if isinstance(value, pa.Scalar):
        kind, ticks, missing = read_column(pa.repeat(value, 1), "the value")
        if kind is None or missing.size:
            raise ValueError("it is missing")
        return kind, int(ticks[0])
    if isinstance(value, np.datetime64):
        if np.datetime_data(value.dtype)[0] not in ("D", "s", "ms", "us", "ns") or np.isnat(value):
            raise ValueError("its unit is neither days nor seconds to nanoseconds, or it is missing")
        return _instant(pa.array(np.array([value]))[0])
    if isinstance(value, datetime):
        if _is_missing(value):
            raise ValueError("it is missing")
        if getattr(value, "nanosecond", 0):
            raise ValueError("it is no whole number of microseconds")
        if value.utcoffset() is None:
            return TIMESTAMP, (value.replace(tzinfo=None) - _EPOCH) // _TICK
        return plain_type(TimeType(Axis.ZONED, pa.scalar(value).type)), (value - _ZONED_EPOCH) // _TICK
    if isinstance(value, date):
        return DATE, (value - _FIRST_DAY).days
    if isinstance(value, bool):
        raise TypeError("a truth value is no instant")
    return INTEGER, operator.index(value)


def _parsed(text: str, kind: TimeType, what: str) -> date:
    try:
        return date.fromisoformat(text) if kind.axis is Axis.DATE else datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(
            f"{what}={shown(text)} is no {kind.axis.value} ({error}); expected {_expected(kind)}"
        ) from error


def _expected(kind: TimeType) -> str:
    return {
        Axis.INTEGER: "an integer tick",
        Axis.DATE: "a date, or a text such as '2024-05-01'",
        Axis.TIMESTAMP: "a timestamp without zone, or a text such as '2024-05-01 12:30'",
        Axis.ZONED: "a timestamp with a zone, or a text such as '2024-05-01 12:30+02:00'",
    }[kind.axis]


def _array(values: Any, what: str) -> np.ndarray[Any, np.dtype[Any]]:
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, OverflowError) as error:
        raise UsageError(f"{what} is no list or array of instants ({error})") from error
    if array.ndim != 1:
        raise UsageError(f"{what} has {array.ndim} dimensions; expected a list or an array of one")
    return array


def _column(values: Any) -> pa.Array | pa.ChunkedArray:
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    if hasattr(values, "__arrow_c_stream__") and not hasattr(values, "__arrow_c_array__"):
        return pa.chunked_array(values)
    return pa.array(values, from_pandas=True)


def _require_one_kind(values: Any, what: str) -> None:
    """Refuse a list of Python values that mixes axes: Arrow would take some of them for others."""
    kinds: dict[Axis, tuple[int, Any]] = {}
    for row, value in enumerate(values):
        if value is not None and not _is_missing(value):
            kinds.setdefault(read_instant(value, None, f"{what}[{row}]")[0].axis, (row, value))
    if len(kinds) > 1:
        (first, one), (second, other) = list(kinds.values())[:2]
        raise UsageError(
            f"{what} mixes axes: row {first} is {shown(one)}, row {second} is {shown(other)}; give values of one"
        )


def _is_missing(value: Any) -> bool:
    """Tell whether a value is one of the many that mean nothing: NaN, NaT, NA."""
    try:
        return bool(value != value)  # noqa: PLR0124
    except TypeError:
        return True
