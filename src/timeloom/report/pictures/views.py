"""Pictures as templates draw them: places in hundredths, paths, labels. Data come from `choice` and from samples."""

from collections.abc import Iterator
from typing import Any

from timeloom.report.pictures.axes import Across, Upward, number, side
from timeloom.report.pictures.calendar import written
from timeloom.report.pictures.choice import micros
from timeloom.report.pictures.days import days_view

Data = dict[str, Any]
TALL = 200.0
"""The height of a chart's own coordinates, 1,000 wide; pages stretch them."""


def view(picture: Data | None) -> Data | None:
    """What a template draws of a picture; None if there is nothing to draw but lanes or rows."""
    if picture is None or picture["kind"] == "lanes":
        return None
    return {"steps": _steps, "density": _steps, "days": days_view, "histogram": _histogram, "bars": _bars}[
        picture["kind"]
    ](picture)


def across(picture: Data) -> Across:
    """The time axis of a picture."""
    low, high = (micros(picture[name], picture["axis"]) for name in ("first", "last"))
    return Across(low, max(high, low + 1), picture["axis"] != "integer")


def _steps(picture: Data) -> Data:
    axis = across(picture)
    least, greatest = picture["least"], picture["greatest"]
    whole = all(value == int(value) for value in (*least, *greatest))
    upward = Upward.over(min(least), max(greatest), whole=whole)
    spans = [
        tuple(10 * min(max(axis.of(micros(at, picture["axis"])), 0.0), 100.0) for at in span)
        for span in zip(picture["starts"], picture["ends"], strict=True)
    ]
    highs = [_down(upward, value) for value in picture["greatest"]]
    exact = picture["mean"] is None
    lows = [_down(upward, 0.0)] * len(highs) if exact else [_down(upward, value) for value in picture["least"]]
    lines = highs if exact else [_down(upward, value) for value in picture["mean"]]
    return {
        "kind": "steps",
        "value": picture["value"],
        "band": " ".join(_filled(spans, highs, lows)),
        "line": " ".join(_level(spans, lines)),
        "per": picture["per"],
        "mean": not exact,
        "density": picture["kind"] == "density",
        "marks": axis.marks(),
        "levels": upward.marks(),
        "top": _top(picture, axis, upward),
        "range": time_range(picture, axis),
    }


def time_range(picture: Data, axis: Across) -> str:
    """From when to when a picture reaches."""
    is_day = picture["axis"] == "date"
    ends = (written(at, is_time=axis.is_time, is_day=is_day) for at in (axis.low, axis.high))
    return " – ".join(ends) + (" (UTC)" if picture["axis"] == "zoned" else "")


def _top(picture: Data, axis: Across, upward: Upward) -> Data:
    value, start, end = picture["top"]
    low, high = (micros(at, picture["axis"]) for at in (start, end))
    left = min(max(axis.of((low + high) // 2), 0.0), 100.0)
    when = written(low, is_time=axis.is_time, is_day=picture["axis"] == "date")
    text = number(value)
    return {"left": left, "bottom": upward.of(value), "side": side(left), "value": text, "when": when}


def _down(axis: Upward, value: float) -> float:
    return TALL * (1 - axis.of(value) / 100)


def _level(spans: list[Any], heights: list[float]) -> Iterator[str]:
    """A line of steps; it breaks where nothing is."""
    end = None
    for (left, right), height in zip(spans, heights, strict=True):
        joined = end is not None and left - end < 0.01
        yield f"{'V' if joined else f'M{left:.2f} '}{height:.1f}H{right:.2f}"
        end = right


def _filled(spans: list[Any], highs: list[float], lows: list[float]) -> Iterator[str]:
    for (left, right), high, low in zip(spans, highs, lows, strict=True):
        tall = max(low - high, 0.6)
        yield f"M{left:.2f} {high:.1f}H{right:.2f}v{tall:.1f}H{left:.2f}z"


def _histogram(picture: Data) -> Data:
    bounds, counts = picture["bounds"], picture["counts"]
    low, high = bounds[0], bounds[-1]
    upward = Upward.over(0, max(counts), whole=True)
    wide = (high - low) or 1.0
    bars = [
        {
            "left": 100 * (left - low) / wide,
            "width": 100 * (right - left) / wide,
            "height": upward.of(count),
            "title": f"{_range(left, right)}: {count:,} rows",
        }
        for left, right, count in zip(bounds[:-1], bounds[1:], counts, strict=True)
    ]
    return {
        "kind": "histogram",
        "value": picture["value"],
        "bars": bars,
        "levels": upward.marks(),
        "marks": Across(int(low), max(int(high), int(low) + 1), False).marks(),
        "total": sum(counts),
    }


def _range(low: float, high: float) -> str:
    """Which values a range has; one of whole numbers begins and ends between two of them."""
    if low % 1 == 0.5 and high % 1 == 0.5:
        first, last = int(low + 0.5), int(high - 0.5)
        return f"{first:,}" if first == last else f"{first:,} to {last:,}"
    return f"{number(low)} to {number(high)}"


def _bars(picture: Data) -> Data:
    most = max((abs(value) for _, value in picture["rows"]), default=0) or 1
    rows = [
        {"label": label, "value": number(value), "width": 100 * abs(value) / most, "less": value < 0}
        for label, value in picture["rows"]
    ]
    return {"kind": "bars", "value": picture["value"], "rows": rows}


def lanes_view(bars: list[Data]) -> Data | None:
    """The lanes of a sample: a row for each, with one or two periods."""
    points = [span[end] for bar in bars for span in bar["spans"] for end in ("start", "end") if span[end] is not None]
    if not points:
        return None
    low, high = min(points), max(points)
    has_open = any(span["end"] is None for bar in bars for span in bar["spans"])
    high = max(high, low + 1)
    axis = Across(low, high + (max(1, (high - low) // 16) if has_open else 0), bars[0]["spans"][0]["time"])
    rows = [
        {"label": bar["label"], "spans": [_span(span, order, axis) for order, span in enumerate(bar["spans"][:2])]}
        for bar in bars
    ]
    return {"rows": rows, "marks": axis.marks()}


def _span(span: Data, order: int, axis: Across) -> Data:
    left = axis.of(span["start"])
    right = 100.0 if span["end"] is None else axis.of(span["end"])
    kind = ("own", "other")[order] + (" open" if span["end"] is None else "")
    return {"left": left, "width": max(right - left, 0.0), "kind": kind, "text": span["text"]}
