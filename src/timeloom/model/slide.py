"""Slides: where a window over one time axis begins, how long it is, and how it moves."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Literal

from timeloom.errors import UsageError, did_you_mean, shown
from timeloom.model.ticks import Span, parse_span

Instant = int | date | datetime | str
"""A point on an axis: a tick, a date, a timestamp, or its ISO text."""

Meaning = Literal["snapshot", "visible", "began"]
Meanings = Meaning | tuple[Meaning, Meaning]
"""Which rows a window holds: on both axes alike, or first for system time, then for application time."""

MOST_STEPS = 100_000_000
MEANINGS: tuple[Meaning, ...] = ("snapshot", "visible", "began")


@dataclass(frozen=True)
class Slide:
    """A window over one time axis, and its movement from step to step.

    Parameters
    ----------
    start
        The first instant of the initial window: an int, a date, a timestamp, or the ISO text of one.
    range
        How far the last instant lies after the first: ``range=4`` covers five ticks, both ends included.
        An int (ticks), a ``timedelta``, or text such as ``"30 days"``; 0 is a single instant.
    slide
        How far the window moves when its axis slides; negative moves backward, 0 stands still.
    start_slide
        How far the window's first instant moves, if not as far as its last: ``slide=1, start_slide=0`` is a window
        that grows.

    Examples
    --------
    >>> Slide(start=100, range=4, slide=1)
    Slide(start=100, range=4, slide=1, start_slide=None)
    >>> Slide(start="2014-03-20", range="60 days", slide="1 day").range
    datetime.timedelta(days=60)
    """

    start: Instant
    range: Span | str
    slide: Span | str = 1
    start_slide: Span | str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.start, bool) or not isinstance(self.start, int | date | str):
            raise UsageError(
                f"Slide start={shown(self.start)} is no instant; give an int, a date, a timestamp or its ISO text"
            )
        object.__setattr__(self, "range", parse_span(self.range, "range"))
        object.__setattr__(self, "slide", parse_span(self.slide, "slide"))
        if self.start_slide is not None:
            object.__setattr__(self, "start_slide", parse_span(self.start_slide, "start_slide"))
        least = timedelta(0) if isinstance(self.range, timedelta) else 0
        if self.range < least:  # type: ignore[operator]
            raise UsageError(
                f"Slide range={self.range!r} leaves no window; expected 0 or more: range=0 is a single instant, "
                "range=1 covers two, both ends included"
            )


def check_ratio(ratio: tuple[int, int]) -> tuple[int, int]:
    """Return the ratio of system slides to application slides as two ints, or say what is wrong with it."""
    parts = tuple(ratio) if isinstance(ratio, tuple | list) else ()
    if len(parts) != 2 or not all(isinstance(part, int) and not isinstance(part, bool) for part in parts):
        raise UsageError(f"ratio={shown(ratio)} is no ratio; give two ints, (system slides, application slides)")
    if min(parts) < 0 or parts == (0, 0):
        raise UsageError(
            f"ratio={parts[0]}:{parts[1]} never slides; expected two counts of at least 0, one of them above 0: "
            "(1, 0) slides system time only, (0, 1) application time only"
        )
    return parts[0], parts[1]


def check_steps(steps: int) -> int:
    """Return the number of slides after the initial window, or say what is wrong with it."""
    if isinstance(steps, bool) or not isinstance(steps, int) or not 0 <= steps <= MOST_STEPS:
        raise UsageError(f"steps={shown(steps)} is no number of slides; give an int from 0 to {MOST_STEPS:,}")
    return steps


def check_meaning(meaning: Meanings) -> tuple[Meaning, Meaning]:
    """Return the meaning on each axis: one for both, or a pair of them, system time first."""
    if isinstance(meaning, str):
        return _one_meaning(meaning), _one_meaning(meaning)
    if not isinstance(meaning, tuple | list) or len(meaning) != 2:
        raise UsageError(
            f"meaning={shown(meaning)} is no meaning; give one of {', '.join(MEANINGS)}, or two: of system time and of "
            "application time"
        )
    return _one_meaning(meaning[0]), _one_meaning(meaning[1])


def _one_meaning(meaning: str) -> Meaning:
    for known in MEANINGS:
        if meaning == known:
            return known
    raise UsageError(f"meaning={shown(meaning)} is unknown. {did_you_mean(meaning, MEANINGS)}")
