"""A bitemporal table from its history: as a file has it, or as it was kept elsewhere."""

from dataclasses import replace

import numpy as np
import pyarrow as pa

from timeloom.bitemporal.checkpoints import spaced
from timeloom.bitemporal.chronicle import NEVER, Chronicle, Times
from timeloom.bitemporal.facts import Facts
from timeloom.bitemporal.layout import Layout
from timeloom.bitemporal.slabs import Slabs
from timeloom.engines.tables.ticks import TimeType, column_ticks
from timeloom.kernels.bitemporal.windows import Ticks
from timeloom.model.ticks import FOREVER


def restored(layout: Layout, history: pa.Table, latest: int) -> Chronicle:
    """The state of a table that had this history, in order of system start."""
    sys_type = TimeType.of(history.schema.field("sys_start").type, "sys_start", "bitemporal")
    layout = replace(layout.adopting(history.drop_columns(["sys_start", "sys_end"])), sys_type=sys_type)
    starts, ends = _ticks(history, "sys_start", sys_type), _ticks(history, "sys_end", sys_type)
    app_starts, app_ends = (_ticks(history, name, layout.app_time) for name in ("app_start", "app_end"))
    ended_by = np.where(ends == FOREVER, NEVER, 0)
    times = Times.of(starts, ends, app_starts, app_ends, ended_by)
    facts = history.select(layout.attributes).combine_chunks()
    held = Facts((facts,) if facts.num_rows else ())
    view = times.view(latest)
    slabs = Slabs().grown(view.app_start, view.app_end)
    return Chronicle(layout, times, held, latest=latest, checkpoints=spaced((), view), slabs=slabs)


def _ticks(history: pa.Table, name: str, kind: TimeType) -> Ticks:
    """A column of times that may be written to; an open end is forever."""
    ticks, is_open = column_ticks(history[name], kind, truncate=False)
    return np.where(is_open, FOREVER, ticks)
