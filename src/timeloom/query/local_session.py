"""DuckDB as the engine of SQL over local tables. Its instances see no files, no network and no variables of Python."""

import json
import os
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from timeloom.engines.tables.foreign_types import with_durations
from timeloom.engines.tables.key_types import plain, plain_type
from timeloom.errors import UsageError
from timeloom.query.pieces import Sql
from timeloom.query.session import Locate

CLOSED = {
    "enable_external_access": "false",
    "python_enable_replacements": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "errors_as_json": "true",
    "default_null_order": "nulls_first_on_asc_last_on_desc",
}
"""Nulls are the smallest values, as on Spark; everything that leads out of the process is closed."""

_CLOSED_WORDS = "file system operations are disabled"
MOST_DIGITS = 38

_instances: dict[tuple[int, str], Any] = {}
_lock = threading.Lock()


class LocalSession:
    """Tables registered with a DuckDB of our own, for one query."""

    engine = "duckdb"

    def __init__(self, zones: "set[str]", prefix: str, locate: Locate, *, dry: bool = False) -> None:
        self.dry = dry
        self._zone = zones.pop() if len(zones) == 1 else "UTC"
        self._cursor = _instance(self._zone).cursor()
        self._prefix = prefix
        self._locate = locate
        self._count = 0

    def quote(self, name: str) -> str:
        """A name in double quotes."""
        return '"' + name.replace('"', '""') + '"'

    def text(self, value: str) -> str:
        """A text in single quotes."""
        return "'" + value.replace("'", "''") + "'"

    def plain(self, words: str) -> str:
        """DuckDB reads the user's words as they are."""
        return words

    def add(self, frame: pa.Table) -> str:
        """Register a table; DuckDB reads its memory."""
        self._count += 1
        name = f"{self._prefix}{self._count}"
        self._cursor.register(name, _readable(frame.slice(0, 0) if self.dry else frame))
        return name

    def run(self, sql: Sql) -> pa.Table:
        """Run a query."""
        import duckdb

        text = str(sql)
        try:
            relation = self._cursor.sql(text)
            kinds = [str(kind) for kind in relation.types]
            table = relation.to_arrow_table()
        except duckdb.Error as error:
            raise self._error(sql, error) from error
        return self._plain_types(table, kinds)

    def columns(self, sql: Sql) -> list[str]:
        """The columns that a query would have."""
        import duckdb

        try:
            return list(self._cursor.sql(str(sql)).columns)
        except duckdb.Error as error:
            raise self._error(sql, error) from error

    def names(self, frame: pa.Table) -> list[str]:
        """The columns of a table."""
        return list(frame.column_names)

    def shaped(self, frame: pa.Table, columns: Sequence[tuple[str, str]]) -> pa.Table:
        """Choose columns; no values are copied."""
        return pa.table([frame[name] for name, _ in columns], names=[new for _, new in columns])

    def current(self, frame: pa.Table, column: str) -> Any:
        """The present instant, in the type of a column."""
        kind = frame.schema.field(column).type if column in frame.column_names else None
        if kind is not None and pa.types.is_date(kind):
            return datetime.now(UTC).date()
        zoned = kind is not None and pa.types.is_timestamp(kind) and kind.tz is not None
        return datetime.now(UTC) if zoned else datetime.now(UTC).replace(tzinfo=None)

    def close(self) -> None:
        """Forget all tables."""
        self._cursor.close()

    def _plain_types(self, table: pa.Table, kinds: list[str]) -> pa.Table:
        """Integers of 128 bits become ones of 64, since Arrow has none; zoned columns keep the zone of the tables."""
        for at, kind in enumerate(kinds):
            column, name = table.column(at), table.field(at).name
            if kind in ("HUGEINT", "UHUGEINT"):
                try:
                    column = pc.cast(column, pa.int64())
                except pa.ArrowInvalid as error:
                    raise UsageError(
                        f"column {name!r} has values beyond 64 bits; cast it in the query, to DOUBLE or DECIMAL(38, 0)"
                    ) from error
            elif pa.types.is_timestamp(column.type) and column.type.tz not in (None, self._zone):
                column = column.cast(pa.timestamp(column.type.unit, self._zone))
            else:
                continue
            table = table.set_column(at, name, column)
        return with_durations(table)

    def _error(self, sql: Sql, error: Exception) -> Exception:
        """The engine's words and where they belong; a relation tells no position, a plan does."""
        words, position = _facts(error)
        if position is None:
            import duckdb

            try:
                self._cursor.execute(f"EXPLAIN {sql}")
            except duckdb.Error as again:
                words, position = _facts(again)
                position = None if position is None else position - len("EXPLAIN ")
        if _CLOSED_WORDS in words:
            words = (
                "a query reads no files; give each table a name, as in tl.sql('select * from a', a=table), or on the "
                "command line timeloom sql 'select * from a' a=FILE"
            )
        return self._locate(words, position, sql)


def _facts(error: Exception) -> tuple[str, int | None]:
    words = str(error)
    begin = words.find("{")
    try:
        facts = json.loads(words[begin:]) if begin >= 0 else {}
    except ValueError:
        facts = {}
    if "exception_message" not in facts:
        return words, None
    position = facts.get("position")
    return facts["exception_message"], int(position) if position is not None and str(position).isdigit() else None


def _instance(zone: str) -> Any:
    """A DuckDB for a time zone, made once in a process."""
    try:
        import duckdb
    except ImportError as error:
        raise UsageError("SQL over local tables needs DuckDB; install it with: pip install 'timeloom[sql]'") from error
    with _lock:
        key = (os.getpid(), zone)
        if key not in _instances:
            made = duckdb.connect(":memory:", config=CLOSED)
            try:
                made.execute(f"SET GLOBAL TimeZone = '{zone.replace(chr(39), chr(39) * 2)}'")
            except duckdb.Error:
                made.execute("SET GLOBAL TimeZone = 'UTC'")
            made.execute("SET GLOBAL lock_configuration = true")
            _instances[key] = made
        return _instances[key]


def _readable(table: pa.Table) -> pa.Table:
    """Columns in plain types: DuckDB reads encoded columns and views of nulls past their ends, or not at all."""
    for at, field in enumerate(table.schema):
        kind = _plain_kind(field.type, field.name)
        if kind == field.type:
            continue
        try:
            column = plain(table.column(at)).cast(kind)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise UsageError(f"column {field.name!r} is {field.type}, which SQL cannot read; cast it before") from error
        table = table.set_column(at, field.name, column)
    return table


def _plain_kind(kind: pa.DataType, name: str) -> pa.DataType:
    """The type in which DuckDB reads a column."""
    kind = plain_type(kind)
    if isinstance(kind, pa.BaseExtensionType):
        return _plain_kind(kind.storage_type, name)
    for belongs, plainer in _PLAINER:
        if belongs(kind):
            return plainer
    if pa.types.is_decimal256(kind):
        if kind.precision > MOST_DIGITS:
            raise UsageError(f"column {name!r} is {kind}; SQL has at most {MOST_DIGITS} digits: cast it before")
        return pa.decimal128(kind.precision, kind.scale)
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_plain_kind(field.type, name)) for field in kind.fields])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or _is_list_view(kind):
        return pa.large_list(kind.value_field.with_type(_plain_kind(kind.value_type, name)))
    return kind


def _is_list_view(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind))


_PLAINER = (
    (pa.types.is_float16, pa.float32()),
    (pa.types.is_string_view, pa.large_string()),
    (pa.types.is_binary_view, pa.large_binary()),
)
