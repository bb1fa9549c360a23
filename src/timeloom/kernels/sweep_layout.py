"""The columns and codes of the arrays that the streaming sweep works on."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.gapless import Cells
from timeloom.kernels.order import Ticks

LEFT_SIDE, RIGHT_SIDE = 0, 1

TIME, WHAT, SIDE, HANDLE = range(4)
"""The columns of what is planned."""

FIRE, CHECK, EXPIRE = 1, 2, 4
"""What is planned for a row, as bits, in the order in which it is done at one instant."""

INNER, LEFT, SEMI, ANTI = range(4)
UNMATCHED, MATCHED, WAITING = range(3)
"""Marks of left rows."""

PAIRS, ROWS, PLANNED, TODAY, WAITERS, BUFFERED, HANDLES = 0, 1, 2, 3, 4, 5, 7
STRAYS, BEFORE, SCANS, GETNEXT, CANDIDATES = 9, 11, 12, 13, 14
STATE_SIZE = 15
"""Where a run stands: pairs and single rows written, entries planned and due now, waiting rows; for each side the
fired rows in the buffer, the next handle, and the ends without a row at this instant; the instant before the one
at work; what the scans have counted."""

WAITER, WITNESS, UNTIL = range(3)
"""Unmatched left rows that nothing new can match: each waits for a witness, which may match up to an instant."""

LEFT_BOUNDS, RIGHT_BOUNDS, LEFT_READY, RIGHT_READY, BOTH, DECIDES = 0, 8, 16, 18, 20, 21
"""The columns of the decisions: the bounds of a box as seen from either side; how long after its start and its end a
row of either side is ready; whether either side may be ready last; which sides may."""

LEFT_NAME, RIGHT_NAME, INSTANT = range(3)
"""The rows of the pairs that are written. Single left rows have a name and an instant."""


class Arriving(NamedTuple):
    """Events of one side by the instant at which they are known, ends first; verdicts are filled in.

    ``ends`` is empty for separate endpoints, whose time is ``starts`` whether they start or end.
    """

    ids: NDArray[np.int64]
    known: Ticks
    starts: Ticks
    ends: Ticks
    starting: NDArray[np.bool_]
    verdicts: NDArray[np.int8]


class Rules(NamedTuple):
    """A relation, ready for the sweep.

    One decision is enough for a single box. A union of several is looked at as a whole: its boxes as seen from either
    side, and the distances from the start and from the end of a row at which to look (unused ones are NEVER).
    ``tight`` has the bounds of the decisions as seen from either side; ``open_limits`` how long after the start of an
    open left row a partner may still become known; ``late`` whether a side's rows are known only at their end.
    """

    decisions: Cells
    boxes: Cells
    looks: Cells
    tight: Cells
    open_limits: Ticks
    whole: NDArray[np.bool_]
    late: NDArray[np.bool_]
