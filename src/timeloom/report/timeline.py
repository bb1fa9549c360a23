"""A picture of periods: one lane for each row of a sample, as SVG."""

from datetime import datetime, timedelta
from html import escape
from typing import Any

WIDTH, LABEL, LANE, TOP = 960, 250, 18, 26
SECOND = 1_000_000
"""Times are whole microseconds, so that no picture depends on how fractions are rounded."""

DAY = 86_400 * SECOND
_CLOCK = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200)
_PARTS = tuple(factor * int(10**power) for power in range(6) for factor in (1, 2, 5))
STEPS: tuple[int, ...] = (*_PARTS, *(step * SECOND for step in _CLOCK), DAY)
"""Distances of grid lines of times; beyond, whole days."""


def draw(bars: list[dict[str, Any]]) -> str:
    """Draw the sample of a result; an empty sample gives an empty text."""
    if not bars:
        return ""
    points = [span[end] for bar in bars for span in bar["spans"] for end in ("start", "end") if span[end] is not None]
    low, high = min(points), max(points)
    high = high if high > low else low + 1
    has_open = any(span["end"] is None for bar in bars for span in bar["spans"])
    width = (WIDTH - LABEL - 12) / (1.06 if has_open else 1.0)
    height = TOP + LANE * len(bars) + 8
    parts = [f'<svg class="timeline" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="periods of a sample">']
    parts += _grid(low, high, width, height, is_time=bars[0]["spans"][0]["time"])
    for lane, bar in enumerate(bars):
        parts += _lane(bar, TOP + LANE * lane, low, high, width)
    return "\n".join([*parts, "</svg>"])


def _across(at: int, low: int, high: int, width: float) -> float:
    """Where an instant lies in the picture; the quotient of whole numbers is exact at any size."""
    return LABEL + (at - low) / (high - low) * width


def _lane(bar: dict[str, Any], top: float, low: int, high: int, width: float) -> list[str]:
    label = bar["label"] if len(bar["label"]) <= 38 else bar["label"][:37] + "…"
    parts = [f'<text class="label" x="{LABEL - 10}" y="{top + 11}">{escape(label)}</text>']
    for number, span in enumerate(bar["spans"][:2]):
        left = _across(span["start"], low, high, width)
        right = WIDTH - 6 if span["end"] is None else _across(span["end"], low, high, width)
        tall, shift = (8, 2) if number == 0 else (4, 10)
        kind = ("own", "other")[number] + (" open" if span["end"] is None else "")
        parts.append(
            f'<rect class="{kind}" x="{left:.1f}" y="{top + shift}" width="{max(right - left, 2):.1f}" height="{tall}" '
            f'rx="2"><title>{escape(bar["label"])}: {escape(span["text"])}</title></rect>'
        )
    return parts


def _grid(low: int, high: int, width: float, height: float, *, is_time: bool) -> list[str]:
    parts = []
    for at in grid(low, high, is_time=is_time):
        x = _across(at, low, high, width)
        parts.append(f'<line class="grid" x1="{x:.1f}" y1="{TOP - 6}" x2="{x:.1f}" y2="{height - 4}"/>')
        label = escape(_tick(at, step_of(high - low, is_time=is_time), is_time))
        parts.append(f'<text class="tick" x="{x:.1f}" y="{TOP - 11}">{label}</text>')
    return parts


def grid(low: int, high: int, *, is_time: bool) -> range:
    """Where grid lines stand: on multiples of the step, at most seven of them.

    >>> list(grid(3, 17, is_time=False))
    [5, 10, 15]
    """
    step = step_of(high - low, is_time=is_time)
    return range(-(-low // step) * step, high + 1, step)


def step_of(spread: int, *, is_time: bool) -> int:
    """The distance of grid lines that gives about six of them: a whole number, and at least one.

    >>> step_of(1, is_time=False), step_of(100, is_time=False), step_of(2**64, is_time=False)
    (1, 20, 5000000000000000000)
    """
    wanted = max(1, -(-spread // 6))
    if is_time and wanted <= DAY:
        return next(step for step in STEPS if step >= wanted)
    unit = DAY if is_time else 1
    size = int(10 ** (len(str(-(-wanted // unit))) - 1))
    return next(factor * size * unit for factor in (1, 2, 5, 10) if factor * size * unit >= wanted)


def _tick(at: int, step: int, is_time: bool) -> str:
    if not is_time:
        return f"{at:,}"
    try:
        moment = datetime(1970, 1, 1) + timedelta(microseconds=at)
    except OverflowError:
        return f"{at // SECOND:,} s"
    if step >= DAY:
        return moment.strftime("%Y-%m-%d")
    if step < SECOND:
        return moment.strftime("%H:%M:%S.%f")
    return moment.strftime("%m-%d %H:%M" if step >= 60 * SECOND else "%H:%M:%S")
