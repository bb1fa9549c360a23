"""Arrow columns of time, to int64 ticks and back."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from timeloom.errors import InvalidInputError, UsageError
from timeloom.model.period import Period
from timeloom.model.ticks import FOREVER, MAX_TICK, MIN_TICK, Axis

Ticks = NDArray[np.int64]

_TO_MICROSECONDS = {"s": 1_000_000, "ms": 1_000, "us": 1}
_TEXT = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)


@dataclass(frozen=True)
class TimeType:
    """The type of a period's columns: its axis, and how to write ticks in it."""

    axis: Axis
    arrow: pa.DataType

    @classmethod
    def of(cls, column_type: pa.DataType, column: str, side: str) -> "TimeType":
        """Find the axis of a column type, or say why it has none."""
        where = f"column {column!r} of the {side} table"
        if pa.types.is_integer(column_type):
            return cls(Axis.INTEGER, column_type)
        if pa.types.is_date(column_type):
            return cls(Axis.DATE, column_type)
        if pa.types.is_timestamp(column_type):
            return cls(Axis.ZONED if column_type.tz else Axis.TIMESTAMP, column_type)
        if any(is_text(column_type) for is_text in _TEXT):
            hint = "if it holds ISO 8601 text, parse it first, for example with pyarrow.compute.strptime or a cast"
            raise InvalidInputError(f"{where} is text ({column_type}); expected integers, dates or timestamps; {hint}")
        hint = ""
        if pa.types.is_floating(column_type):
            hint = "; pandas turns integers with missing values into doubles: .astype('Int64') brings them back"
        raise InvalidInputError(f"{where} is {column_type}; expected integers, dates or timestamps{hint}")

    def to_arrow(self, ticks: Ticks, null: NDArray[np.bool_] | None = None) -> pa.Array:
        """Write ticks as a column of this type; rows marked null become null."""
        if self.axis is Axis.INTEGER:
            return pa.array(ticks, pa.int64(), mask=null).cast(self.arrow)
        if self.axis is Axis.DATE:
            days = ticks if null is None else np.where(null, 0, ticks)
            return pa.array(days.astype(np.int32), pa.date32(), mask=null).cast(self.arrow)
        whole = pa.timestamp("us", self.arrow.tz)
        return pa.array(ticks, pa.int64(), mask=null).cast(whole).cast(self.arrow)

    def ticks_of(self, value: Any, what: str) -> int:
        """Read one value of the user's (an instant, a sentinel) as a tick on this axis."""
        try:
            scalar = pa.array([value]) if self.axis is Axis.INTEGER else self._parsed(value)
            ticks, _ = column_ticks(scalar, TimeType.of(scalar.type, what, "given"), truncate=False)
        except (pa.ArrowException, InvalidInputError, OverflowError) as error:
            raise UsageError(f"{what}={value!r} does not fit the period's type {self.arrow}: {error}") from error
        return int(ticks[0])

    def _parsed(self, value: Any) -> pa.Array:
        if isinstance(value, str):
            return pa.array([value]).cast(self.arrow)
        if self.axis is Axis.DATE:
            return pa.array([value], pa.date32())
        found = pa.array([value])
        if self.axis is Axis.ZONED and pa.types.is_timestamp(found.type) and not found.type.tz:
            raise InvalidInputError("it has no time zone, but the column has one; give a zoned value")
        if self.axis is Axis.TIMESTAMP and pa.types.is_timestamp(found.type) and found.type.tz:
            raise InvalidInputError("it has a time zone, but the column has none; give a value without zone")
        return found.cast(pa.timestamp("us", self.arrow.tz))


def column_ticks(
    column: pa.Array | pa.ChunkedArray, kind: TimeType, *, truncate: bool
) -> tuple[Ticks, NDArray[np.bool_]]:
    """Read a time column as ticks, and say which rows are null (their ticks mean nothing)."""
    array = whole(column) if isinstance(column, pa.ChunkedArray) else column
    null = np.zeros(len(array), np.bool_)
    if array.null_count:
        null = np.asarray(array.is_null())
        array = pc.fill_null(
            array, pa.scalar(0, pa.int32() if pa.types.is_date32(array.type) else pa.int64()).cast(array.type)
        )
    if kind.axis is Axis.INTEGER:
        if pa.types.is_uint64(array.type) and len(array) and pc.max(array).as_py() > MAX_TICK:
            raise InvalidInputError(f"unsigned values above {MAX_TICK} do not fit into int64 ticks; subtract an offset")
        return np.asarray(array.cast(pa.int64())), null
    if kind.axis is Axis.DATE:
        return np.asarray(array.cast(pa.date32()).view(pa.int32())).astype(np.int64), null
    raw = np.asarray(array.view(pa.int64()))
    unit = array.type.unit
    if unit == "ns":
        return _microseconds_of_nanoseconds(raw, truncate=truncate), null
    return _scaled(raw, _TO_MICROSECONDS[unit]), null


