"""A history that was kept elsewhere, checked before a table goes on from it."""

import numpy as np
import pyarrow as pa

from timeloom.bitemporal.chronicle import Chronicle
from timeloom.bitemporal.layout import Layout
from timeloom.bitemporal.restoring import restored
from timeloom.engines.tables.frames import require_columns
from timeloom.engines.tables.keys import group_keys
from timeloom.engines.tables.taking import take_rows
from timeloom.engines.tables.validity import Admitted, admit
from timeloom.errors import InvalidInputError, shown
from timeloom.kernels.bitemporal.overlaps import overlapping_pair
from timeloom.model.period import Period
from timeloom.model.policy import Policy
from timeloom.model.ticks import FOREVER, MIN_TICK

COLUMNS = ("sys_start", "sys_end", "app_start", "app_end")


def adopted(layout: Layout, table: pa.Table, sys_period: Period, app_period: Period, *, strict: bool) -> Chronicle:
    """The state of a table that has had this history: every period valid, every key known, in order of arrival.

    ``strict`` demands that versions of one key never overlap in both times.
    """
    require_columns(table.column_names, [*layout.key, *sys_period.columns, *app_period.columns], "history")
    for name in layout.key:
        if table[name].null_count:
            raise InvalidInputError(
                f"the key {name!r} is null in {table[name].null_count} versions of the history; give each its key"
            )
    sys, app = (admit(table, period, "history", Policy(), options=False) for period in (sys_period, app_period))
    if strict:
        _refuse_overlaps(layout, table, sys, app)
    history = _renamed(table, sys_period, app_period, sys, app)
    if (sys.starts[1:] < sys.starts[:-1]).any():
        history = take_rows(history, pa.array(np.argsort(sys.starts, kind="stable")))
    known = sys.ends[sys.ends != FOREVER]
    latest = max(int(sys.starts.max(initial=MIN_TICK)), int(known.max(initial=MIN_TICK)))
    return restored(layout, history, latest)


def _renamed(table: pa.Table, sys_period: Period, app_period: Period, sys: Admitted, app: Admitted) -> pa.Table:
    """The history with the columns of a bitemporal table, half-open and with null for open ends."""
    given = [*sys_period.columns, *app_period.columns]
    rest = [name for name in table.column_names if name not in given]
    clashing = [name for name in rest if name in COLUMNS]
    if clashing:
        raise InvalidInputError(f"the history has a column {clashing[0]!r} beside its periods; rename it or drop it")
    columns = {name: table[name] for name in rest}
    for name, ticks, kind in (
        ("app_start", app.starts, app.ticks.type),
        ("app_end", app.ends, app.ticks.type),
        ("sys_start", sys.starts, sys.ticks.type),
        ("sys_end", sys.ends, sys.ticks.type),
    ):
        columns[name] = kind.to_arrow(ticks, ticks == FOREVER if name.endswith("end") else None)
    return pa.table(columns)


def _refuse_overlaps(layout: Layout, table: pa.Table, sys: Admitted, app: Admitted) -> None:
    keys, _ = group_keys(table, list(layout.key))
    order = np.lexsort((sys.starts, keys))
    one, other = overlapping_pair(order, keys, sys.starts, sys.ends, app.starts, app.ends)
    if one >= 0:
        key = [table[name][int(one)].as_py() for name in layout.key]
        raise InvalidInputError(
            f"the versions {int(one)} and {int(other)} of the key {shown(key if len(key) > 1 else key[0])} overlap in "
            "both times, and the table is to be WITHOUT OVERLAPS; mend the history, or let without_overlaps be False"
        )
