"""What a bitemporal table knows of its columns: which there are, which are the key, and the types of both times."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from timeloom.engines.tables.frames import require_columns, to_arrow
from timeloom.engines.tables.ticks import Ticks, TimeType
from timeloom.engines.tables.validity import admit
from timeloom.errors import InvalidInputError, UsageError, shown
from timeloom.model.period import Period
from timeloom.model.policy import Policy
from timeloom.model.slide import Instant
from timeloom.model.ticks import FOREVER, MAX_TICK, MIN_TICK

Key = Any
"""The value of the key column, or a tuple of the values of several."""

NAN = math.nan
"""The one not-a-number that keys hold: it is found again, since keys are compared by identity first."""


@dataclass(slots=True)
class Version:
    """A version of a fact: its values, its periods in ticks, and the number of the batch that ended it.

    An end is written before the number of its batch, so a reader that knows the batch finds the end.
    """

    values: tuple[Any, ...]
    app_start: int
    app_end: int
    sys_start: int
    sys_end: int = FOREVER
    ended_by: int = FOREVER


@dataclass(frozen=True)
class Layout:
    """The key, and as soon as they are known the columns of the facts and the types of both times."""

    key: tuple[str, ...]
    schema: pa.Schema = field(default_factory=lambda: pa.schema([]))
    app_type: TimeType | None = None
    sys_type: TimeType | None = None

    @cached_property
    def attributes(self) -> list[str]:
        """The columns besides the periods."""
        return [name for name in self.schema.names if name not in ("app_start", "app_end")]

    @cached_property
    def _key_positions(self) -> list[int]:
        return [self.attributes.index(name) for name in self.key]

    def adopting(self, table: pa.Table) -> "Layout":
        """Learn the columns from the first facts."""
        clashing = [name for name in ("sys_start", "sys_end") if name in table.column_names]
        if clashing:
            raise InvalidInputError(f"the facts have a column {clashing[0]!r}, which the table writes itself; drop it")
        for name in self.key:
            kind = table.schema.field(name).type
            if pa.types.is_nested(kind):
                raise InvalidInputError(f"the key {name!r} is {kind}; expected numbers, texts, bytes, dates or times")
        app_type = TimeType.of(table.schema.field("app_start").type, "app_start", "inserted")
        kinds = {field.name: field.type for field in table.schema} | {"app_end": app_type.arrow}
        return replace(self, schema=pa.schema(list(kinds.items())), app_type=app_type)

    def timed_by(self, sys: Instant) -> "Layout":
        """Learn the type of system time from the first transaction."""
        if self.sys_type is not None:
            return self
        return replace(self, sys_type=TimeType.of(_type_of(sys), "sys", "bitemporal"))

    def read_facts(self, table: pa.Table) -> tuple[pa.Table, Ticks, Ticks]:
        """Facts to insert, in the table's own types: their values, and their application periods."""
        table = self._conform(table)
        admitted = admit(table, Period("app_start", "app_end"), "inserted", Policy(), options=False)
        facts = table.select(self.attributes)
        for name in self.key:
            if facts[name].null_count:
                raise InvalidInputError(
                    f"the key {name!r} is null in {facts[name].null_count} of the inserted facts; give each its key"
                )
        return facts, admitted.starts, admitted.ends

    def read_fact(self, row: Mapping[str, Any], now: int) -> Version | None:
        """One fact as most are given: whole, and with values of the table's types; None if it takes a closer look."""
        if len(row) != len(self.schema) or self.app_type is None:
            return None
        try:
            values = tuple([row[name] for name in self.attributes])
            start, end = row["app_start"], row["app_end"]
        except KeyError:
            return None
        if not all(map(_fits, values, self._exact)):
            return None
        try:
            begin = self.app_type.ticks_of(start, "app_start")
            stop = FOREVER if end is None else self.app_type.ticks_of(end, "app_end")
        except UsageError:
            return None
        known = begin < stop and self.writes(begin) and (end is None or (stop < FOREVER and self.writes(stop)))
        return Version(values, begin, stop, now) if known and not isinstance(start, str) else None

    @cached_property
    def _exact(self) -> list[type | None]:
        """The Python type of each attribute's values where there is only one."""
        plain = {pa.int64(): int, pa.float64(): float, pa.string(): str, pa.bool_(): bool}
        return [plain.get(self.schema.field(name).type) for name in self.attributes]

    def value(self, name: str, value: Any) -> Any:
        """A value as its column holds it."""
        position = self.attributes.index(name)
        if _fits(value, self._exact[position]):
            return value
        return _column([value], self.schema.field(name))[0].as_py()

    def writes(self, tick: int) -> bool:
        """Whether a column of application time can hold a tick."""
        low, high, grain = self._writable
        return low <= tick <= high and (grain == 1 or tick % grain == 0)

    @cached_property
    def _writable(self) -> tuple[int, int, int]:
        return (*self.app_time.limits, self.app_time.grain)

    def check_tick(self, tick: int) -> None:
        """Refuse an instant of application time that the table's column cannot hold."""
        if tick != FOREVER and not self.writes(tick):
            self.app_time.to_arrow(np.array([tick]), column="app_start")

    def _conform(self, table: pa.Table) -> pa.Table:
        require_columns(table.column_names, self.schema.names, "inserted")
        require_columns(self.schema.names, table.column_names, "bitemporal")
        try:
            return table.select(self.schema.names).cast(self.schema)
        except (pa.ArrowException, ValueError) as error:
            raise InvalidInputError(
                f"the inserted columns do not fit the table's ({self.schema.to_string()}): {error}"
            ) from error

    def facts(self, versions: Sequence[Version]) -> pa.Table:
        """The values of versions, as columns."""
        fields = list(self.no_facts.schema)
        columns = [_column([version.values[at] for version in versions], one) for at, one in enumerate(fields)]
        return pa.table(columns, schema=self.no_facts.schema)

    @cached_property
    def no_facts(self) -> pa.Table:
        """The columns of the facts, besides the periods, without rows."""
        return pa.schema([self.schema.field(name) for name in self.attributes]).empty_table()

    def table(self, facts: pa.Table, app_start: Ticks, app_end: Ticks, sys_start: Ticks, sys_end: Ticks) -> pa.Table:
        """Versions as rows of the history."""
        times = {
            "app_start": self.app_time.to_arrow(app_start),
            "app_end": self.app_time.to_arrow(app_end, app_end == FOREVER),
        }
        columns = [times[name] if name in times else facts[name] for name in self.schema.names]
        columns += [self.sys_time.to_arrow(sys_start), self.sys_time.to_arrow(sys_end, sys_end == FOREVER)]
        return pa.Table.from_arrays(columns, names=[*self.schema.names, "sys_start", "sys_end"])

    def key_of_fact(self, values: Sequence[Any]) -> Key:
        """The key among the values of a fact."""
        positions = self._key_positions
        if len(positions) == 1:
            key = values[positions[0]]
            return NAN if key != key else key  # noqa: PLR0124 - the one value that does not equal itself
        return _one_nan(values[position] for position in positions)

    def keys_of(self, facts: pa.Table) -> list[Key]:
        """The keys of many facts."""
        columns = [_listed(facts[name]) for name in self.key]
        if len(columns) > 1:
            return [_one_nan(parts) for parts in zip(*columns, strict=True)]
        if pa.types.is_floating(facts[self.key[0]].type):
            return [NAN if key != key else key for key in columns[0]]  # noqa: PLR0124
        return columns[0]

    def key_of(self, key: Any) -> Key:
        """A key as the user gives it: one value, a tuple of them, or a mapping."""
        if type(key) in (int, str) and len(self.key) == 1:
            return key
        if isinstance(key, Mapping):
            require_columns([str(name) for name in key], list(self.key), "key's")
            parts: tuple[Any, ...] = tuple(key[name] for name in self.key)
        else:
            parts = key if isinstance(key, tuple) else (key,)
        if len(parts) != len(self.key):
            raise UsageError(f"the key {shown(key)} has {len(parts)} parts, expected {len(self.key)}: {list(self.key)}")
        try:
            hash(parts)
        except TypeError as error:
            raise UsageError(f"the key {shown(key)} is no key; give one value for each of {list(self.key)}") from error
        if None in parts:
            raise InvalidInputError(f"the key {shown(key)} has a null; give one value for each of {list(self.key)}")
        parts = _one_nan(parts)
        return parts[0] if len(parts) == 1 else parts

    @property
    def app_time(self) -> TimeType:
        """The type of application time."""
        return _known(self.app_type)

    @property
    def sys_time(self) -> TimeType:
        """The type of system time."""
        return _known(self.sys_type)

    def sys_instant(self, tick: int) -> Any:
        """A system time in the user's own type."""
        return self.sys_time.to_arrow(np.array([tick]))[0].as_py()


