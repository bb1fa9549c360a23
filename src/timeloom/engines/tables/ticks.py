"""Arrow columns of time, to int64 ticks and back."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from timeloom.engines.tables.arrays import filled, filled_values, missing, to_numpy
from timeloom.engines.tables.instant_values import instant_tick
from timeloom.engines.tables.one_column import interval_parts, is_interval, read_ranges
from timeloom.errors import InvalidInputError, UsageError, shown
from timeloom.model.period import Period
from timeloom.model.ticks import FOREVER, MAX_TICK, MIN_TICK, Axis

Ticks = NDArray[np.int64]

_TO_MICROSECONDS = {"s": 1_000_000, "ms": 1_000, "us": 1}
_DAY_MILLISECONDS = 86_400_000
_INT64 = pa.int64()
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
            hint = (
                "if it holds ISO 8601 text, parse it first, for example with pyarrow.compute.strptime or a cast; if it "
                "holds ranges such as '[1,5)', say so: tl.Period(name, form='int8range'), or 'daterange', 'tsrange'"
            )
            raise InvalidInputError(f"{where} is text ({column_type}); expected integers, dates or timestamps; {hint}")
        if pa.types.is_null(column_type):
            hint = "cast it to the type that its times would have, as types are never guessed from rows"
            raise InvalidInputError(f"{where} has no values and no type ({column_type}); {hint}")
        hint = ""
        if pa.types.is_floating(column_type):
            hint = "; pandas turns integers with missing values into doubles: .astype('Int64') brings them back"
        raise InvalidInputError(f"{where} is {column_type}; expected integers, dates or timestamps{hint}")

    @cached_property
    def limits(self) -> tuple[int, int]:
        """The first and the last tick that a column of this type can hold."""
        if self.axis is Axis.INTEGER:
            found = np.iinfo(str(self.arrow))
            return int(found.min), min(int(found.max), MAX_TICK)
        if pa.types.is_date32(self.arrow):
            return -(2**31), 2**31 - 1
        factor = _DAY_MILLISECONDS if self.axis is Axis.DATE else 1000 if self.arrow.unit == "ns" else 1
        return -(-MIN_TICK // factor), MAX_TICK // factor

    @property
    def grain(self) -> int:
        """The ticks of one unit of the type: seconds can write one microsecond of a million only."""
        return 1 if self.axis in (Axis.INTEGER, Axis.DATE) else _TO_MICROSECONDS.get(self.arrow.unit, 1)

    def finest(self) -> "TimeType":
        """This type, in a unit that can write every tick."""
        return self if self.grain == 1 else TimeType(self.axis, pa.timestamp("us", self.arrow.tz))

    def for_instants(self) -> "TimeType":
        """A type for instants that follow from values of this one, which may lie between or beyond them."""
        if self.axis is not Axis.INTEGER:
            return self.finest()
        return self if self.arrow == pa.int64() else TimeType(self.axis, pa.int64())

    def to_arrow(self, ticks: Ticks, null: NDArray[np.bool_] | None = None, column: str | None = None) -> pa.Array:
        """Write ticks as a column of this type; rows marked null become null. Ticks that do not fit are an error."""
        ticks = ticks if null is None else np.where(null, 0, ticks)
        self._check(ticks, column)
        if self.axis is Axis.INTEGER or pa.types.is_date32(self.arrow):
            return _written(ticks, self.arrow, null)
        factor = _DAY_MILLISECONDS if self.axis is Axis.DATE else 1000 if self.arrow.unit == "ns" else 1
        raw = ticks // self.grain if self.grain > 1 else ticks * factor if factor > 1 else ticks
        return _written(raw, self.arrow, null)

    def _check(self, ticks: Ticks, column: str | None) -> None:
        low, high = self.limits
        misfit = np.zeros(0, np.int64)
        if ticks.size and (low > MIN_TICK or high < MAX_TICK) and (ticks.min() < low or ticks.max() > high):
            misfit = ticks[(ticks < low) | (ticks > high)]
        elif self.grain > 1:
            misfit = ticks[ticks % self.grain != 0]
        if misfit.size:
            where = "the result" if column is None else f"column {column!r} of the result"
            raise InvalidInputError(
                f"{where} is {self.arrow}, which cannot hold {self.shown(int(misfit[0]))} ({misfit.size} such values); "
                f"{self._remedy()}"
            )

    def _remedy(self) -> str:
        if self.axis is Axis.INTEGER:
            return "cast the period columns to int64 first, or ask for less time"
        if self.axis is Axis.DATE:
            return "ask for less time"
        return f"cast the period columns to {pa.timestamp('us', self.arrow.tz)} first, or ask for less time"

    def shown(self, tick: int) -> str:
        """A tick as people read it."""
        if self.axis is Axis.INTEGER:
            return str(tick)
        return str(np.datetime64(tick, "D" if self.axis is Axis.DATE else "us"))

    def ticks_of(self, value: Any, what: str) -> int:
        """Read one value of the user's (an instant, a sentinel) as a tick on this axis."""
        try:
            return instant_tick(value, self.axis)
        except InvalidInputError as error:
            raise UsageError(f"{what}={shown(value)} does not fit the period's type {self.arrow}: {error}") from error

    def many_ticks_of(self, values: Sequence[Any], what: str) -> Sequence[int]:
        """Read many of the user's values; plain integers, which most are, are looked at together."""
        plain = self.axis is Axis.INTEGER and set(map(type, values)) == {int}
        if plain and min(values) >= MIN_TICK and max(values) <= MAX_TICK:
            return values
        return [self.ticks_of(value, what) for value in values]


