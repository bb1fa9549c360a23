"""Whether a stored state of a streaming join can be one: then no sweep reads outside its arrays or runs for ever."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.order import distinct
from timeloom.kernels.streaming.arrival import LATE
from timeloom.kernels.streaming.gapless import AFTER, END, KEY, MARK, START
from timeloom.kernels.streaming.layout import (
    CHECK,
    EXPIRE,
    FIRE,
    HANDLE,
    SIDE,
    TIME,
    UNTIL,
    WAITER,
    WAITING,
    WAITING_SIDE,
    WHAT,
    WITNESS,
)
from timeloom.kernels.streaming.open_rows import HANDLE as OPEN_HANDLE
from timeloom.kernels.streaming.open_rows import ID as OPEN_ID
from timeloom.kernels.streaming.open_rows import START as OPEN_START
from timeloom.model.ticks import MAX_TICK
from timeloom.streaming.deciding import AT_END, EVENTS
from timeloom.streaming.storage import malformed

Array = NDArray[np.int64]

MOST_HANDLES = 1 << 62
"""More rows than any stream has had: the next handle stays on the axis."""

CLOCK, LEFT_HANDLE, RIGHT_HANDLE, BEFORE, FAR, LEFT_CLOCK, RIGHT_CLOCK = range(7)
NUMBERS = 7
"""The single numbers of a state: the last complete instant, the next handle of either side, the last instant at work,
whether a row has come from near the ends of the axis, and the last complete instant of either side."""


class Stored(NamedTuple):
    """The parts of a stored state, in their order; pairs of arrays are those of the left and of the right side."""

    numbers: Array
    left_held: Array
    right_held: Array
    left_opened: Array
    right_opened: Array
    left_live: Array
    right_live: Array
    plans: Array
    waiters: Array


SHAPES: dict[str, tuple[int | None, ...]] = {
    "numbers": (NUMBERS,),
    "left_held": (5, None),
    "right_held": (5, None),
    "left_opened": (None, 3),
    "right_opened": (None, 3),
    "left_live": (AFTER, None),
    "right_live": (AFTER, None),
    "plans": (None, 4),
    "waiters": (4, None),
}


def sound_arrays(arrays: list[Array], arrivals: tuple[str, str]) -> Stored:
    """The parts of a state for sides that arrive in these ways, or a StorageError that says what cannot be."""
    if len(arrays) != len(SHAPES):
        raise malformed(f"it has {len(arrays)} parts, expected {len(SHAPES)}")
    for array, (name, shape) in zip(arrays, SHAPES.items(), strict=True):
        fits = len(shape) == array.ndim and all(
            wanted in (None, found) for wanted, found in zip(shape, array.shape, strict=True)
        )
        if not fits:
            raise malformed(f"{name} has the shape {array.shape}")
    stored = Stored(*arrays)
    _check_numbers(stored)
    sides = ((stored.left_held, stored.left_opened), (stored.right_held, stored.right_opened))
    for side, ((held, opened), live) in enumerate(zip(sides, (stored.left_live, stored.right_live), strict=True)):
        handles = int(stored.numbers[LEFT_HANDLE + side])
        check_held(held, arrivals[side], int(stored.numbers[CLOCK]))
        check_opened(opened, arrivals[side], handles)
        _check_live(live, handles)
    _check_plans(stored)
    _check_waiters(stored)
    return stored


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise malformed(what)


def _check_numbers(stored: Stored) -> None:
    clock, left, right, before, far, *clocks = stored.numbers.tolist()
    _require(min(left, right) >= 0 and max(left, right) < MOST_HANDLES, f"{left} and {right} are no numbers of rows")
    _require(before <= clock < MAX_TICK, f"the clock stands at {clock}, the last work was at {before}")
    _require(far in (0, 1), f"{far} is no mark")
    _require(clock <= min(clocks) and max(clocks) < MAX_TICK, "the clock of a side stands before that of both")


def check_held(held: Array, arrival: str, clock: int) -> None:
    """Refuse events that cannot be held back."""
    _, times, starting, ends, numbers = held
    known = ends if arrival == AT_END else times
    _require(bool((known > clock).all()), "an event is held back whose instant is complete")
    least = 0 if arrival == EVENTS else 1
    _require(bool(((starting >= least) & (starting <= 1)).all()), "an event is neither a start nor an end")
    _require(bool(((numbers >= LATE) & (numbers < MOST_HANDLES)).all()), "an event has no number that can be")


def check_opened(opened: Array, arrival: str, handles: int) -> None:
    """Refuse rows that cannot be open."""
    _require(arrival == EVENTS or not len(opened), "a row is open on a side whose rows arrive whole")
    _require(_are_handles(opened[:, OPEN_HANDLE], handles), "open rows share a number, or have none")
    _require(distinct(opened[:, OPEN_ID]).size == len(opened), "two open rows have one id")
    _require(bool((opened[:, OPEN_START] < MAX_TICK).all()), "a row starts at the end of the axis")


def _check_live(live: Array, handles: int) -> None:
    _require(_are_handles(live[KEY], handles), "rows share a number, or have none")
    _require(bool(((live[MARK] >= 0) & (live[MARK] <= WAITING)).all()), "a row has an unknown mark")
    _require(bool((live[START] < live[END]).all()), "a row ends before it starts")


def _are_handles(found: Array, handles: int) -> bool:
    in_range = bool(((found >= 0) & (found < handles)).all())
    return in_range and distinct(found).size == found.size


def _check_plans(stored: Stored) -> None:
    plans, clock = stored.plans, int(stored.numbers[CLOCK])
    times, what, sides = plans[:, TIME], plans[:, WHAT], plans[:, SIDE]
    _require(bool(((what >= FIRE) & (what <= FIRE | CHECK | EXPIRE)).all()), "something unknown is planned")
    _require(bool(((sides == 0) | (sides == 1)).all()), "something is planned for no side")
    _require(bool(((times > clock) & (times < MAX_TICK)).all()), "something is planned for an instant that is complete")
    limits = stored.numbers[[LEFT_HANDLE, RIGHT_HANDLE]][sides]
    _require(bool(((plans[:, HANDLE] >= 0) & (plans[:, HANDLE] < limits)).all()), "something is planned for no row")
    parents = (np.arange(1, len(plans)) - 1) // 2
    _require(bool((times[parents] <= times[1:]).all()), "plans are out of order")


def _check_waiters(stored: Stored) -> None:
    waiters, sides = stored.waiters, stored.waiters[WAITING_SIDE]
    _require(bool(((sides == 0) | (sides == 1)).all()), "a row waits on no side")
    for side, live in enumerate((stored.left_live, stored.right_live)):
        waiting = np.sort(live[KEY][live[MARK] == WAITING])
        told = np.sort(waiters[WAITER][sides == side])
        _require(np.array_equal(told, waiting), "the rows that wait are not those that are marked so")
    _require(bool((waiters[UNTIL] >= stored.numbers[CLOCK]).all()), "a row waits for an instant that is complete")
    others = stored.numbers[[RIGHT_HANDLE, LEFT_HANDLE]][sides]
    _require(bool(((waiters[WITNESS] >= 0) & (waiters[WITNESS] < others)).all()), "a row waits for no row")
