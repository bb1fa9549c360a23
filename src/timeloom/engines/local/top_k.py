"""The rows with the most partners, on local tables."""

from typing import Any

import pyarrow as pa

from timeloom.engines.local.count_join import LocalCount
from timeloom.engines.resources.threads import aside
from timeloom.engines.tables.frames import require_columns
from timeloom.engines.tables.keys import group_keys
from timeloom.engines.tables.taking import take_rows
from timeloom.engines.tables.validity import answer
from timeloom.kernels.counts.top_k import top_rows, top_rows_by_group
from timeloom.model.count_join import TopRequest


def top_k(left: object, right: object, request: TopRequest) -> Any:
    """Keep the k left rows with the highest counts, of all or of each group."""
    task = LocalCount(left, right, request.count)
    require_columns(task.left.table.column_names, list(request.by), "left")
    counts, all_ties = aside(task.counts), request.ties == "all"
    if request.by:
        groups, _ = group_keys(task.left.table, list(request.by))
        rows = top_rows_by_group(counts, groups, request.k, all_ties=all_ties)
    else:
        rows = top_rows(counts, request.k, all_ties=all_ties)
    result = take_rows(task.left.table, pa.array(rows)).append_column(
        request.count.name, pa.array(counts[rows], pa.int64())
    )
    return answer(result, task.rejected, request.count.policy, task.restore)