def column_ticks(
    column: pa.Array | pa.ChunkedArray, kind: TimeType, *, truncate: bool
) -> tuple[Ticks, NDArray[np.bool_]]:
    """Read a time column as ticks, and say which rows are null (their ticks mean nothing)."""
    array = whole(column) if isinstance(column, pa.ChunkedArray) else column
    null = missing(array)
    if array.type == _INT64:
        return filled_values(array, 0, null) if array.null_count else to_numpy(array), null
    array = filled(array, 0)
    if kind.axis is Axis.INTEGER:
        if pa.types.is_uint64(array.type) and len(array) and pc.max(array).as_py() > MAX_TICK:
            raise InvalidInputError(f"unsigned values above {MAX_TICK} do not fit into int64 ticks; subtract an offset")
        return to_numpy(array if array.type == pa.int64() else array.cast(pa.int64())), null
    if pa.types.is_date32(array.type):
        return to_numpy(array.view(pa.int32())).astype(np.int64), null
    if kind.axis is Axis.DATE:
        return _days_of_milliseconds(to_numpy(array.view(pa.int64())), truncate=truncate), null
    raw = to_numpy(array.view(pa.int64()))
    unit = array.type.unit
    if unit == "ns":
        return _microseconds_of_nanoseconds(raw, truncate=truncate), null
    return _scaled(raw, _TO_MICROSECONDS[unit]), null


def whole(column: pa.ChunkedArray) -> pa.Array:
    """A column in one piece; copied only if it is in several."""
    if column.num_chunks < 2:
        return column.chunk(0) if column.num_chunks else pa.nulls(0, column.type)
    joined = column.combine_chunks()
    return joined if isinstance(joined, pa.Array) else pa.concat_arrays(joined.chunks)


def _written(values: Ticks, kind: pa.DataType, null: NDArray[np.bool_] | None) -> pa.Array:
    """A column of values that are known to fit its type: their bytes, without a cast."""
    content = np.ascontiguousarray(values, f"i{kind.bit_width // 8}")
    valid = None if null is None or not null.any() else pa.py_buffer(np.packbits(~null, bitorder="little"))
    return pa.Array.from_buffers(kind, content.size, [valid, pa.py_buffer(content)])


def _microseconds_of_nanoseconds(raw: Ticks, *, truncate: bool) -> Ticks:
    whole, rest = np.divmod(raw, 1000)
    lost = np.flatnonzero(rest)
    if lost.size and not truncate:
        raise InvalidInputError(
            f"{lost.size} nanosecond timestamps are no whole microseconds (first at row {lost[0]}), and a tick is one "
            "microsecond; round them, or allow it with tl.Period(..., truncate=True)"
        )
    return whole


