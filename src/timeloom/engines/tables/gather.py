"""Result tables from row positions: the payload never passes through a kernel."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeloom.engines.resources.threads import SMALL, in_parallel
from timeloom.engines.tables.arrays import from_numpy
from timeloom.engines.tables.taking import stacked, taken, without_columns
from timeloom.engines.tables.ticks import whole

Rows = NDArray[np.integer]

NO_ROW = -1
"""The position of a row that does not exist: its columns are null."""

_SLICE = 4_000_000


class Source:
    """A table to take rows from, each column in one piece."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self._whole: dict[str, pa.Array] = {}

    def column(self, name: str) -> pa.Array:
        """A column in one piece."""
        if name not in self._whole:
            self._whole[name] = whole(self._table[name])
        return self._whole[name]

    def take(self, name: str, rows: pa.Array, threads: int = 1) -> pa.ChunkedArray:
        """Rows of a column, in as many pieces as there are threads; null positions give null."""
        column = self.column(name)
        parts = max(threads if len(rows) >= SMALL else 1, -(-len(rows) // _SLICE))
        edges = pairwise(len(rows) * part // parts for part in range(parts + 1))
        slices = [rows.slice(first, last - first) for first, last in edges]
        return pa.chunked_array(
            in_parallel([partial(taken, column, part, name) for part in slices], threads), column.type
        )

    def plain(self, name: str) -> NDArray[np.generic] | None:
        """A column as a NumPy array if it is of fixed width and without nulls."""
        column = self.column(name)
        width = column.type.bit_width if pa.types.is_primitive(column.type) else 0
        if width not in (8, 16, 32, 64) or column.null_count or pa.types.is_float16(column.type):
            return None
        return np.frombuffer(column.buffers()[1], f"i{width // 8}", len(column), column.offset * width // 8)


def positions(rows: Rows) -> pa.Array:
    """Row positions for Arrow; NO_ROW becomes null."""
    missing = rows == NO_ROW
    return from_numpy(rows, mask=missing) if missing.any() else from_numpy(rows)


def build(columns: Sequence[tuple[str, Callable[[], pa.ChunkedArray]]], rows: int, threads: int) -> pa.Table:
    """Make a table from columns that are computed side by side."""
    arrays = in_parallel([make for _, make in columns], threads if rows >= SMALL else 1)
    if not columns:
        return without_columns(rows)
    return pa.Table.from_arrays(arrays, names=[name for name, _ in columns])


def from_values(pages: list[NDArray[np.generic]], kind: pa.DataType) -> pa.ChunkedArray:
    """An Arrow column of this type from the bytes of NumPy arrays."""
    chunks = [pa.Array.from_buffers(kind, page.size, [None, pa.py_buffer(page)]) for page in pages]
    return pa.chunked_array(chunks, kind)


def in_pieces(assemble: Callable[[Any, int], pa.Table], pieces: Sequence[Any], rows: int, threads: int) -> pa.Table:
    """A table assembled piece by piece: several pieces at a time, or one piece with several threads."""
    threads = threads if rows >= SMALL else 1
    inside = 1 if len(pieces) >= threads else threads
    tables = in_parallel([partial(assemble, piece, inside) for piece in pieces], threads if inside == 1 else 1)
    return stacked(tables)
