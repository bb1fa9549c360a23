"""Tables as tests write them, and the one comparison of tables: the same rows equally often, in any order."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

FOREVER = 2**63 - 1

SHOWN = 5
"""Rows of a difference that a failure shows."""


def table(
    rows: Iterable[Sequence[int | None]],
    keys: Sequence[str | None] | None = None,
    number: str | None = None,
    **more: Any,
) -> pa.Table:
    """Rows given as (start, end), with a column of keys, and one of row numbers if it has a name."""
    periods = list(rows)
    columns: dict[str, Any] = {
        "start": pa.array([row[0] for row in periods], pa.int64()),
        "end": pa.array([row[1] for row in periods], pa.int64()),
    }
    if keys is not None:
        columns["key"] = pa.array(keys, pa.string())
    if number is not None:
        columns[number] = pa.array(range(len(periods)), pa.int32())
    return pa.table(columns | more)


def open_ended(rows: Iterable[tuple[int, int]]) -> list[tuple[int, int | None]]:
    """Rows as a table has them: an end that never comes is null."""
    return [(start, None if end == FOREVER else end) for start, end in rows]


def rows_of(found: Any, *names: str) -> list[tuple[Any, ...]]:
    """The rows of some columns, or of all, in an order that depends on nothing but the rows."""
    result = found if isinstance(found, pa.Table) else found.toArrow()
    columns = result.select(names).columns if names else result.columns
    return sorted(zip(*(column.to_pylist() for column in columns), strict=True), key=str)


def assert_same(found: Any, expected: Any, told: object = "", *, types: bool = False) -> None:
    """Compare two results, each a table, a DataFrame or rows: names, rows as multisets, types if asked for."""
    __tracebackhide__ = True
    mine, wanted = (given.toArrow() if hasattr(given, "toArrow") else given for given in (found, expected))
    if isinstance(mine, pa.Table) and isinstance(wanted, pa.Table):
        assert mine.column_names == wanted.column_names, told
        if types:
            assert mine.schema.types == wanted.schema.types, told
    have, want = _counted(mine), _counted(wanted)
    missing, more = want - have, have - want
    difference = [f"  missing {count} x {row}" for row, count in missing.most_common(SHOWN)]
    difference += [f"  too many {count} x {row}" for row, count in more.most_common(SHOWN)]
    told = f"{told} {have.total()} rows where {want.total()} are expected"
    assert not difference, "\n".join([told, *difference])


def _counted(rows: Any) -> Counter[str]:
    listed = rows.to_pylist() if isinstance(rows, pa.Table) else rows
    return Counter(repr(_plain(row)) for row in listed)


def _plain(value: Any) -> Any:
    """A value without what does not count: the zone in which an instant is shown, a row's kind of container."""
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, (tuple, list)):
        return tuple(_plain(part) for part in value)
    return value.astimezone(UTC) if isinstance(value, datetime) and value.tzinfo else value
