"""Sessions: periods of equal values that lie near each other, as one. The same on a local table as in a Spark task."""

from typing import Any

from timeloom.engines.tables.arrays import from_numpy
from timeloom.engines.tables.period_writer import PeriodWriter
from timeloom.engines.tables.taking import taken
from timeloom.engines.tables.validity import Admitted
from timeloom.engines.timelines.grouped import Grouped
from timeloom.kernels.order import sort
from timeloom.kernels.sequenced.coalesce import merge_near
from timeloom.model.ticks import Span, ticks_of


def sessions(
    admitted: Admitted, grouped: Grouped, by: list[str], max_gap: Span, writer: PeriodWriter, threads: int
) -> "dict[str, Any]":
    """The grouping and the period columns of sessions.

    Distances are told on the axis of time, on which groups have no position of their own.
    """
    gap = ticks_of(max_gap, admitted.ticks.type.axis)
    order = sort(grouped.starts, threads)
    rows, starts, ends = merge_near(admitted.starts, admitted.ends, grouped.groups, order.ids, gap)
    columns = {name: taken(admitted.table[name], from_numpy(rows), name) for name in by}
    return columns | writer.columns(starts, ends)
