"""Sliding-window queries on two time axes: the windows of all steps, and the run of steps that each row is inside.

Whatever the meaning of "inside", it is four comparisons of a row with the window of a step:

    sys_start <= sys_upper,  sys_key > sys_lower,  app_start <= app_upper,  app_key > app_lower

where a key is the row's end, or its start if rows are wanted that began inside. Each bound moves in one direction
from step to step, so each comparison holds for all steps up to some step or for all steps from some step on, and all
four together hold for one contiguous run of steps. (Bitemporal sliding windows thesis, chapter 4.)
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.jit import compiled
from timeloom.model.ticks import FOREVER, MAX_TICK, MIN_TICK, saturate

Ticks = NDArray[np.int64]
Flags = NDArray[np.bool_]

SNAPSHOT, VISIBLE, BEGAN = range(3)
Code = int | tuple[int, int]
"""What "inside" means: the same on both axes, or on system time and on application time."""

SYS_UPPER, SYS_LOWER, APP_UPPER, APP_LOWER = range(4)


class Track(NamedTuple):
    """The initial window on one axis, both ends included, and how far each end moves at a slide.

    These may lie beyond the axis; where they stand at each step saturates.
    """

    first: int
    last: int
    first_pace: int
    last_pace: int


class Windows(NamedTuple):
    """The first and last instant of each step's window on both axes."""

    sys_first: Ticks
    sys_last: Ticks
    app_first: Ticks
    app_last: Ticks


def windows(sys: Track, app: Track, ratio: tuple[int, int], steps: int) -> Windows:
    """Lay out all steps: in turn so many slides of system time, then so many of application time."""
    sys_slides, app_slides = slide_counts(ratio, steps)
    return Windows(
        positions(sys.first, sys.first_pace, sys_slides),
        positions(sys.last, sys.last_pace, sys_slides),
        positions(app.first, app.first_pace, app_slides),
        positions(app.last, app.last_pace, app_slides),
    )


def slide_counts(ratio: tuple[int, int], steps: int) -> tuple[Ticks, Ticks]:
    """Count the slides of each axis up to each step, the initial window being step 0."""
    if steps == 0:
        return np.zeros(1, np.int64), np.zeros(1, np.int64)
    step = np.arange(steps + 1, dtype=np.int64)
    rounds, rest = np.divmod(step, ratio[0] + ratio[1])
    sys_slides = rounds * ratio[0] + np.minimum(rest, ratio[0])
    return sys_slides, step - sys_slides


def positions(origin: int, pace: int, slides: Ticks) -> Ticks:
    """Where a window's end stands after so many slides; saturates."""
    if slides[-1] == 0:
        return np.full(slides.size, saturate(origin), np.int64)
    if saturate(origin) == origin and MIN_TICK <= origin + pace * int(slides[-1]) <= MAX_TICK:
        return origin + pace * slides
    return np.array([saturate(origin + pace * count) for count in slides.tolist()], dtype=np.int64)


def per_axis(meaning: Code) -> tuple[int, int]:
    """What "inside" means on each axis."""
    return meaning if isinstance(meaning, tuple) else (meaning, meaning)


def bounds_of(steps: Windows, meaning: Code) -> Ticks:
    """Reduce the windows to the four bounds of each step.

    Upper bounds stay below FOREVER, so an open end is after every bound and a start at FOREVER is never reached.
    """
    sys, app = per_axis(meaning)
    sys_lower = _lower(sys, steps.sys_first, steps.sys_last)
    app_lower = _lower(app, steps.app_first, steps.app_last)
    return np.minimum(np.stack([steps.sys_last, sys_lower, steps.app_last, app_lower]), FOREVER - 1)


def _lower(meaning: int, first: Ticks, last: Ticks) -> Ticks:
    if meaning == BEGAN:
        return before(first)
    return last if meaning == SNAPSHOT else first


def before(ticks: Ticks) -> Ticks:
    """The instants just before; saturates."""
    return np.maximum(ticks, MIN_TICK + 1) - 1


def rising(bounds: Ticks) -> Flags:
    """Tell which of the four bounds rise from step to step; the others fall."""
    return np.asarray(bounds[:, 0] <= bounds[:, -1])


@compiled
def split(values: Ticks, rises: bool, instant: int) -> int:
    """Count the leading steps below the instant if the bound rises, or not below it if the bound falls."""
    low, high = 0, values.size
    while low < high:
        middle = (low + high) >> 1
        if (values[middle] < instant) == rises:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def run(bounds: Ticks, rises: Flags, sys_start: int, sys_key: int, app_start: int, app_key: int) -> tuple[int, int]:
    """Find the run of steps that a row is inside: from the first number up to, not including, the second."""
    last = bounds.shape[1] - 1
    enter, leave = 0, last + 1
    for bound in range(4):
        upper = bound % 2 == 0
        if bound < 2:
            instant = sys_start if upper else sys_key
        else:
            instant = app_start if upper else app_key
        values, rise = bounds[bound], rises[bound]
        least, most = (values[0], values[last]) if rise else (values[last], values[0])
        if upper:
            if instant > most:
                return 0, 0
            if instant <= least:
                continue
        else:
            if instant <= least:
                return 0, 0
            if instant > most:
                continue
        at = split(values, rise, instant)
        if upper == rise:
            enter = max(enter, at)
        else:
            leave = min(leave, at)
    if enter >= leave:
        return 0, 0
    return enter, leave


@compiled
def runs(
    bounds: Ticks,
    rises: Flags,
    sys_start: Ticks,
    sys_key: Ticks,
    app_start: Ticks,
    app_key: Ticks,
    enter: Ticks,
    leave: Ticks,
    begin: int,
    end: int,
) -> None:
    """Write the runs of the rows begin..end; a row that is never inside gets an empty one."""
    for row in range(begin, end):
        enter[row], leave[row] = run(bounds, rises, sys_start[row], sys_key[row], app_start[row], app_key[row])


@compiled
def runs_of(
    rows: Ticks,
    bounds: Ticks,
    rises: Flags,
    sys_start: Ticks,
    sys_key: Ticks,
    app_start: Ticks,
    app_key: Ticks,
) -> tuple[Ticks, Ticks]:
    """Find the runs of the given rows."""
    enter, leave = np.empty(rows.size, np.int64), np.empty(rows.size, np.int64)
    for i in range(rows.size):
        row = rows[i]
        enter[i], leave[i] = run(bounds, rises, sys_start[row], sys_key[row], app_start[row], app_key[row])
    return enter, leave


@compiled
def by_step(rows: Ticks, at: Ticks, first: int, last: int) -> tuple[Ticks, Ticks]:
    """Group rows by step, steps first..last: the rows in order of steps, and where each step's rows begin."""
    offsets = np.zeros(last - first + 2, np.int64)
    for i in range(rows.size):
        if first <= at[i] <= last:
            offsets[at[i] - first + 1] += 1
    for step in range(1, offsets.size):
        offsets[step] += offsets[step - 1]
    grouped, cursor = np.empty(offsets[-1], np.int64), offsets.copy()
    for i in range(rows.size):
        if first <= at[i] <= last:
            grouped[cursor[at[i] - first]] = rows[i]
            cursor[at[i] - first] += 1
    return grouped, offsets
