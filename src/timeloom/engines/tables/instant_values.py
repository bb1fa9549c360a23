"""One instant as users give it, to a tick: understood exactly on the axis of the period, or refused."""

from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from timeloom.errors import InvalidInputError
from timeloom.model.ticks import MAX_TICK, MIN_TICK, Axis

DAY = 86_400_000_000
"""A day in microseconds."""

_MICROSECONDS = {"W": 7 * DAY, "D": DAY, "h": DAY // 24, "m": 60_000_000, "s": 1_000_000, "ms": 1_000, "us": 1}
_PARTS = {"ns": 10**3, "ps": 10**6, "fs": 10**9, "as": 10**12}
_EPOCH = datetime(1970, 1, 1)


class _Moment(NamedTuple):
    """Microseconds since 1970, of UTC if the value had a zone."""

    micros: int
    zoned: bool


_WRITTEN = {
    Axis.DATE: "day as ISO 8601 writes it; write it like '2024-01-31'",
    Axis.TIMESTAMP: "instant as ISO 8601 writes it; write it like '2024-01-31 18:00:00'",
    Axis.ZONED: "instant as ISO 8601 writes it; write it with its zone, like '2024-01-31 18:00:00Z'",
}
"""What a text is expected to be."""


def instant_tick(value: Any, axis: Axis) -> int:
    """The tick of an instant on this axis; the error says what is wrong with the value, not where it was given.

    >>> instant_tick(date(1970, 1, 3), Axis.DATE), instant_tick("1970-01-01 00:00:01", Axis.TIMESTAMP)
    (2, 1000000)
    """
    if axis is Axis.INTEGER:
        tick = _integer(value)
    elif isinstance(value, str):
        tick = _parsed(value, axis)
    else:
        tick = _on_axis(_moment(value, axis), axis)
    if not MIN_TICK <= tick <= MAX_TICK:
        raise InvalidInputError(
            f"it lies beyond the ticks of the axis, which are the integers of 64 bits, as tick {tick}"
        )
    return tick


def _integer(value: Any) -> int:
    if isinstance(value, pa.Scalar) and pa.types.is_integer(value.type):
        value = value.as_py()
    if isinstance(value, bool | np.timedelta64) or not isinstance(value, int | np.integer):
        raise InvalidInputError(f"it is a {type(value).__name__}; expected an integer, as the column has")
    return int(value)


def _parsed(text: str, axis: Axis) -> int:
    kind = {
        Axis.DATE: pa.date32(),
        Axis.TIMESTAMP: pa.timestamp("us"),
        Axis.ZONED: pa.timestamp("us", "UTC"),
    }[axis]
    try:
        parsed = pa.array([text]).cast(kind)
    except (pa.ArrowException, UnicodeEncodeError) as error:
        raise InvalidInputError(f"it is no {_WRITTEN[axis]}") from error
    return int(parsed.view(pa.int32() if axis is Axis.DATE else pa.int64())[0].as_py())


def _moment(value: Any, axis: Axis) -> _Moment:
    """What a date or a timestamp of any library says."""
    if isinstance(value, pa.Scalar):
        value = _unwrapped(value)
    if isinstance(value, _Moment):
        return value
    if isinstance(value, np.datetime64):
        return _Moment(_of_numpy(value), zoned=False)
    if not isinstance(value, date) or type(value).__name__ == "NaTType":  # pandas' NaT is a date, too
        expected = "a date" if axis is Axis.DATE else "a timestamp"
        raise InvalidInputError(f"it is a {type(value).__name__}; expected {expected}, or its ISO text")
    if not isinstance(value, datetime):
        return _Moment((value - _EPOCH.date()).days * DAY, zoned=False)
    if getattr(value, "nanosecond", 0):
        raise InvalidInputError("it is no whole number of microseconds, and a tick is one microsecond; round it")
    if hasattr(value, "to_pydatetime"):
        value = value.to_pydatetime(warn=False)
    zoned = value.utcoffset() is not None
    since = value.astimezone(UTC) - _EPOCH.replace(tzinfo=UTC) if zoned else value.replace(tzinfo=None) - _EPOCH
    return _Moment(since // timedelta(microseconds=1), zoned)


def _unwrapped(value: pa.Scalar) -> Any:
    """An Arrow scalar as what it stands for; nanoseconds have no type in Python."""
    if pa.types.is_timestamp(value.type) and value.is_valid:
        return _Moment(_counted(value.value, value.type.unit, 1), zoned=value.type.tz is not None)
    return value.as_py()


def _of_numpy(value: np.datetime64) -> int:
    if np.isnat(value):
        raise InvalidInputError("it is no time at all; expected an instant")
    unit, count = np.datetime_data(value.dtype)
    if unit in ("Y", "M"):
        value, unit, count = value.astype("datetime64[D]"), "D", 1
    return _counted(int(value.astype(np.int64)), unit, count)


def _counted(number: int, unit: str, count: int) -> int:
    """So many units in microseconds."""
    if unit in _MICROSECONDS:
        return number * count * _MICROSECONDS[unit]
    micros, rest = divmod(number * count, _PARTS[unit])
    if rest:
        raise InvalidInputError("it is no whole number of microseconds, and a tick is one microsecond; round it")
    return micros


def _on_axis(moment: _Moment, axis: Axis) -> int:
    if axis is Axis.ZONED and not moment.zoned:
        raise InvalidInputError("it has no time zone, but the column has one; give a zoned value")
    if axis is not Axis.ZONED and moment.zoned:
        raise InvalidInputError("it has a time zone, but the column has none; give a value without zone")
    if axis is not Axis.DATE:
        return moment.micros
    days, rest = divmod(moment.micros, DAY)
    if rest:
        raise InvalidInputError("it has a time of day, but the column has dates; give a date")
    return days