def whole(column: pa.ChunkedArray) -> pa.Array:
    """A column in one piece; copied only if it is in several."""
    if column.num_chunks == 1:
        return column.chunk(0)
    joined = column.combine_chunks()
    return joined if isinstance(joined, pa.Array) else pa.concat_arrays(joined.chunks or [pa.array([], column.type)])


def _microseconds_of_nanoseconds(raw: Ticks, *, truncate: bool) -> Ticks:
    whole, rest = np.divmod(raw, 1000)
    lost = np.flatnonzero(rest)
    if lost.size and not truncate:
        raise InvalidInputError(
            f"{lost.size} nanosecond timestamps are no whole microseconds (first at row {lost[0]}), and a tick is one "
            "microsecond; round them, or allow it with tl.Period(..., truncate=True)"
        )
    return whole


def _scaled(raw: Ticks, factor: int) -> Ticks:
    """Multiply and saturate."""
    if factor == 1:
        return raw
    limit = MAX_TICK // factor
    ticks = np.clip(raw, -limit, limit) * factor
    ticks[raw > limit] = MAX_TICK
    ticks[raw < -limit] = MIN_TICK
    return ticks


def shift_ticks(ticks: Ticks, by: int) -> Ticks:
    """Add a small constant and saturate; an open end stays open."""
    if by == 0:
        return ticks
    if by > 0:
        return np.where(ticks > MAX_TICK - by, MAX_TICK, ticks + np.int64(by))
    return np.where((ticks < MIN_TICK - by) | (ticks == FOREVER), ticks, ticks + np.int64(by))


@dataclass(frozen=True)
class PeriodTicks:
    """The periods of a table: half-open ticks per row, and what is needed to write such periods back."""

    starts: Ticks
    ends: Ticks
    type: TimeType
    end_type: TimeType
    period: Period
    open_form: Any
    null_starts: NDArray[np.bool_]

    def write_starts(self, ticks: Ticks) -> pa.Array:
        """Starts as a column of the input's own type and convention."""
        return self.type.to_arrow(shift_ticks(ticks, -self.period.start_shift))

    def write_ends(self, ticks: Ticks) -> pa.Array:
        """Ends as a column of the input's own type and convention; open ends in the input's own form."""
        is_open = ticks == FOREVER
        if not is_open.any():
            return self.end_type.to_arrow(shift_ticks(ticks, -self.period.end_shift))
        finite = shift_ticks(np.where(is_open, 0, ticks), -self.period.end_shift)
        written = self.end_type.to_arrow(finite, is_open)
        if self.open_form is None:
            return written
        form = pa.array([self.open_form]).cast(self.end_type.arrow)[0]
        return pc.if_else(pa.array(is_open), form, written)


def read_period(table: pa.Table, period: Period, side: str) -> PeriodTicks:
    """Read the period columns of a table as half-open ticks."""
    kind = TimeType.of(table.schema.field(period.start).type, period.start, side)
    if pa.types.is_null(table.schema.field(period.end).type):
        at = table.column_names.index(period.end)
        table = table.set_column(at, period.end, table[period.end].cast(kind.arrow))
    end_kind = TimeType.of(table.schema.field(period.end).type, period.end, side)
    if kind.axis is not end_kind.axis:
        raise InvalidInputError(
            f"the period of the {side} table mixes types: {period.start!r} is {kind.arrow} ({kind.axis.value}), "
            f"{period.end!r} is {end_kind.arrow} ({end_kind.axis.value}); cast one to the other"
        )
    starts, null_starts = column_ticks(table[period.start], kind, truncate=period.truncate)
    ends, is_open = column_ticks(table[period.end], end_kind, truncate=period.truncate)
    sentinels = [(value, end_kind.ticks_of(value, "open_end")) for value in period.sentinels]
    form = period.sentinels[0] if sentinels else None
    for _, ticks in sentinels:
        is_open = is_open | (ends == ticks)
    ends = shift_ticks(ends, period.end_shift)
    if is_open.any():
        ends = np.where(is_open, FOREVER, ends)
    return PeriodTicks(shift_ticks(starts, period.start_shift), ends, kind, end_kind, period, form, null_starts)
