"""What a bitemporal table knows of its columns: which there are, which are the key, and the types of both times."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from timeloom.engines.tables.frames import require_columns, to_arrow
from timeloom.engines.tables.ticks import TimeType
from timeloom.engines.tables.validity import admit
from timeloom.errors import InvalidInputError, UsageError
from timeloom.model.period import Period
from timeloom.model.policy import Policy
from timeloom.model.slide import Instant
from timeloom.model.ticks import FOREVER

Key = tuple[Any, ...]
NAN = math.nan
"""The one not-a-number that keys hold: it is found again, since keys are compared by identity first."""


@dataclass
class Version:
    """A fact as it is now believed: its row in the history (None while staged), values, and periods in ticks."""

    row: int | None
    values: tuple[Any, ...]
    app_start: int
    app_end: int
    sys_start: int
    sys_end: int = FOREVER


@dataclass(frozen=True)
class Layout:
    """The key, and as soon as they are known the columns of the facts and the types of both times."""

    key: tuple[str, ...]
    schema: pa.Schema = field(default_factory=lambda: pa.schema([]))
    app_type: TimeType | None = None
    sys_type: TimeType | None = None

    @property
    def attributes(self) -> list[str]:
        """The columns besides the periods."""
        return [name for name in self.schema.names if name not in ("app_start", "app_end")]

    @cached_property
    def _key_places(self) -> list[int]:
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

    def read_facts(self, table: pa.Table, now: int) -> list[tuple[Key, Version]]:
        """Facts that begin to be believed now, and their keys."""
        table = self._conform(table)
        admitted = admit(table, Period("app_start", "app_end"), "inserted", Policy())
        values = zip(*(table[name].to_pylist() for name in self.attributes), strict=True)
        return [
            (self.key_of_fact(fact), Version(None, fact, start, end, now))
            for fact, start, end in zip(values, admitted.starts.tolist(), admitted.ends.tolist(), strict=True)
        ]

    def _conform(self, table: pa.Table) -> pa.Table:
        require_columns(table.column_names, self.schema.names, "inserted")
        require_columns(self.schema.names, table.column_names, "bitemporal")
        try:
            return table.select(self.schema.names).cast(self.schema)
        except (pa.ArrowException, ValueError) as error:
            raise InvalidInputError(
                f"the inserted columns do not fit the table's ({self.schema.to_string()}): {error}"
            ) from error

    def written(self, versions: list[Version]) -> pa.Table:
        """Versions as rows of the history, all but their system ends."""
        app_type, sys_type = self.app_time, self.sys_time
        ends = np.array([version.app_end for version in versions], np.int64)
        times = {
            "app_start": app_type.to_arrow(np.array([version.app_start for version in versions], np.int64)),
            "app_end": app_type.to_arrow(ends, ends == FOREVER),
        }
        places = {name: at for at, name in enumerate(self.attributes)}
        columns = [
            times[one.name]
            if one.name in times
            else _column([version.values[places[one.name]] for version in versions], one)
            for one in self.schema
        ]
        starts = sys_type.to_arrow(np.array([version.sys_start for version in versions], np.int64))
        return pa.table(columns, schema=self.schema).append_column("sys_start", starts)

    def key_of_fact(self, values: tuple[Any, ...]) -> Key:
        """The key among the values of a fact."""
        return _one_nan(values[place] for place in self._key_places)

    def key_of(self, key: Any) -> Key:
        """A key as the user gives it: one value, a tuple of them, or a mapping."""
        if isinstance(key, Mapping):
            require_columns([str(name) for name in key], list(self.key), "key's")
            parts: Key = tuple(key[name] for name in self.key)
        else:
            parts = key if isinstance(key, tuple) else (key,)
        if len(parts) != len(self.key):
            raise UsageError(f"the key {key!r} has {len(parts)} parts, expected {len(self.key)}: {list(self.key)}")
        try:
            hash(parts)
        except TypeError as error:
            raise UsageError(f"the key {key!r} is no key; give one value for each of {list(self.key)}") from error
        return _one_nan(parts)

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


def _one_nan(parts: Iterable[Any]) -> Key:
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
    raise UsageError(f"sys={instant!r} is no instant; give an int, a date or a timestamp")
