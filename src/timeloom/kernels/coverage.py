"""Which periods touch covered time, or hold one of many instants.

Covered time is given by the sorted edges at which it alternately begins and ends.
"""

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Order, Positions, Ticks, rank, ranks


@compiled
def mark_touching(
    edges: Ticks,
    offsets: Positions,
    base: int,
    shift: int,
    starts: Ticks,
    ends: Ticks,
    first: int,
    last: int,
    touching: NDArray[np.bool_],
) -> None:
    """Mark those of the rows first..last that share time with the cover.

    An odd number of edges up to a start means that it lies in covered time; otherwise the next edge begins some.
    """
    for row in range(first, last):
        passed = rank(edges, offsets, base, shift, starts[row] + 1)
        touching[row] = passed % 2 == 1 or (passed < edges.size and edges[passed] < ends[row])


@compiled
def mark_stabbed(
    instants: Ticks,
    offsets: Positions,
    base: int,
    shift: int,
    starts: Ticks,
    ends: Ticks,
    first: int,
    last: int,
    stabbed: NDArray[np.bool_],
) -> None:
    """Mark those of the rows first..last that hold any of the sorted instants: the first one from the start on."""
    for row in range(first, last):
        passed = rank(instants, offsets, base, shift, starts[row])
        stabbed[row] = passed < instants.size and instants[passed] < ends[row]


def count_intersecting(starts: Ticks, ends: Ticks, points: Order, wanted: tuple[Ticks, Ticks]) -> Ticks:
    """Count the periods that intersect each wanted one, whose starts and ends are among the sorted points.

    Whatever starts before the end, less whatever ends by the start: no pair is looked at.
    """
    grid = points.values, points.offsets, points.base, points.shift
    size = points.values.size + 1
    begun = np.cumsum(np.bincount(ranks(*grid, starts + 1), minlength=size))
    gone = np.cumsum(np.bincount(ranks(*grid, ends), minlength=size))
    wanted_starts, wanted_ends = wanted
    found: Ticks = begun[ranks(*grid, wanted_ends)] - gone[ranks(*grid, wanted_starts)]
    return found