def _days_of_milliseconds(raw: Ticks, *, truncate: bool) -> Ticks:
    days, rest = np.divmod(raw, _DAY_MILLISECONDS)
    lost = np.flatnonzero(rest)
    if lost.size and not truncate:
        raise InvalidInputError(
            f"{lost.size} dates in milliseconds are no whole days (first at row {lost[0]}), and a tick is one day; "
            "cast them to timestamps, or cut them off with tl.Period(..., truncate=True)"
        )
    return days


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
    if by > 0 and ticks.size and int(ticks.max()) <= MAX_TICK - by:
        return ticks + np.int64(by)
    if by > 0:
        return np.where(ticks > MAX_TICK - by, MAX_TICK, ticks + np.int64(by))
    return np.where((ticks < MIN_TICK - by) | (ticks == FOREVER), ticks, ticks + np.int64(by))


@dataclass(frozen=True)
class PeriodTicks:
    """The periods of a table: half-open ticks per row, and the types of both columns.

    The raw ticks are those as they were written, before ``closed`` shifts them: a shift saturates at the last tick.
    ``column`` is the type of the one column that holds both ends, if there is one.
    """

    starts: Ticks
    ends: Ticks
    raw_starts: Ticks
    raw_ends: Ticks
    type: TimeType
    end_type: TimeType
    period: Period
    null_starts: NDArray[np.bool_]
    column: pa.DataType | None = None

    @property
    def sentinels(self) -> tuple[int, ...]:
        """The ticks, besides null, that mean an open end."""
        return tuple(self.end_type.ticks_of(value, "open_end") for value in self.period.sentinels)


def read_period(table: pa.Table, period: Period, side: str) -> PeriodTicks:
    """Read the period columns of a table as half-open ticks."""
    if len(period.columns) == 1:
        column = table[period.start]
        if period.form not in ("plain", "interval"):
            return _read_ranges(column, period, side)
        if is_interval(column.type):
            return _read_intervals(column, period, side)
        if period.form == "interval":
            raise InvalidInputError(f"column {period.start!r} of the {side} table is {column.type}, no interval")
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
    raw_starts, null_starts = column_ticks(table[period.start], kind, truncate=period.truncate)
    raw_ends, is_open = raw_starts, null_starts
    if period.end != period.start:
        raw_ends, is_open = column_ticks(table[period.end], end_kind, truncate=period.truncate)
    for value in period.sentinels:
        is_open = is_open | (raw_ends == end_kind.ticks_of(value, "open_end"))
    if is_open.any():
        raw_ends = np.where(is_open, FOREVER, raw_ends)
    starts, ends = shift_ticks(raw_starts, period.start_shift), shift_ticks(raw_ends, period.end_shift)
    return PeriodTicks(starts, ends, raw_starts, raw_ends, kind, end_kind, period, null_starts)


def read_instants(table: pa.Table, period: Period, side: str) -> PeriodTicks | None:
    """Read a column of instants that all are valid, without their ends; None if it is anything else."""
    column = table[period.start]
    if len(period.columns) > 1 or period.form != "plain" or is_interval(column.type) or column.null_count:
        return None
    kind = TimeType.of(column.type, period.start, side)
    starts, none = column_ticks(column, kind, truncate=period.truncate)
    if period.start_shift or (starts.size and int(starts.max()) == MAX_TICK):
        return None
    return PeriodTicks(starts, starts, starts, starts, kind, kind, period, none)


def _read_intervals(column: pa.ChunkedArray, period: Period, side: str) -> PeriodTicks:
    """The periods of a column of pandas' intervals: its two parts, closed as its type says."""
    names = f"{period.start}.left", f"{period.start}.right"
    parts = interval_parts(column)
    pair = Period(*names, closed=column.type.closed, truncate=period.truncate)
    found = read_period(pa.table(list(parts), list(names)), pair, side)
    own = replace(period, form="interval", closed=pair.closed)
    return replace(found, period=own, column=column.type)


def _read_ranges(column: pa.ChunkedArray, period: Period, side: str) -> PeriodTicks:
    """The periods of a column of range texts, each with its own brackets."""
    read = read_ranges(column, period, side)
    kind = TimeType.of(read.low.type, period.start, side)
    starts, unknown = column_ticks(read.low, kind, truncate=period.truncate)
    ends, _ = column_ticks(read.high, kind, truncate=period.truncate)
    starts = np.where(read.after, shift_ticks(starts, 1), starts)
    ends = np.where(read.endless, FOREVER, np.where(read.through, shift_ticks(ends, 1), ends))
    ends = np.where(read.empty, starts, ends)
    return PeriodTicks(starts, ends, starts, ends, kind, kind, period, unknown & ~read.empty, column.type)
