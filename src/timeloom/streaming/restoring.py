"""Whether a stored state of a streaming join can be one: then no sweep reads outside its arrays or runs for ever."""

import numpy as np

from timeloom.kernels.streaming.arrival import LATE
from timeloom.kernels.streaming.gapless import END, KEY, MARK, START
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
from timeloom.streaming.state_layout import (
    CLOCK,
    LEFT_HANDLE,
    NUMBERS,
    OF_KEY,
    RIGHT_HANDLE,
    SHAPES,
    Array,
    State,
    Tables,
    together,
)
from timeloom.streaming.storage import malformed

MOST_HANDLES = 1 << 62
"""More rows than any stream has had: the next handle stays on the axis."""


def sound_arrays(state: State, arrivals: tuple[str, str]) -> State:
    """The parts of a state for sides that arrive in these ways, or a StorageError that says what cannot be."""
    _check(together({0: shaped(state)}), arrivals)
    return state


def shaped(arrays: State) -> State:
    """The parts of a state, if they have the shapes of such."""
    if len(arrays) != len(SHAPES):
        raise malformed(f"it has {len(arrays)} parts, expected {len(SHAPES)}")
    for array, (name, shape) in zip(arrays, SHAPES.items(), strict=True):
        _check_shape(array, name, shape)
    return arrays


def sound_tables(arrays: list[Array], arrivals: tuple[str, str]) -> Tables:
    """The same for the states of all keys of a join."""
    if len(arrays) != len(Tables._fields):
        raise malformed(f"it has {len(arrays)} parts for all keys, expected {len(Tables._fields)}")
    tables = Tables(*arrays)
    _check_shape(tables.keys, "keys", (None,))
    _check_shape(tables.numbers, "numbers", (tables.keys.size, NUMBERS))
    for name, table in zip(Tables._fields[2:], tables[2:], strict=True):
        columns = next(size for size in SHAPES[name] if size is not None)
        _check_shape(table, name, (1 + columns, None))
    keys, sizes = tables.keys, tables.keys.size
    _require(bool((keys >= 0).all() and (keys[1:] > keys[:-1]).all()), "keys are out of order")
    for table in tables[2:]:
        own = table[OF_KEY]
        _require(bool(((own >= 0) & (own < sizes)).all() and (own[1:] >= own[:-1]).all()), "a row is of no key")
    _check(tables, arrivals)
    return tables


def _check_shape(array: Array, name: str, shape: tuple[int | None, ...]) -> None:
    fits = len(shape) == array.ndim and all(
        wanted in (None, found) for wanted, found in zip(shape, array.shape, strict=True)
    )
    if not fits:
        raise malformed(f"{name} has the shape {array.shape}")


def _check(tables: Tables, arrivals: tuple[str, str]) -> None:
    """Refuse states of keys that cannot be."""
    _check_numbers(tables.numbers)
    sides = ((tables.left_held, tables.left_opened), (tables.right_held, tables.right_opened))
    for side, ((held, opened), live) in enumerate(zip(sides, (tables.left_live, tables.right_live), strict=True)):
        handles = tables.numbers[:, LEFT_HANDLE + side]
        check_held(held[1:], arrivals[side], tables.numbers[held[OF_KEY], CLOCK])
        check_opened(opened[1:].T, arrivals[side], handles[opened[OF_KEY]], opened[OF_KEY])
        _check_live(live[1:], handles[live[OF_KEY]], live[OF_KEY])
    _check_plans(tables.plans, tables.numbers)
    _check_waiters(tables)


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise malformed(what)


def _check_numbers(numbers: Array) -> None:
    clock, left, right, before, far, *clocks = numbers.T
    some = numbers[:, [LEFT_HANDLE, RIGHT_HANDLE]]
    _require(bool(((some >= 0) & (some < MOST_HANDLES)).all()), f"{left} and {right} are no numbers of rows")
    _require(
        bool(((before <= clock) & (clock < MAX_TICK)).all()),
        f"the clock stands at {clock}, the last work was at {before}",
    )
    _require(bool(((far == 0) | (far == 1)).all()), f"{far} is no mark")
    _require(
        all(bool(((clock <= own) & (own < MAX_TICK)).all()) for own in clocks),
        "the clock of a side stands before that of both",
    )


