"""A sample of a result: its first rows as texts, its periods as lanes, its numbers as bars."""

from contextlib import suppress
from datetime import datetime
from math import isfinite
from typing import Any

import pyarrow as pa

from timeloom.model.period import Period
from timeloom.report.pictures.calendar import DAY, SECOND
from timeloom.report.pictures.choice import MOST_LANES
from timeloom.report.record import SinkRecord

MOST_BARS = MOST_LANES
A_LOOK = 12
"""Lanes of a result that has more rows than are drawn."""

MOST_COLUMNS = 12
MOST_LETTERS = 60


def show_sample(
    record: SinkRecord,
    table: pa.Table,
    periods: list[Period],
    keys: "list[str] | None" = None,
    value: str | None = None,
) -> None:
    """Put a sample into the record of a sink; the first period is drawn boldly, a second one beside it.

    ``keys`` are the columns that say what a row is about; lanes and bars are labelled by them. ``value`` is the number
    that rows are ranked by, if there is one.
    """
    record.columns = list(table.column_names)
    named = {name: _values(column) for name, column in zip(table.column_names, table.columns, strict=True)}
    shown = list(named.values())[:MOST_COLUMNS]
    record.sample = [[_shown(column[row]) for column in shown] for row in range(min(10, len(table)))]
    taken = {name for period in periods for name in period.columns} | {value or ""}
    labels = label_columns(table, named, taken, keys or [])
    if record.rows <= MOST_BARS and (value or not periods):
        record.picture = _ranking(table, named, keys or [], labels, value)
    if not periods:
        return
    record.legend = [" – ".join(period.columns) for period in periods]
    spans = [_spans(table, named, period) for period in periods]
    for row, own in enumerate(spans[0]):
        if own is not None:
            bars = [span[row] for span in spans]
            record.bars.append({"label": _label(labels, row), "spans": [span for span in bars if span is not None]})
    most = MOST_BARS if record.rows <= MOST_BARS else A_LOOK
    record.bars = _closest(sorted(record.bars, key=_start), most)


def label_columns(table: pa.Table, named: dict[str, list[Any]], taken: set[str], keys: list[str]) -> list[list[Any]]:
    """The columns that tell rows apart: keys first, then one more if they are not enough; else texts, else numbers."""
    free = [field.name for field in table.schema if field.name not in taken and not pa.types.is_nested(field.type)]
    kinds = {name: table.schema.field(name).type for name in free}
    texts = [name for name in free if pa.types.is_string(kinds[name]) or pa.types.is_large_string(kinds[name])]
    whole = [name for name in free if pa.types.is_integer(kinds[name])]
    found = [name for name in dict.fromkeys(keys) if name in free][:3]
    found = found or (texts or whole or free)[:2]
    columns = [named[name] for name in found]
    if len(found) < 3 and len({_label(columns, row) for row in range(len(table))}) < len(table):
        found += [name for name in (*texts, *whole) if name not in found][:1]
    return [named[name] for name in found]


def _label(labels: list[list[Any]], row: int) -> str:
    return " · ".join(_shown(values[row]) for values in labels if values[row] is not None)


def _ranking(
    table: pa.Table, named: dict[str, list[Any]], keys: list[str], labels: list[list[Any]], value: str | None
) -> dict[str, Any] | None:
    """A small table as bars of a value, or of its first number that is no key."""
    numbers = [
        field.name
        for field in table.schema
        if (pa.types.is_integer(field.type) or pa.types.is_floating(field.type)) and field.name not in keys
    ]
    value = value if value in numbers else next((name for name in numbers if named[name] not in labels), None)
    if value is None or not labels:
        return None
    rows = [(_label(labels, row), number) for row, number in enumerate(named[value]) if number is not None]
    known = [(label, number) for label, number in rows if isfinite(number)]
    return {"kind": "bars", "value": value, "rows": known} if known else None


def _values(column: pa.ChunkedArray) -> list[Any]:
    """The values of a column; as text where Python has none of the kind, such as years beyond 9999."""
    if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
        column = column.cast(pa.timestamp("us", column.type.tz), safe=False)
    with suppress(ValueError, OverflowError):
        return list(column.to_pylist())
    with suppress(pa.ArrowException):
        return list(column.cast(pa.string()).to_pylist())
    return ["…"] * len(column)


def _spans(table: pa.Table, values: dict[str, list[Any]], period: Period) -> list[dict[str, Any] | None]:
    """For each row the start and the end of a bar, as numbers and as texts; an open end is None."""
    starts, ends = (_numbers(table[name]) for name in (period.start, period.end))
    result: list[dict[str, Any] | None] = []
    is_time = pa.types.is_temporal(table[period.start].type)
    shown = zip(values[period.start], values[period.end], starts, ends, strict=True)
    for start, end, left, right in shown:
        is_open = right is None or end in period.sentinels
        text = f"{_shown(start)} – {'open' if is_open else _shown(end)}"
        bar = {"start": left, "end": None if is_open else right, "text": text, "time": is_time}
        result.append(None if left is None else bar)
    return result


def _numbers(column: pa.ChunkedArray) -> list[int | None]:
    """Whole numbers: microseconds since 1970 for times."""
    kind = column.type
    if pa.types.is_date32(kind):
        return [None if day is None else day * DAY for day in column.cast(pa.int32()).to_pylist()]
    if pa.types.is_date64(kind):
        return [None if instant is None else instant * 1000 for instant in column.cast(pa.int64()).to_pylist()]
    if pa.types.is_timestamp(kind):
        ticks = column.cast(pa.int64()).to_pylist()
        times, parts = {"s": (SECOND, 1), "ms": (1000, 1), "us": (1, 1), "ns": (1, 1000)}[kind.unit]
        return [None if tick is None else tick * times // parts for tick in ticks]
    return [None if value is None else int(value) for value in column.to_pylist()]


def _start(bar: dict[str, Any]) -> int:
    start: int = bar["spans"][0]["start"]
    return start


def _closest(bars: list[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """The bars, sorted by start, that lie closest together: a picture of them shows more than specks."""
    starts = range(max(1, len(bars) - most + 1))
    first = min(starts, key=lambda at: _start(bars[min(at + most, len(bars)) - 1]) - _start(bars[at]) if bars else 0)
    return bars[first : first + most]


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.isoformat(" ", "seconds" if not value.microsecond else "auto")
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text if len(text) <= MOST_LETTERS else text[: MOST_LETTERS - 1] + "…"