def facts_table(rows: Any) -> pa.Table:
    """Read what `insert` takes: a table, a dict for one fact, or a list of dicts."""
    if isinstance(rows, Mapping):
        rows = [rows]
    if not isinstance(rows, list | tuple):
        return to_arrow(rows, "inserted")[0]
    if not rows or not all(isinstance(row, Mapping) for row in rows):
        raise UsageError("insert takes a table, a dict, or a list of dicts; found something else in the list")
    names = list(rows[0])
    for at, row in enumerate(rows):
        if set(row) != set(names) or not all(isinstance(name, str) for name in row):
            raise InvalidInputError(
                f"fact {at} has the columns {list(row)}, the first one has {names}; give all facts the same columns"
            )
    try:
        return pa.table({name: [row[name] for row in rows] for name in names})
    except (pa.ArrowException, OverflowError, ValueError, TypeError) as error:
        raise InvalidInputError(f"the facts are no table: {error}; give all values of a column one type") from error


def _column(values: list[Any], one: pa.Field) -> pa.Array:
    try:
        return pa.array(values, one.type)
    except (pa.ArrowException, OverflowError, ValueError, TypeError) as error:
        raise InvalidInputError(f"a value for column {one.name!r} does not fit its type {one.type}: {error}") from error


def _fits(value: Any, kind: Any) -> bool:
    """Tell values that a column holds just as they are."""
    if type(value) is not kind:
        return False
    if kind is int:
        return bool(MIN_TICK <= value <= MAX_TICK)
    return bool(kind is not str or value.isascii())


def _listed(column: pa.ChunkedArray) -> list[Any]:
    """The values of a column as Python has them; whole numbers the quick way."""
    if pa.types.is_integer(column.type) and not column.null_count:
        return list(column.to_numpy().tolist())
    return list(column.to_pylist())


def _one_nan(parts: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(NAN if isinstance(part, float) and math.isnan(part) else part for part in parts)


def _known(kind: TimeType | None) -> TimeType:
    if kind is None:
        raise UsageError("the table is empty, so the type of its times is unknown; insert something first")
    return kind


def _type_of(instant: Any) -> pa.DataType:
    if isinstance(instant, datetime):
        return pa.timestamp("us", pa.array([instant]).type.tz)
    if isinstance(instant, date):
        return pa.date32()
    if isinstance(instant, int | np.integer) and not isinstance(instant, bool):
        return pa.int64()
    raise UsageError(f"sys={shown(instant)} is no instant; give an int, a date or a timestamp")
