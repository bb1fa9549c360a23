"""Windows of time that a caller gives: pairs count only if they share time within one.

Two periods that intersect do so within a window just if each of them reaches into it. So a window asks nothing of
pairs, only of rows: those outside match nothing, as if their key were null.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from timeloom.engines.tables.keys import NO_KEY, Keys
from timeloom.engines.tables.ticks import Ticks, TimeType
from timeloom.errors import InvalidInputError, UsageError
from timeloom.model.allen import intersects
from timeloom.model.box import Box
from timeloom.model.ticks import MAX_TICK

Bounds = tuple[int, int]


def window_bounds(window: "tuple[Any, Any] | None", kind: TimeType, boxes: tuple[Box, ...]) -> Bounds | None:
    """The first tick of a window and the first one behind it; refused for pairs that may share no time."""
    if window is None:
        return None
    begin = kind.ticks_of(window[0], "window begin")
    end = MAX_TICK if window[1] is None else kind.ticks_of(window[1], "window end")
    if end <= begin:
        raise InvalidInputError(f"the window [{window[0]}, {window[1]}) is empty; expected a later end")
    if not all(box.implies(shared) for box in boxes for shared in intersects.terms):
        raise UsageError(
            "window= keeps pairs that share time within it, but the relation also holds for rows that share none; "
            "use 'intersects' or a relation within it, or filter the tables"
        )
    return begin, end


def outside(window: Bounds, starts: Ticks, ends: Ticks) -> NDArray[np.bool_]:
    """Mark the periods that do not reach into a window."""
    return np.asarray((starts >= window[1]) | (ends <= window[0]))


def keys_within(window: Bounds, starts: Ticks, ends: Ticks, keys: Keys | None) -> Keys:
    """The keys of rows, none for those outside of a window."""
    found = np.zeros(starts.size, np.int64) if keys is None else keys
    return np.where(outside(window, starts, ends), NO_KEY, found)
