"""The index as one file."""

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from timeloom import storage
from timeloom.bitemporal.buckets import Buckets, Grid
from timeloom.bitemporal.checkpoints import Checkpoint
from timeloom.bitemporal.columns import GrowingArray
from timeloom.bitemporal.structure import check_index
from timeloom.engines.ticks import TimeType
from timeloom.model.period import Period

if TYPE_CHECKING:
    from timeloom.bitemporal.index import BitemporalIndex

KIND = "bitemporal-index"
VERSION = 1
COLUMNS = ("sys_start", "sys_end", "app_start", "app_end")
SIDES = ("starts", "ends")


def save_index(path: "str | os.PathLike[str]", index: "BitemporalIndex") -> None:
    """Write an index to one file."""
    lines, numbers = index._lines, index._numbers
    arrays: storage.Arrays = {name: getattr(lines.columns, name).values for name in COLUMNS}
    arrays["ended"] = lines.ended.values
    for side in SIDES:
        buckets: Buckets = getattr(lines, side)
        arrays[f"{side}.newest"] = buckets.newest
        arrays[f"{side}.filled"] = buckets.filled
        arrays[f"{side}.earlier"] = buckets.earlier
        arrays[f"{side}.pool"] = buckets.pool
    for k, checkpoint in enumerate(lines.checkpoints):
        arrays[f"checkpoint.{k}.by_start"] = checkpoint.by_start
        arrays[f"checkpoint.{k}.by_end"] = checkpoint.by_end
    if numbers.numbers is not None and numbers.places is not None:
        arrays["numbers"], arrays["places"] = numbers.numbers.values, numbers.places.values
    if index._tables:
        arrays["table"] = table_bytes(pa.concat_tables(index._tables))
    meta = {
        "sys_period": _period_fields(index._sys_period),
        "app_period": _period_fields(index._app_period),
        "retroactive": index._retroactive,
        "bucket": lines.bucket,
        "checkpoint_every": index._checkpoint_every,
        "latest": lines.columns.latest,
        "total": numbers.total,
        "in_order": numbers.in_order,
        "gridded": lines.gridded,
        "since_checkpoint": lines.since_checkpoint,
        "checkpoints": [[checkpoint.at, checkpoint.rows] for checkpoint in lines.checkpoints],
        "grids": {side: _grid_fields(getattr(lines, side)) for side in SIDES},
    }
    storage.save(path, KIND, VERSION, arrays, meta)


def load_index(path: "str | os.PathLike[str]", cls: "type[BitemporalIndex]") -> "BitemporalIndex":
    """Read an index from its file."""
    return storage.restore(path, KIND, VERSION, lambda arrays, meta: _index(arrays, meta, cls))


def _index(arrays: storage.Arrays, meta: dict[str, Any], cls: "type[BitemporalIndex]") -> "BitemporalIndex":
    check_index(arrays, meta)
    index = cls(
        sys_period=Period(*meta["sys_period"]),
        app_period=Period(*meta["app_period"]),
        retroactive=meta["retroactive"],
        bucket=meta["bucket"],
        checkpoint_every=meta["checkpoint_every"],
    )
    lines, numbers = index._lines, index._numbers
    lines.bucket = meta["bucket"]
    for name in COLUMNS:
        setattr(lines.columns, name, GrowingArray.of(arrays[name]))
    lines.columns.latest = meta["latest"]
    lines.ended = GrowingArray.of(arrays["ended"])
    for side in SIDES:
        setattr(lines, side, _buckets(arrays, side, meta["grids"][side]))
    lines.checkpoints = tuple(
        Checkpoint(at, rows, arrays[f"checkpoint.{k}.by_start"], arrays[f"checkpoint.{k}.by_end"])
        for k, (at, rows) in enumerate(meta["checkpoints"])
    )
    lines.gridded, lines.since_checkpoint = meta["gridded"], meta["since_checkpoint"]
    numbers.total, numbers.in_order = meta["total"], meta["in_order"]
    if "numbers" in arrays:
        numbers.numbers, numbers.places = GrowingArray.of(arrays["numbers"]), GrowingArray.of(arrays["places"])
    storage.require("table" in arrays or not meta["total"], "there are rows, but no table")
    if "table" in arrays:
        table = bytes_table(arrays["table"])
        storage.require(table.num_rows == meta["total"], "the table has another number of rows")
        index._tables = [table]
        index._types = (
            TimeType.of(table.schema.field(index._sys_period.start).type, index._sys_period.start, "bitemporal"),
            TimeType.of(table.schema.field(index._app_period.start).type, index._app_period.start, "bitemporal"),
        )
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
    buckets = Buckets(Grid(*grid[:3]))
    buckets.newest = arrays[f"{side}.newest"]
    buckets.filled = arrays[f"{side}.filled"]
    buckets.earlier = arrays[f"{side}.earlier"]
    buckets.pool = arrays[f"{side}.pool"]
    buckets.blocks = grid[3]
    return buckets


def _grid_fields(buckets: Buckets) -> list[int]:
    return [buckets.grid.base, buckets.grid.width, buckets.grid.buckets, buckets.blocks]


def _period_fields(period: Period) -> list[Any]:
    """A period as JSON; sentinels of dates and timestamps as their ISO texts, which read the same."""
    sentinels = [value if isinstance(value, int) else str(value) for value in period.sentinels]
    return [period.start, period.end, period.closed, sentinels or None, period.truncate]
