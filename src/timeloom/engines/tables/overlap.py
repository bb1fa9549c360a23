"""The time that two periods share, as a column."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeloom.engines.tables.arrays import from_numpy
from timeloom.engines.tables.period_writer import PeriodWriter
from timeloom.engines.tables.ticks import Ticks
from timeloom.model.ticks import FOREVER, Axis

Endpoints = tuple[Ticks, Ticks]


def overlap_column(
    which: str,
    left: Endpoints,
    right: Endpoints,
    absent: NDArray[np.bool_],
    writer: PeriodWriter,
) -> pa.Array:
    """The first (``overlap_start``) or the last instant, exclusive, that both periods of each pair share.

    Null where they share none, or where a partner is absent.
    """
    starts, ends = np.maximum(left[0], right[0]), np.minimum(left[1], right[1])
    none = absent | (starts >= ends)
    return writer.starts(starts, none) if which == "overlap_start" else writer.ends(ends, none)


def overlap_length(left: Endpoints, right: Endpoints, absent: NDArray[np.bool_], axis: Axis) -> pa.Array:
    """How much time both periods of each pair share; null where they share none, or for ever."""
    starts, ends = np.maximum(left[0], right[0]), np.minimum(left[1], right[1])
    none = absent | (starts >= ends) | (ends == FOREVER)
    return span_column(np.where(none, 0, ends - np.where(none, 0, starts)), axis, none)


def span_column(ticks: Ticks, axis: Axis, null: "NDArray[np.bool_] | None" = None) -> pa.Array:
    """Numbers of ticks as a column: integers, days for dates, durations for timestamps."""
    column = from_numpy(ticks, pa.int64(), mask=null)
    return column if axis in (Axis.INTEGER, Axis.DATE) else column.cast(pa.duration("us"))
