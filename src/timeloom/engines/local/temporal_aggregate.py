"""Temporal aggregation on local tables."""

from typing import Any

import pyarrow as pa

from timeloom.engines.resources.threads import aside, cores
from timeloom.engines.tables.frames import Restore, require_columns, to_arrow
from timeloom.engines.tables.period_writer import PeriodWriter
from timeloom.engines.tables.validity import Admitted, admit, answer
from timeloom.engines.timelines.aggregation import measured, sweep
from timeloom.engines.timelines.bucketing import bucketed
from timeloom.engines.timelines.depths import chain_facts
from timeloom.engines.timelines.grouped import Grouped, window_ticks
from timeloom.model.explanation import Explanation
from timeloom.model.sequenced import AggregateRequest


def temporal_aggregate(df: object, request: AggregateRequest) -> Any:
    """Aggregate the active rows of every period of constant lineage."""
    admitted, restore = _admitted(df, request)
    if request.grid is not None:
        return answer(aside(bucketed, admitted, request, cores()), admitted.rejected, request.policy, restore)
    window, by = window_ticks(request.within, admitted.ticks), list(request.by)
    if request.fill:
        admitted.ticks.period.placed([*by, *(measure.name for measure in request.measures), request.period.start])
    pairs = len(admitted.starts) ** 2
    grouped = aside(Grouped.of, admitted.table, admitted.starts, admitted.ends, by, window, pairs=pairs)
    swept = aside(sweep, grouped, request, cores(), pairs=pairs)
    writer = PeriodWriter.of([admitted.ticks], request.policy, window or (), wide=request.fill)
    columns = grouped.columns(admitted.table, by, writer, swept.line.starts, swept.line.ends)
    columns |= measured(swept, request.measures, admitted.table, grouped.rows, columns)
    return answer(pa.table(columns), admitted.rejected, request.policy, restore)


def explain_temporal_aggregate(df: object, request: AggregateRequest) -> Explanation:
    """Say how an aggregation would run."""
    admitted, _ = _admitted(df, request)
    if request.grid is not None:
        every = request.grid.every.shown if request.grid.every else ""
        known = {"algorithm": "buckets", "every": every, "rows": admitted.starts.size, "groups by": list(request.by)}
        why = "rows are cut at the grid, and the pieces of each bucket are measured"
        return Explanation("temporal_aggregate", "local", known, (why,))
    dip = request.algorithm == "dip"
    facts = {"algorithm": "dip" if dip else "sweep", "rows": admitted.starts.size, "groups by": list(request.by)}
    if dip:
        window = window_ticks(request.within, admitted.ticks)
        grouped = Grouped.of(admitted.table, admitted.starts, admitted.ends, list(request.by), window)
        facts |= chain_facts(grouped.starts, grouped.ends)
    why = "both endpoints are sorted once, and each row enters and leaves once, however long it lasts"
    return Explanation("temporal_aggregate", "local", facts, ("it was asked for" if dip else why,))


def _admitted(df: object, request: AggregateRequest) -> tuple[Admitted, Restore]:
    table, restore = to_arrow(df, "input")
    measured_columns = [measure.column for measure in request.measures if measure.column is not None]
    require_columns(table.column_names, [*request.by, *measured_columns], "input")
    return admit(table, request.period, "input", request.policy), restore
