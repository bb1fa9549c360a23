"""Rows that are marked, written out: comparisons are made first, all alike, and then what they leave is written."""

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.bitemporal.windows import Ticks
from timeloom.kernels.jit import compiled

STRETCH = 1024
"""So many rows are compared together; marks are read in words of eight."""

Marks = NDArray[np.uint8]


@compiled
def with_room(found: Ticks, size: int) -> Ticks:
    """An array with the first ``size`` rows of this one, and room for one more stretch."""
    if size + STRETCH <= found.size:
        return found
    grown = np.empty(2 * found.size, np.int64)
    grown[:size] = found[:size]
    return grown


@compiled
def write_marked(marks: Marks, count: int, first: int, found: Ticks, size: int) -> int:
    """Write the rows from ``first`` on whose marks, ``count`` of them, are set; returns how many are written then.

    Most windows hold few of the rows, so most words of marks are empty, and are passed over.
    """
    words, full = marks.view(np.uint64), (count + 7) // 8
    marks[count : 8 * full] = 0
    for word in range(full):
        if words[word] == 0:
            continue
        for i in range(8 * word, 8 * word + 8):
            found[size] = first + i
            size += int(marks[i])
    return size
