"""Slides in the user's words, to windows in ticks."""

from functools import partial

import numpy as np
import pyarrow as pa

from timeloom.engines.resources.threads import chunks, in_parallel
from timeloom.engines.tables.ticks import TimeType
from timeloom.engines.windows.history import History
from timeloom.errors import UsageError
from timeloom.kernels.bitemporal.windows import (
    BEGAN,
    SNAPSHOT,
    VISIBLE,
    Code,
    Ticks,
    Track,
    Windows,
    bounds_of,
    per_axis,
    rising,
    runs,
    windows,
)
from timeloom.model.slide import Meaning, Meanings, Slide, check_meaning, check_ratio, check_steps
from timeloom.model.ticks import FOREVER, Axis, Span, parse_span, saturate, ticks_of

MEANING_CODES: dict[Meaning, int] = {"snapshot": SNAPSHOT, "visible": VISIBLE, "began": BEGAN}


def meaning_code(meaning: Meanings) -> Code:
    """What "inside" means, as kernels have it."""
    sys, app = check_meaning(meaning)
    return MEANING_CODES[sys], MEANING_CODES[app]


def track_of(slide: Slide, kind: TimeType, option: str) -> Track:
    """Read a slide as ticks on the axis of the column that it moves over."""
    if not isinstance(slide, Slide):
        raise UsageError(f"{option}={slide!r} is no slide; give tl.Slide(start, range, slide)")
    start = slide.start
    if kind.axis is Axis.INTEGER and isinstance(start, int):
        first = saturate(start)
    else:
        first = kind.ticks_of(start, f"{option} start")
    length = _span(slide.range, kind, f"{option} range")
    pace = _span(slide.slide, kind, f"{option} slide")
    start_pace = pace if slide.start_slide is None else _span(slide.start_slide, kind, f"{option} start_slide")
    return Track(first, first + length, start_pace, pace)


def lay_out(
    sys: Slide,
    app: Slide,
    ratio: tuple[int, int],
    steps: int,
    sys_type: TimeType,
    app_type: TimeType,
) -> Windows:
    """Lay out the windows of all steps, and refuse windows that vanish on the way."""
    planned = windows(
        track_of(sys, sys_type, "sys"), track_of(app, app_type, "app"), check_ratio(ratio), check_steps(steps)
    )
    _refuse_vanishing("sys", planned.sys_first, planned.sys_last)
    _refuse_vanishing("app", planned.app_first, planned.app_last)
    return planned


def _span(span: Span | str, kind: TimeType, option: str) -> int:
    return ticks_of(parse_span(span, option), kind.axis)


def _refuse_vanishing(option: str, first: Ticks, last: Ticks) -> None:
    vanished = first > last
    if vanished.any():
        raise UsageError(
            f"the {option} window vanishes at step {vanished.argmax()}: its start has passed its end, because "
            "start_slide is above slide; take fewer steps, or paces that keep the window open"
        )


def written_windows(ticks: Ticks, kind: TimeType, column: str) -> pa.Array:
    """Ends of windows as a column of a time type, in its finest unit if they need it; what does not fit is an error."""
    fine = kind.finest() if (ticks % kind.grain).any() else kind
    return fine.to_arrow(ticks, column=column)


def step_runs(history: History, steps: Windows, meaning: Code, threads: int) -> tuple[Ticks, Ticks]:
    """The run of steps that each row is inside, empty for rows that never are. The same for every engine."""
    count = history.sys_start.size
    never = (history.sys_end <= history.sys_start) | (history.app_end <= history.app_start)
    app_start = np.where(never, FOREVER, history.app_start) if never.any() else history.app_start
    sys, app = per_axis(meaning)
    sys_key = history.sys_start if sys == BEGAN else history.sys_end
    keys = (history.sys_start, sys_key, app_start, app_start if app == BEGAN else history.app_end)
    bounds = bounds_of(steps, meaning)
    enter, leave = np.empty(count, np.int64), np.empty(count, np.int64)
    parts = [
        partial(runs, bounds, rising(bounds), *keys, enter, leave, begin, end) for begin, end in chunks(count, threads)
    ]
    in_parallel(parts, threads)
    return enter, leave
