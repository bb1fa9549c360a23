"""A sample of a result, as texts and as bars on a time line."""

from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa

from timeloom.model.period import Period
from timeloom.report.record import SinkRecord

MOST_BARS = 24
MOST_COLUMNS = 12
MOST_LETTERS = 60


def show_sample(record: SinkRecord, table: pa.Table, periods: list[Period]) -> None:
    """Put a sample into the record of a sink; the first period is drawn boldly, a second one beside it."""
    record.columns = list(table.column_names)
    rows = table.to_pylist()
    record.sample = [[_shown(value) for value in list(row.values())[:MOST_COLUMNS]] for row in rows[:10]]
    if not periods:
        return
    record.legend = [f"{period.start} – {period.end}" for period in periods]
    taken = {name for period in periods for name in (period.start, period.end)}
    labels = [name for name in table.column_names if name not in taken]
    for row in rows:
        spans = [_span(row, period) for period in periods]
        if spans[0] is not None:
            label = " · ".join(_shown(row[name]) for name in labels[:3] if row[name] is not None)
            record.bars.append({"label": label, "spans": [span for span in spans if span is not None]})
    record.bars = _closest(sorted(record.bars, key=_start))


def _start(bar: dict[str, Any]) -> float:
    start: float = bar["spans"][0]["start"]
    return start


def _closest(bars: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The bars, sorted by start, that lie closest together: a picture of them shows more than specks."""
    starts = range(max(1, len(bars) - MOST_BARS + 1))
    first = min(
        starts, key=lambda at: _start(bars[min(at + MOST_BARS, len(bars)) - 1]) - _start(bars[at]) if bars else 0
    )
    return bars[first : first + MOST_BARS]


def _span(row: dict[str, Any], period: Period) -> dict[str, Any] | None:
    """The start and the end of a bar as numbers (seconds since 1970 for times) and as texts; an open end is None."""
    start, end = row[period.start], row[period.end]
    if start is None:
        return None
    is_open = end is None or end in period.sentinels
    return {
        "start": _number(start),
        "end": None if is_open else _number(end),
        "text": f"{_shown(start)} – {'open' if is_open else _shown(end)}",
        "time": isinstance(start, date),
    }


def _number(value: Any) -> float:
    if isinstance(value, datetime):
        instant = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
        return (instant - datetime(1970, 1, 1)).total_seconds()
    if isinstance(value, date):
        return float((value - date(1970, 1, 1)).days * 86_400)
    return float(value)


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.isoformat(" ", "seconds" if not value.microsecond else "auto")
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text if len(text) <= MOST_LETTERS else text[: MOST_LETTERS - 1] + "…"
