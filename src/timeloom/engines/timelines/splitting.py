"""Periods cut at a grid: the same on a local table as in a Spark task."""

import pyarrow as pa

from timeloom.engines.resources.threads import aside
from timeloom.engines.tables.arrays import from_numpy
from timeloom.engines.tables.grid_lines import lines_of, refuse_endless
from timeloom.engines.tables.period_writer import PeriodWriter
from timeloom.engines.tables.taking import take_rows
from timeloom.engines.tables.validity import Admitted, admit
from timeloom.engines.timelines.pieces import Cut, cut
from timeloom.kernels.order import distinct
from timeloom.model.sequenced import SplitRequest


def split_table(table: pa.Table, request: SplitRequest, threads: int = 1) -> tuple[pa.Table, pa.Table]:
    """Cut each row at the lines of a grid; rejected rows come beside."""
    admitted = admit(table, request.period, "input", request.policy)
    found = _pieces(admitted, request, threads)
    rows = take_rows(admitted.table, from_numpy(found.rows))
    cuts = distinct(found.ends[:-1][found.rows[1:] == found.rows[:-1]])
    bounds = [*found.starts[:1].tolist(), *cuts[:1000].tolist()]
    writer = PeriodWriter.of([admitted.ticks], request.policy, bounds, wide=False)
    for name, column in writer.columns(found.starts, found.ends).items():
        at = rows.column_names.index(name)
        rows = rows.set_column(at, rows.schema.field(at).with_type(column.type), column)
    return rows, admitted.rejected


def _pieces(admitted: Admitted, request: SplitRequest, threads: int) -> Cut:
    starts, ends = admitted.starts, admitted.ends
    if request.grid.every is not None:
        refuse_endless(ends, "a regular grid would cut them for ever")
    low, high = (int(starts.min()), int(ends.max())) if starts.size else (0, 1)
    lines = lines_of(request.grid, admitted.ticks, low, high)
    return aside(cut, starts, ends, lines, threads, pairs=starts.size * lines.between(low, high))
