"""The rows with the most partners, on local tables."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from timeloom.engines.local.count_join import LocalCount
from timeloom.engines.tables.frames import require_columns
from timeloom.engines.tables.key_types import plain_values
from timeloom.engines.tables.keys import group_keys
from timeloom.engines.tables.taking import take_rows
from timeloom.engines.tables.validity import answer
from timeloom.kernels.counts.top_k import top_rows, top_rows_by_group
from timeloom.model.count_join import TopRequest


def top_k(left: object, right: object, request: TopRequest) -> Any:
    """Keep the k left rows with the highest counts or aggregates, of all or of each group."""
    task = LocalCount(left, right, request.count)
    require_columns(task.left.table.column_names, list(request.by), "left")
    counted, all_ties = task.counted(), request.ties == "all"
    ranked = counted[request.ranked]
    ranks = np.asarray(ranked) if request.ranked == request.count.name else dense_ranks(ranked)
    if request.by:
        groups, _ = group_keys(task.left.table, list(request.by))
        rows = top_rows_by_group(ranks, groups, request.k, all_ties=all_ties)
    else:
        rows = top_rows(ranks, request.k, all_ties=all_ties)
    return answer(take_rows(counted, pa.array(rows)), task.rejected, request.count.policy, task.restore)


def dense_ranks(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Numbers in the order of the values, equal for equal ones; nulls are below all, not-a-number above."""
    array = plain_values(column.combine_chunks())
    if pa.types.is_floating(array.type):
        values = np.asarray(pc.fill_null(array, 0.0), np.float64) + 0.0
        ranks = np.unique(values, return_inverse=True)[1] + 1
    else:
        ranks = np.asarray(pc.rank(array, sort_keys="ascending", tiebreaker="dense"))
    return np.where(np.asarray(array.is_null()), 0, ranks).astype(np.int64)
