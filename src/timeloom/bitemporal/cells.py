"""The logical picture of the index: events by application time and system time."""

import numpy as np
import pyarrow as pa

from timeloom.bitemporal.columns import View
from timeloom.engines.tables.ticks import TimeType
from timeloom.kernels.bitemporal.windows import Ticks
from timeloom.model.ticks import FOREVER


def cells_of(
    view: View,
    numbers: Ticks | None,
    low: int,
    high: int,
    types: tuple[TimeType, TimeType],
    *,
    net: bool,
) -> pa.Table:
    """List all events at the system times low..high, ordered by application time, system time and row.

    ``net`` keeps only rows that are alive at the latest system time, as the non-retroactive index does.
    """
    rows = np.arange(len(view))
    rows = rows[view.app_start != FOREVER]
    if net:
        rows = rows[view.sys_ends[rows] == FOREVER]
    sys_end = view.sys_ends
    parts = [
        (view.app_start, view.sys_start, 1),
        (view.app_end, view.sys_start, -1),
        (view.app_start, sys_end, -1),
        (view.app_end, sys_end, 1),
    ]
    app = np.concatenate([times[rows] for times, _, _ in parts])
    sys = np.concatenate([times[rows] for _, times, _ in parts])
    change = np.concatenate([np.full(rows.size, sign) for _, _, sign in parts])
    number = np.tile(rows if numbers is None else numbers[rows], 4)
    kept = np.flatnonzero((app != FOREVER) & (sys != FOREVER) & (sys >= low) & (sys <= high))
    kept = kept[np.lexsort((number[kept], change[kept], sys[kept], app[kept]))]
    return pa.table(
        {
            "app": types[1].to_arrow(app[kept]),
            "sys": types[0].to_arrow(sys[kept]),
            "row": pa.array(number[kept], pa.int64()),
            "change": pa.array(change[kept], pa.int8()),
        }
    )
