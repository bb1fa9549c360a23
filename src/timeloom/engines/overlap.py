"""The time that two periods share, as a column."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from timeloom.engines.axes import shared_type
from timeloom.engines.ticks import PeriodTicks, Ticks

Endpoints = tuple[Ticks, Ticks]


def overlap_column(
    which: str,
    left: Endpoints,
    right: Endpoints,
    absent: NDArray[np.bool_],
    kinds: tuple[PeriodTicks, PeriodTicks],
) -> pa.Array:
    """The first (``overlap_start``) or the last instant, exclusive, that both periods of each pair share.

    Null where they share none, or where a partner is absent. Written as the left side of ``kinds`` writes periods.
    """
    starts, ends = np.maximum(left[0], right[0]), np.minimum(left[1], right[1])
    none = absent | (starts >= ends)
    writer = shared_type(*kinds)
    if which == "overlap_start":
        written = writer.write_starts(np.where(none, 0, starts))
    else:
        written = writer.write_ends(np.where(none, 0, ends))
    return pc.if_else(pa.array(none), pa.scalar(None, written.type), written)
