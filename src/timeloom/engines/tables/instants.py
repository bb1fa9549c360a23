"""Instants that a user gives, as ticks on the axis of a period column."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timeloom.engines.resources.threads import chunks, in_parallel
from timeloom.engines.tables.ticks import Ticks, TimeType
from timeloom.kernels.coverage import mark_stabbed
from timeloom.kernels.order import distinct, sort
from timeloom.model.ticks import MAX_TICK, MIN_TICK, Axis


def instant_ticks(instants: tuple[Any, ...], kind: TimeType) -> Ticks:
    """The distinct instants as ascending ticks."""
    if kind.axis is Axis.INTEGER and all(type(at) is int and MIN_TICK <= at <= MAX_TICK for at in instants):
        return distinct(np.array(instants, np.int64))
    return distinct(np.array([kind.ticks_of(at, "at") for at in instants], np.int64))


def stabbed(starts: Ticks, ends: Ticks, instants: Ticks, threads: int) -> NDArray[np.bool_]:
    """Mark the periods that hold any of the ascending instants."""
    marked = np.zeros(starts.size, np.bool_)
    if instants.size == 1:  # nothing is to be searched, and NumPy compares several rows at a time
        mark = partial(_mark_holding, int(instants[0]), starts, ends)
    else:
        order = sort(instants)
        mark = partial(mark_stabbed, order.values, order.offsets, order.base, order.shift, starts, ends)
    in_parallel([partial(mark, *part, marked) for part in chunks(starts.size, threads)], threads)
    return marked


def _mark_holding(at: int, starts: Ticks, ends: Ticks, first: int, last: int, marked: NDArray[np.bool_]) -> None:
    np.less_equal(starts[first:last], at, out=marked[first:last])
    marked[first:last] &= ends[first:last] > at
