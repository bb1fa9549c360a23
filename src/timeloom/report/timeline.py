"""A picture of periods: one lane for each row of a sample, as SVG."""

from datetime import UTC, datetime
from html import escape
from typing import Any

WIDTH, LABEL, LANE, TOP = 960, 250, 18, 26
STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)
"""Distances of grid lines in seconds; beyond, whole days."""


def draw(bars: list[dict[str, Any]]) -> str:
    """Draw the sample of a result; an empty sample gives an empty text."""
    if not bars:
        return ""
    points = [span[end] for bar in bars for span in bar["spans"] for end in ("start", "end") if span[end] is not None]
    low, high = min(points), max(points)
    high = high if high > low else low + 1
    has_open = any(span["end"] is None for bar in bars for span in bar["spans"])
    scale = (WIDTH - LABEL - 12) / ((high - low) * (1.06 if has_open else 1.0))
    height = TOP + LANE * len(bars) + 8
    parts = [f'<svg class="timeline" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="periods of a sample">']
    parts += _grid(low, high, scale, height, is_time=bars[0]["spans"][0]["time"])
    for lane, bar in enumerate(bars):
        parts += _lane(bar, TOP + LANE * lane, low, scale)
    return "\n".join([*parts, "</svg>"])


def _lane(bar: dict[str, Any], top: float, low: float, scale: float) -> list[str]:
    label = bar["label"] if len(bar["label"]) <= 38 else bar["label"][:37] + "…"
    parts = [f'<text class="label" x="{LABEL - 10}" y="{top + 11}">{escape(label)}</text>']
    for number, span in enumerate(bar["spans"][:2]):
        left = LABEL + (span["start"] - low) * scale
        right = WIDTH - 6 if span["end"] is None else LABEL + (span["end"] - low) * scale
        tall, shift = (8, 2) if number == 0 else (4, 10)
        kind = ("own", "other")[number] + (" open" if span["end"] is None else "")
        parts.append(
            f'<rect class="{kind}" x="{left:.1f}" y="{top + shift}" width="{max(right - left, 2):.1f}" height="{tall}" '
            f'rx="2"><title>{escape(bar["label"])}: {escape(span["text"])}</title></rect>'
        )
    return parts


def _grid(low: float, high: float, scale: float, height: float, *, is_time: bool) -> list[str]:
    step = _step(high - low, is_time)
    parts = []
    at = -(-low // step) * step
    while at <= high:
        x = LABEL + (at - low) * scale
        parts.append(f'<line class="grid" x1="{x:.1f}" y1="{TOP - 6}" x2="{x:.1f}" y2="{height - 4}"/>')
        parts.append(f'<text class="tick" x="{x:.1f}" y="{TOP - 11}">{escape(_tick(at, step, is_time))}</text>')
        at += step
    return parts


def _step(spread: float, is_time: bool) -> float:
    """The distance of grid lines that gives about six of them."""
    wanted = spread / 6
    if not is_time or wanted > STEPS[-1]:
        unit = STEPS[-1] if is_time else 1
        size = 10 ** max(0, len(str(int(wanted / unit))) - 1)
        return float(unit * next(factor for factor in (size, 2 * size, 5 * size, 10 * size) if factor * unit >= wanted))
    return float(next(step for step in STEPS if step >= wanted))


def _tick(at: float, step: float, is_time: bool) -> str:
    if not is_time:
        return f"{at:,.0f}"
    try:
        moment = datetime.fromtimestamp(at, UTC)
    except (ValueError, OverflowError, OSError):
        return f"{at:,.0f} s"
    if step >= 86_400:
        return moment.strftime("%Y-%m-%d")
    return moment.strftime("%m-%d %H:%M" if step >= 60 else "%H:%M:%S")
