"""What is stored of a streaming join: the parts of one key, and those of all keys as tables."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.streaming.gapless import AFTER

Array = NDArray[np.int64]

CLOCK, LEFT_HANDLE, RIGHT_HANDLE, BEFORE, FAR, LEFT_CLOCK, RIGHT_CLOCK = range(7)
NUMBERS = 7
"""The single numbers of a state: the last complete instant, the next handle of either side, the last instant at work,
whether a row has come from near the ends of the axis, and the last complete instant of either side."""


State = list[Array]
"""The stored state of one key: its parts in the order of ``SHAPES``."""

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
"""The parts of a state, and their shapes; pairs of arrays are those of the left and of the right side."""

ROW_WISE = ("left_opened", "right_opened", "plans")
"""The parts of one key that have a line for each row; tables have a column for it."""

OF_KEY = 0
"""The line of a table that says of which key a row is: the position of that key."""


class Tables(NamedTuple):
    """The parts of all keys, which come in the order of their numbers: in each table, rows of a key lie side by side.

    ``numbers`` has a line for each key. Each other part is that of one key (``SHAPES``) with a line in front of it,
    ``OF_KEY``.
    """

    keys: Array
    numbers: Array
    left_held: Array
    right_held: Array
    left_opened: Array
    right_opened: Array
    left_live: Array
    right_live: Array
    plans: Array
    waiters: Array


def together(states: Mapping[int, State]) -> Tables:
    """The states of keys as tables."""
    keys = sorted(states)
    found = [np.array(keys, np.int64), np.array([states[key][0] for key in keys], np.int64).reshape(-1, NUMBERS)]
    for part, (name, shape) in enumerate(SHAPES.items()):
        if name != "numbers":
            lines = next(size for size in shape if size is not None)
            arrays = [states[key][part].T if name in ROW_WISE else states[key][part] for key in keys]
            of_key = np.repeat(np.arange(len(keys)), [array.shape[1] for array in arrays])
            rows = np.concatenate([np.empty((lines, 0), np.int64), *arrays], axis=1)
            found.append(np.concatenate([of_key[None], rows]))
    return Tables(*found)


def chosen(tables: Tables, wanted: NDArray[np.bool_]) -> Tables:
    """The tables of some keys only."""
    positions = np.cumsum(wanted) - 1
    found = [tables.keys[wanted], tables.numbers[wanted]]
    for table in tables[2:]:
        some = table[:, wanted[table[OF_KEY]]]
        some[OF_KEY] = positions[some[OF_KEY]]
        found.append(some)
    return Tables(*found)


def apart(tables: Tables) -> dict[int, State]:
    """The state of each key."""
    found: list[list[Array]] = [list(tables.numbers)]
    for name, table in zip(Tables._fields[2:], tables[2:], strict=True):
        bounds = np.searchsorted(table[OF_KEY], np.arange(1, tables.keys.size))
        arrays = np.split(table[1:], bounds, axis=1)
        found.append([np.ascontiguousarray(array.T if name in ROW_WISE else array) for array in arrays])
    return {key: parts for key, *parts in zip(tables.keys.tolist(), *found, strict=False)}
