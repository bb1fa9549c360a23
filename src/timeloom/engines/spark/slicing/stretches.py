"""Buckets that are cut, laid end to end: each task takes as long a stretch of them as it has room beside what it holds.

So all tasks have as much, and there are hardly more slices than tasks.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SLIVER = 1 / 64
"""A stretch of less than such a part of what a task has on average is left to the task beside it."""


class Stretches(NamedTuple):
    """Of a bucket, the task of its first slice, and which parts of it lie before each slice that follows.

    Slices go to one task after the other; one without room has an empty slice.
    """

    first: int
    parts: NDArray[np.float64]


def stretches(held: NDArray[np.float64], lengths: NDArray[np.float64]) -> list[Stretches]:
    """Share buckets of these lengths among tasks that hold so much already."""
    until = np.cumsum(room(held, float(lengths.sum())))
    sliver = SLIVER * (held.sum() + lengths.sum()) / held.size
    ends = np.cumsum(lengths)
    found = []
    for begin, end in zip((ends - lengths).tolist(), ends.tolist(), strict=True):
        margin = min(sliver, (end - begin) / 2)
        first, last = np.searchsorted(until[:-1], [begin + margin, end - margin], side="right").tolist()
        found.append(Stretches(first, (until[first:last] - begin) / (end - begin)))
    return found


def room(held: NDArray[np.float64], more: float) -> NDArray[np.float64]:
    """How much each task takes of what there is more, so that all have as much, but for those that hold more yet."""
    ordered = np.sort(held)
    spare = np.arange(1, held.size + 1) * ordered - np.cumsum(ordered)
    filled = int(np.searchsorted(spare, more, side="right"))
    level = (more + ordered[:filled].sum()) / filled
    found: NDArray[np.float64] = np.maximum(0.0, level - held)
    return found