def check_held(held: Array, arrival: str, clock: int | Array) -> None:
    """Refuse events that cannot be held back."""
    _, times, starting, ends, numbers = held
    known = ends if arrival == AT_END else times
    _require(bool((known > clock).all()), "an event is held back whose instant is complete")
    least = 0 if arrival == EVENTS else 1
    _require(bool(((starting >= least) & (starting <= 1)).all()), "an event is neither a start nor an end")
    _require(bool(((numbers >= LATE) & (numbers < MOST_HANDLES)).all()), "an event has no number that can be")


def check_opened(opened: Array, arrival: str, handles: int | Array, keys: Array | None = None) -> None:
    """Refuse rows that cannot be open; those of each key are told apart by their numbers and ids."""
    own = np.zeros(len(opened), np.int64) if keys is None else keys
    _require(arrival == EVENTS or not len(opened), "a row is open on a side whose rows arrive whole")
    _require(_are_handles(opened[:, OPEN_HANDLE], handles, own), "open rows share a number, or have none")
    _require(_once_a_key(opened[:, OPEN_ID], own), "two open rows have one id")
    _require(bool((opened[:, OPEN_START] < MAX_TICK).all()), "a row starts at the end of the axis")


def _check_live(live: Array, handles: Array, keys: Array) -> None:
    _require(_are_handles(live[KEY], handles, keys), "rows share a number, or have none")
    _require(bool(((live[MARK] >= 0) & (live[MARK] <= WAITING)).all()), "a row has an unknown mark")
    _require(bool((live[START] < live[END]).all()), "a row ends before it starts")


def _are_handles(found: Array, handles: int | Array, keys: Array) -> bool:
    in_range = bool(((found >= 0) & (found < handles)).all())
    return in_range and _once_a_key(found, keys)


def _once_a_key(values: Array, keys: Array) -> bool:
    """Whether no key has a value twice."""
    order = np.lexsort((values, keys))
    values, keys = values[order], keys[order]
    return not bool(((values[1:] == values[:-1]) & (keys[1:] == keys[:-1])).any())


def _check_plans(plans: Array, numbers: Array) -> None:
    own, times, what, sides, handles = plans[[OF_KEY, 1 + TIME, 1 + WHAT, 1 + SIDE, 1 + HANDLE]]
    _require(bool(((what >= FIRE) & (what <= FIRE | CHECK | EXPIRE)).all()), "something unknown is planned")
    _require(bool(((sides == 0) | (sides == 1)).all()), "something is planned for no side")
    in_time = (times > numbers[own, CLOCK]) & (times < MAX_TICK)
    _require(bool(in_time.all()), "something is planned for an instant that is complete")
    limits = numbers[own, LEFT_HANDLE + sides]
    _require(bool(((handles >= 0) & (handles < limits)).all()), "something is planned for no row")
    firsts = np.searchsorted(own, own)
    parents = firsts + np.maximum(np.arange(own.size) - firsts - 1, 0) // 2
    _require(bool((times[parents] <= times).all()), "plans are out of order")


def _check_waiters(tables: Tables) -> None:
    own, waiters = tables.waiters[OF_KEY], tables.waiters[1:]
    sides = waiters[WAITING_SIDE]
    _require(bool(((sides == 0) | (sides == 1)).all()), "a row waits on no side")
    for side, live in enumerate((tables.left_live, tables.right_live)):
        waiting, told = live[:2, live[1 + MARK] == WAITING], np.stack([own, waiters[WAITER]])[:, sides == side]
        _require(
            np.array_equal(_in_order(told), _in_order(waiting)), "the rows that wait are not those that are marked so"
        )
    in_time = waiters[UNTIL] >= tables.numbers[own, CLOCK]
    _require(bool(in_time.all()), "a row waits for an instant that is complete")
    others = tables.numbers[own, RIGHT_HANDLE - sides]
    _require(bool(((waiters[WITNESS] >= 0) & (waiters[WITNESS] < others)).all()), "a row waits for no row")


def _in_order(rows: Array) -> Array:
    return rows[:, np.lexsort(rows[::-1])]
