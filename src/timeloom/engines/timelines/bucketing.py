"""Aggregates of buckets of time: the same on a local table as in a Spark task."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeloom.engines.tables.grid_lines import Lines, lines_of, refuse_endless
from timeloom.engines.tables.keys import group_keys
from timeloom.engines.tables.overlap import span_column
from timeloom.engines.tables.period_writer import PeriodWriter
from timeloom.engines.tables.taking import taken
from timeloom.engines.tables.validity import Admitted
from timeloom.engines.timelines.aggregation import measured
from timeloom.engines.timelines.buckets import Buckets
from timeloom.engines.timelines.grouped import window_ticks
from timeloom.engines.timelines.measure_task import Sweep
from timeloom.engines.timelines.pieces import Cut, cut
from timeloom.kernels.order import distinct
from timeloom.model.measures import TIMED, Measure
from timeloom.model.sequenced import AggregateRequest


def cut_rows(admitted: Admitted, request: AggregateRequest, threads: int = 1) -> tuple[Cut, Lines]:
    """The pieces of rows between the lines of the grid, within the window if there is one."""
    assert request.grid is not None
    window = window_ticks(request.within, admitted.ticks)
    starts, ends = admitted.starts, admitted.ends
    rows: NDArray[np.int32] | None = None
    if window is not None:
        rows = np.flatnonzero((starts < window[1]) & (ends > window[0])).astype(np.int32)
        starts, ends = np.maximum(starts[rows], window[0]), np.minimum(ends[rows], window[1])
    refuse_endless(ends, "they touch buckets for ever", "give them an end, or a window with within=")
    low, high = (int(starts.min()), int(ends.max())) if starts.size else (0, 1)
    lines = lines_of(request.grid, admitted.ticks, low, high)
    found = cut(starts, ends, lines, threads)
    return found if rows is None else found._replace(rows=rows[found.rows]), lines


def bucketed(admitted: Admitted, request: AggregateRequest, threads: int = 1) -> pa.Table:
    """Aggregate the rows that touch each bucket of a grid."""
    by, period = list(request.by), admitted.ticks.period
    period.placed([*by, *(measure.name for measure in request.measures), period.start])
    found, lines = cut_rows(admitted, request, threads)
    groups, _ = group_keys(admitted.table, by)
    buckets = Buckets(found, groups, threads)
    edges = lines.edges(buckets.cells), lines.edges(buckets.cells + 1)
    bounds = distinct(np.concatenate(edges))[:1000].tolist()
    leaders = pa.array(buckets.rows[buckets.offsets[:-1]])
    columns: dict[str, Any] = {name: taken(admitted.table[name], leaders, name) for name in by}
    columns |= PeriodWriter.of([admitted.ticks], request.policy, bounds).columns(*edges)
    plain = tuple(measure for measure in request.measures if measure.function not in ("count", *TIMED))
    of_rows = _of_touching_rows(buckets, plain, admitted.table)
    for measure in request.measures:
        known = of_rows.get(measure.name)
        columns[measure.name] = _measure(buckets, measure, admitted) if known is None else known
    return pa.table(columns)


def _of_touching_rows(buckets: Buckets, measures: tuple[Measure, ...], table: pa.Table) -> "dict[str, pa.Array]":
    """Aggregates of the rows that touch each bucket: on an axis of bucket numbers they hold at once, and no others."""
    if not measures:
        return {}
    numbers = buckets.numbers
    return measured(Sweep.of(numbers, numbers + 1, numbers.size, 1), measures, table, buckets.rows, {})


def _measure(buckets: Buckets, measure: Measure, admitted: Admitted) -> pa.Array:
    column = None if measure.column is None else admitted.table[measure.column]
    if measure.function == "count":
        return buckets.counts(column)
    if column is None:
        return span_column(buckets.covered(), admitted.ticks.type.axis)
    return buckets.time_avg(column, measure)
