"""Lanes of rows that do not overlap: the same on a local table as in a Spark task."""

from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeloom.engines.resources.threads import aside
from timeloom.engines.tables.arrays import from_numpy
from timeloom.engines.tables.frames import require_columns
from timeloom.engines.tables.ticks import Ticks
from timeloom.engines.tables.validity import admit
from timeloom.engines.tables.value_order import Settle, as_they_come, by_values, periods_by_values
from timeloom.engines.timelines.grouped import Grouped
from timeloom.errors import UsageError
from timeloom.kernels.order import sort
from timeloom.kernels.sequenced.lanes import assign_groups
from timeloom.model.sequenced import LanesRequest


def lanes_table(table: pa.Table, request: LanesRequest, threads: int = 1) -> tuple[pa.Table, pa.Table]:
    """The rows with their lanes; rejected rows come beside."""
    require_columns(table.column_names, list(request.by), "input")
    if request.name in table.column_names:
        raise UsageError(f"the table has a column {request.name!r} already; give the lanes another name=")
    admitted = admit(table, request.period, "input", request.policy)
    grouped = Grouped.of(admitted.table, admitted.starts, admitted.ends, list(request.by))
    settle = partial(by_values, admitted.table, settled=[*request.by, *request.period.columns])
    found = aside(lanes_of, grouped.starts, grouped.ends, grouped.groups, threads, settle, pairs=grouped.starts.size**2)
    return admitted.table.append_column(request.name, from_numpy(found, pa.int64())), admitted.rejected


def lanes_of(
    starts: Ticks, ends: Ticks, groups: NDArray[np.int64], threads: int, settle: Settle = as_they_come
) -> NDArray[np.int64]:
    """The lane of each row; starts and ends have groups folded into their axis. Of one start, the shortest is first."""
    order = periods_by_values(sort(starts, threads, ends), settle)
    named = groups[order.ids]
    offsets = np.concatenate([[0], np.flatnonzero(np.diff(named)) + 1, [named.size]]) if named.size else np.zeros(1)
    lanes = np.empty(starts.size, np.int64)
    lanes[order.ids] = assign_groups(order.values, order.beside, offsets.astype(np.int64))
    return lanes
