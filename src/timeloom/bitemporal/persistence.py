"""The index as one file."""

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol, TypeVar

import numpy as np
import pyarrow as pa

from timeloom import storage
from timeloom.bitemporal import structure
from timeloom.bitemporal.buckets import Buckets, Grid
from timeloom.bitemporal.checkpoints import Checkpoint
from timeloom.bitemporal.columns import GrowingArray, TimeColumns
from timeloom.bitemporal.identity import RowNumbers
from timeloom.bitemporal.snapshot import Snapshot
from timeloom.bitemporal.timelines import Timelines
from timeloom.engines.tables.taking import take_rows
from timeloom.engines.tables.ticks import TimeType
from timeloom.kernels.bitemporal.buckets import BLOCK
from timeloom.model.period import Period

KIND = "bitemporal-index"
VERSION = 1
COLUMNS = ("sys_start", "sys_end", "app_start", "app_end")
SIDES = ("starts", "ends")


class Indexed(Protocol):
    """What a file has of an index: its state, and its periods."""

    _now: Snapshot
    _sys_period: Period
    _app_period: Period


Index = TypeVar("Index", bound=Indexed)


def save_index(path: "str | os.PathLike[str]", index: Indexed) -> None:
    """Write an index to one file."""
    now = index._now
    lines, numbers, view = now.lines, now.numbers, now.lines.columns.view()
    arrays: storage.Arrays = {name: getattr(view, name) for name in COLUMNS}
    arrays["sys_end"] = view.sys_ends
    arrays["ended"] = lines.ended.values
    for side in SIDES:
        buckets: Buckets = getattr(lines, side)
        arrays[f"{side}.newest"] = buckets.newest
        arrays[f"{side}.filled"] = buckets.filled
        arrays[f"{side}.earlier"] = buckets.earlier[: buckets.blocks]
        arrays[f"{side}.pool"] = buckets.pool[: buckets.blocks * BLOCK]
    for k, checkpoint in enumerate(lines.checkpoints):
        arrays[f"checkpoint.{k}.by_start"] = checkpoint.by_start
        arrays[f"checkpoint.{k}.by_end"] = checkpoint.by_end
    if numbers.numbers is not None and numbers.positions is not None:
        arrays["numbers"], arrays["places"] = numbers.numbers.values, numbers.positions.values
    if now.schema is not None:
        arrays["table"] = table_bytes(now.stored())
    meta = {
        "sys_period": _period_fields(index._sys_period),
        "app_period": _period_fields(index._app_period),
        "retroactive": lines.retroactive,
        "bucket": lines.bucket,
        "checkpoint_every": lines.checkpoint_every,
        "latest": lines.columns.latest,
        "held": True,
        "total": numbers.total,
        "in_order": numbers.in_order,
        "gridded": lines.gridded,
        "since_checkpoint": lines.since_checkpoint,
        "checkpoints": [[checkpoint.at, checkpoint.rows] for checkpoint in lines.checkpoints],
        "grids": {side: _grid_fields(getattr(lines, side)) for side in SIDES},
    }
    storage.save(path, KIND, VERSION, arrays, meta)


def load_index(path: "str | os.PathLike[str]", make: "Callable[..., Index]") -> "Index":
    """Read an index from its file, and make it by its settings."""
    return storage.restore(path, KIND, VERSION, lambda arrays, meta: _index(arrays, meta, make))


def _index(arrays: storage.Arrays, meta: dict[str, Any], make: "Callable[..., Index]") -> "Index":
    structure.check_index(arrays, meta)
    index = make(
        sys_period=Period(*meta["sys_period"]),
        app_period=Period(*meta["app_period"]),
        retroactive=meta["retroactive"],
        bucket=meta["bucket"],
        checkpoint_every=meta["checkpoint_every"],
    )
    sys_start, sys_end, app_start, app_end = (GrowingArray.of(arrays[name]) for name in COLUMNS)
    starts, ends = (_buckets(arrays, side, meta["grids"][side]) for side in SIDES)
    lines = Timelines(
        retroactive=meta["retroactive"],
        checkpoint_every=meta["checkpoint_every"],
        bucket=meta["bucket"],
        columns=TimeColumns(sys_start, sys_end, app_start, app_end, meta["latest"]),
        ended=GrowingArray.of(arrays["ended"]),
        checkpoints=tuple(
            Checkpoint(at, rows, arrays[f"checkpoint.{k}.by_start"], arrays[f"checkpoint.{k}.by_end"])
            for k, (at, rows) in enumerate(meta["checkpoints"])
        ),
        starts=starts,
        ends=ends,
        gridded=meta["gridded"],
        since_checkpoint=meta["since_checkpoint"],
    )
    numbers = RowNumbers(meta["total"], in_order=meta["in_order"])
    if "numbers" in arrays:
        numbers = replace(
            numbers, numbers=GrowingArray.of(arrays["numbers"]), positions=GrowingArray.of(arrays["places"])
        )
    index._now = Snapshot(lines, numbers)
    if "table" in arrays:
        table = bytes_table(arrays["table"])
        axes = (index._sys_period.start, index._app_period.start)
        sys, app = (TimeType.of(table.schema.field(name).type, name, "bitemporal") for name in axes)
        if not lines.retroactive and not meta.get("held", False) and "numbers" in arrays:
            table = take_rows(table, pa.array(arrays["numbers"]))
        index._now = Snapshot(lines, numbers, (sys, app), table.schema, (table,))
    return index


def table_bytes(table: pa.Table) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """An Arrow table as the bytes of an IPC stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return np.frombuffer(sink.getvalue(), np.uint8)


def bytes_table(content: np.ndarray[Any, np.dtype[np.uint8]]) -> pa.Table:
    """The Arrow table behind the bytes of an IPC stream, without a copy."""
    table = pa.ipc.open_stream(pa.py_buffer(content)).read_all()
    table.validate(full=True)
    return table


def _buckets(arrays: storage.Arrays, side: str, grid: list[int]) -> Buckets:
    newest, filled, earlier, pool = (arrays[f"{side}.{part}"] for part in ("newest", "filled", "earlier", "pool"))
    return Buckets(Grid(*grid[:3]), newest, filled, earlier, pool, grid[3])


def _grid_fields(buckets: Buckets) -> list[int]:
    return [buckets.grid.base, buckets.grid.width, buckets.grid.buckets, buckets.blocks]


def _period_fields(period: Period) -> list[Any]:
    """A period as JSON; sentinels of dates and timestamps as their ISO texts, which read the same."""
    sentinels = [value if isinstance(value, int) else str(value) for value in period.sentinels]
    return [period.start, period.end, period.closed, sentinels or None, period.truncate]
