"""Coalescing on local tables."""

from typing import Any

import pyarrow as pa

from timeloom.engines.resources.threads import aside, cores
from timeloom.engines.tables.frames import Restore, require_columns, to_arrow
from timeloom.engines.tables.period_writer import PeriodWriter
from timeloom.engines.tables.validity import admit, answer
from timeloom.engines.timelines.grouped import Grouped
from timeloom.engines.timelines.sessions import sessions
from timeloom.kernels.sequenced import coalesce as kernel
from timeloom.model.explanation import Explanation
from timeloom.model.sequenced import CoalesceRequest


def coalesce(df: object, request: CoalesceRequest) -> Any:
    """Merge periods of rows with equal values where they overlap or touch."""
    table, restore, by = _read(df, request)
    names = table.column_names
    admitted = admit(table, request.period, "input", request.policy)
    pairs = len(admitted.starts) ** 2
    grouped = aside(Grouped.of, admitted.table, admitted.starts, admitted.ends, by, pairs=pairs)
    writer = PeriodWriter.of([admitted.ticks], request.policy)
    if request.max_gap is None:
        merged = aside(kernel.coalesce, grouped.starts, grouped.ends, cores(), pairs=pairs)
        columns = grouped.columns(admitted.table, by, writer, merged.starts, merged.ends)
    else:
        columns = aside(sessions, admitted, grouped, by, request.max_gap, writer, cores(), pairs=pairs)
    kept = admitted.ticks.period.placed([name for name in names if name in (*by, *request.period.columns)])
    return answer(pa.table({name: columns[name] for name in kept}), admitted.rejected, request.policy, restore)


def explain_coalesce(df: object, request: CoalesceRequest) -> Explanation:
    """Say how periods would be merged."""
    table, _, by = _read(df, request)
    facts = {"algorithm": "sorted merge", "rows": table.num_rows, "compares": by}
    why = "rows are sorted by their values and starts once, and each is held against the one before it"
    return Explanation("coalesce", "local", facts, (why,))


def _read(df: object, request: CoalesceRequest) -> tuple[pa.Table, Restore, list[str]]:
    """The table, and the columns whose values must be equal."""
    table, restore = to_arrow(df, "input")
    others = [name for name in table.column_names if name not in request.period.columns]
    by = others if request.by is None else list(request.by)
    require_columns(table.column_names, by, "input")
    return table, restore, by
