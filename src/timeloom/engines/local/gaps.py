"""Gaps on local tables."""

from typing import Any

import pyarrow as pa

from timeloom.engines.resources.threads import aside, cores
from timeloom.engines.tables.frames import require_columns, to_arrow
from timeloom.engines.tables.period_writer import PeriodWriter
from timeloom.engines.tables.validity import admit, answer
from timeloom.engines.timelines.grouped import Grouped, window_ticks
from timeloom.engines.timelines.sequenced import subtract
from timeloom.kernels.sequenced.difference import cover
from timeloom.model.explanation import Explanation
from timeloom.model.sequenced import GapsRequest


def gaps(df: object, request: GapsRequest) -> Any:
    """Find the time of each group that no row covers."""
    table, restore = to_arrow(df, "input")
    by = list(request.by)
    require_columns(table.column_names, by, "input")
    admitted = admit(table, request.period, "input", request.policy)
    admitted.ticks.period.placed([*by, request.period.start])
    window = window_ticks(request.within, admitted.ticks)
    pairs = len(admitted.starts) ** 2
    grouped = aside(Grouped.of, admitted.table, admitted.starts, admitted.ends, by, window, pairs=pairs)
    covered = aside(cover, grouped.starts, grouped.ends, cores(), pairs=pairs)
    free = aside(subtract, *grouped.spans()[:2], covered, cores(), pairs=pairs)
    writer = PeriodWriter.of([admitted.ticks], request.policy, window or ())
    columns = grouped.columns(admitted.table, by, writer, free.starts, free.ends)
    return answer(pa.table(columns), admitted.rejected, request.policy, restore)


def explain_gaps(df: object, request: GapsRequest) -> Explanation:
    """Say how gaps would be found."""
    table, _ = to_arrow(df, "input")
    require_columns(table.column_names, list(request.by), "input")
    facts = {
        "algorithm": "cover",
        "rows": table.num_rows,
        "groups by": list(request.by),
        "within": "the rows of each group" if request.within is None else list(map(str, request.within)),
    }
    why = "the covered time is united once, and what it leaves of each group's span or window is the result"
    return Explanation("gaps", "local", facts, (why,))
