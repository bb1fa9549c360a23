"""Sessions: a task takes all of its groups at once."""

from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from timeloom.engines.spark.columns.validity import JudgedFrame
from timeloom.engines.spark.sequenced.whole_groups import by_group, handed_out, inner_policy, needed_rows
from timeloom.engines.tables.frames import require_columns
from timeloom.engines.tables.period_writer import PeriodWriter
from timeloom.engines.tables.validity import admit as admit_local
from timeloom.engines.timelines.grouped import Grouped
from timeloom.engines.timelines.sessions import sessions
from timeloom.model.sequenced import CoalesceRequest


@dataclass(frozen=True)
class Sessions:
    """Merges what lies near each other, group by group."""

    request: CoalesceRequest
    by: tuple[str, ...]

    def __call__(self, table: pa.Table) -> pa.Table:
        """The sessions of some groups."""
        request = self.request
        assert request.max_gap is not None
        admitted = admit_local(table, request.period, "input", request.policy)
        grouped = Grouped.of(admitted.table, admitted.starts, admitted.ends, list(self.by))
        writer = PeriodWriter.of([admitted.ticks], request.policy)
        columns = sessions(admitted, grouped, list(self.by), request.max_gap, writer, 1)
        kept = [name for name in table.column_names if name in (*self.by, *request.period.columns)]
        return pa.table({name: columns[name] for name in request.period.placed(kept)})


def sessions_of(admitted: JudgedFrame, request: CoalesceRequest) -> Any:
    """The plan of sessions."""
    names = admitted.schema.names
    others = tuple(name for name in names if name not in request.period.columns)
    by = others if request.by is None else request.by
    require_columns(names, list(by), "input")
    work = Sessions(replace(request, policy=inner_policy(request.policy)), by)
    rows, schema = needed_rows(admitted, (*by, *request.period.columns))
    return handed_out(by_group(rows, by, schema, work, ()), [admitted], request.policy)
