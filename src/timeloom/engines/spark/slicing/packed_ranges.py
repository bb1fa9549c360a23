"""From which tick to which the rows of one side must be present, read from packed columns."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeloom.engines.spark.exchange.blocks import SideLayout
from timeloom.engines.spark.slicing.join_parts import Piece
from timeloom.engines.spark.slicing.tick_ranges import reach
from timeloom.engines.tables.ticks import Ticks, read_period
from timeloom.engines.tables.validity import VALID, judge
from timeloom.model.policy import Policy


class Spans(NamedTuple):
    """The ticks of rows, the first and the last tick that each must be present at, and whether there are such.

    Rows that are invalid, or can meet nobody, need not be present anywhere.
    """

    starts: Ticks
    ends: Ticks
    low: Ticks
    high: Ticks
    present: NDArray[np.bool_]


def spans(table: pa.Table, layout: SideLayout, pieces: Sequence[Piece], policy: Policy) -> Spans:
    """Read the spans of packed rows."""
    columns = [table[layout.start], table[layout.end]]
    period = read_period(pa.table(columns, [layout.period.start, layout.period.end]), layout.period, layout.name)
    starts, (ends, verdict) = period.starts, judge(period, policy)
    low, high = reach(layout.name, pieces, starts, ends)
    return Spans(starts, ends, low, high, (verdict == VALID) & (low <= high))
