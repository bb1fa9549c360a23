"""Whether what a file says about an index holds together: whatever is then done with it stays within its arrays."""

from typing import Any

import numpy as np
import pyarrow as pa

from timeloom.kernels.bitemporal.buckets import BLOCK
from timeloom.kernels.bitemporal.check import are_sound
from timeloom.model.ticks import MAX_TICK, MIN_TICK
from timeloom.storage import Arrays, require, require_int, require_vector

MOST_ROWS = 2**31 - 1


def check_index(arrays: Arrays, meta: dict[str, Any]) -> None:
    """Refuse arrays and metadata of an index that contradict each other."""
    rows = require_vector(arrays, "sys_start", np.int64).size
    require(rows <= MOST_ROWS, f"there are {rows} rows")
    for name in ("sys_end", "app_start", "app_end"):
        require_vector(arrays, name, np.int64, rows)
    starts = arrays["sys_start"]
    require((starts[1:] >= starts[:-1]).all(), "rows are out of order")
    latest = require_int(meta["latest"], "latest", MIN_TICK, MAX_TICK)
    require(not rows or starts[-1] <= latest, "a row begins after the latest system time")
    require_int(meta["gridded"], "gridded", 0, MOST_ROWS)
    require_int(meta["since_checkpoint"], "since_checkpoint", 0)
    for name, words in (("bucket", (None,)), ("checkpoint_every", (None, "auto"))):
        require(meta[name] in words or require_int(meta[name], name, 1), f"{name} is unusable")
    for name in ("retroactive", "in_order"):
        require(type(meta[name]) is bool, f"{name} is neither true nor false")
    _require_rows(require_vector(arrays, "ended", np.int32), rows, "ended")
    for side, column in (("starts", "app_start"), ("ends", "app_end")):
        _check_buckets(arrays, side, meta["grids"][side], arrays[column])
    for k, (at, known) in enumerate(meta["checkpoints"]):
        require_int(at, "checkpoint", MIN_TICK, latest)
        require_int(known, "checkpoint", 0, rows)
        for part in ("by_start", "by_end"):
            _require_rows(require_vector(arrays, f"checkpoint.{k}.{part}", np.int32), known, part)
    _check_numbers(arrays, meta, rows)
    stored = 0
    if "table" in arrays:
        stored = pa.ipc.open_stream(pa.py_buffer(require_vector(arrays, "table", np.uint8))).read_all().num_rows
    kept = rows if meta.get("held", False) and not meta["retroactive"] else meta["total"]
    require(stored == kept, f"there are {stored} rows in the table, and {kept} are expected")


def _check_buckets(arrays: Arrays, side: str, grid: Any, instants: np.ndarray[Any, Any]) -> None:
    base, width, buckets, blocks = grid
    require_int(base, "base")
    require_int(buckets, "buckets", 1, MOST_ROWS)
    require_int(width, "width", 1)
    require_int(base + width * buckets, "the end of the grid")
    newest = require_vector(arrays, f"{side}.newest", np.int32, buckets)
    filled = require_vector(arrays, f"{side}.filled", np.int32, buckets)
    earlier = require_vector(arrays, f"{side}.earlier", np.int32)
    pool = require_vector(arrays, f"{side}.pool", np.int32, earlier.size * BLOCK)
    require_int(blocks, "blocks", 0, earlier.size)
    require(
        are_sound(instants, base, width, newest, filled, earlier, pool, blocks), f"the buckets of {side} are broken"
    )


def _check_numbers(arrays: Arrays, meta: dict[str, Any], rows: int) -> None:
    """Each row has a number of its own, and the number leads back to it; those of forgotten rows lead nowhere."""
    total = require_int(meta["total"], "total", 0, MOST_ROWS)
    if "numbers" not in arrays and "places" not in arrays:
        require(total == rows, f"there are {rows} rows, and numbers for {total}")
        return
    numbers = require_vector(arrays, "numbers", np.int64, rows)
    positions = require_vector(arrays, "places", np.int64, total)
    _require_rows(numbers, total, "numbers")
    require(((positions >= -1) & (positions < rows)).all(), "a number leads to no row")
    require((positions[numbers] == np.arange(rows)).all(), "a number leads to another row")
    require(int((positions >= 0).sum()) == rows, "a number leads to a row that has another")


def _require_rows(found: np.ndarray[Any, Any], rows: int, what: str) -> None:
    require(not found.size or (found.min() >= 0 and found.max() < rows), f"{what} has a row that does not exist")
