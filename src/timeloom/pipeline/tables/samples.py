"""A sample of a result, as texts and as bars on a time line."""

from contextlib import suppress
from datetime import datetime
from typing import Any

import pyarrow as pa

from timeloom.model.period import Period
from timeloom.report.record import SinkRecord
from timeloom.report.timeline import DAY, SECOND

MOST_BARS = 24
MOST_COLUMNS = 12
MOST_LETTERS = 60


def show_sample(record: SinkRecord, table: pa.Table, periods: list[Period]) -> None:
    """Put a sample into the record of a sink; the first period is drawn boldly, a second one beside it."""
    record.columns = list(table.column_names)
    columns = [_values(column) for column in table.columns]
    record.sample = [[_shown(column[row]) for column in columns[:MOST_COLUMNS]] for row in range(min(10, len(table)))]
    if not periods:
        return
    record.legend = [" – ".join(period.columns) for period in periods]
    taken = {name for period in periods for name in period.columns}
    labels = [values for name, values in zip(record.columns, columns, strict=True) if name not in taken][:3]
    named = dict(zip(record.columns, columns, strict=True))
    spans = [_spans(table, named, period) for period in periods]
    for row, own in enumerate(spans[0]):
        if own is not None:
            label = " · ".join(_shown(values[row]) for values in labels if values[row] is not None)
            bars = [span[row] for span in spans]
            record.bars.append({"label": label, "spans": [span for span in bars if span is not None]})
    record.bars = _closest(sorted(record.bars, key=_start))


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


def _closest(bars: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The bars, sorted by start, that lie closest together: a picture of them shows more than specks."""
    starts = range(max(1, len(bars) - MOST_BARS + 1))
    first = min(
        starts, key=lambda at: _start(bars[min(at + MOST_BARS, len(bars)) - 1]) - _start(bars[at]) if bars else 0
    )
    return bars[first : first + MOST_BARS]


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.isoformat(" ", "seconds" if not value.microsecond else "auto")
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text if len(text) <= MOST_LETTERS else text[: MOST_LETTERS - 1] + "…"
