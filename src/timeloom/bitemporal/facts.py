"""Rows in a few Arrow chunks: what is appended is put together with what came shortly before."""

from bisect import bisect_right
from collections.abc import Callable
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeloom.engines.resources.threads import cores, gathered
from timeloom.engines.tables.gather import Source
from timeloom.engines.tables.taking import take_rows, taken
from timeloom.kernels.bitemporal.windows import Ticks

Chunks = tuple[pa.Table, ...]
Array = NDArray[np.generic]


def merged(chunks: Chunks) -> Chunks:
    """Put small chunks together with the ones before, so that there are few: each at least twice the next."""
    kept = list(chunks)
    while len(kept) > 1 and kept[-2].num_rows < 2 * kept[-1].num_rows:
        last = kept.pop()
        kept[-1] = pa.concat_tables([kept[-1], last], promote_options="default").combine_chunks()
    return tuple(kept)


class Facts:
    """Rows in chunks, which never change. Columns of numbers, in one piece and without nulls, are read as arrays."""

    def __init__(self, chunks: Chunks = ()) -> None:
        self.chunks = chunks

    def appended(self, table: pa.Table) -> "Facts":
        """These rows and more behind them."""
        return Facts(merged((*self.chunks, table)))

    def taken(self, rows: Ticks) -> list[pa.Table]:
        """Rows in ascending order: chunk by chunk, since Arrow would put the chunks together first."""
        cuts, edges = np.searchsorted(rows, self._edges), self._edges
        return [
            self._taken(at, rows[begin:end] - edges[at] if at else rows[begin:end])
            for at, (begin, end) in enumerate(pairwise(cuts.tolist()))
            if begin < end
        ]

    def values(self, row: int) -> tuple[Any, ...]:
        """The values of one row as Python has them."""
        at = bisect_right(self._edges, row) - 1
        position = row - self._edges[at]
        return tuple([read(position) for read in self._readers[at]])

    @cached_property
    def _edges(self) -> list[int]:
        """Where the chunks begin, and the end of the last."""
        return [0, *np.cumsum([chunk.num_rows for chunk in self.chunks], dtype=np.int64).tolist()]

    @cached_property
    def _arrays(self) -> "list[list[Array | None]]":
        return [_arrays(chunk) for chunk in self.chunks]

    @cached_property
    def _readers(self) -> list[list[Callable[[int], Any]]]:
        """For each column of a chunk what reads one value."""
        return [
            [_reader(column, values) for column, values in zip(chunk.columns, arrays, strict=True)]
            for chunk, arrays in zip(self.chunks, self._arrays, strict=True)
        ]

    def _taken(self, number: int, rows: Ticks) -> pa.Table:
        """Rows of a chunk: arrays by several threads, other columns by Arrow."""
        chunk, positions, columns = self.chunks[number], None, []
        for at, values in enumerate(self._arrays[number]):
            if values is not None:
                content = pa.py_buffer(gathered(values, rows, cores()))
                columns.append(pa.Array.from_buffers(chunk.schema.types[at], rows.size, [None, content]))
                continue
            positions = pa.array(rows) if positions is None else positions
            columns.append(taken(chunk.column(at), positions, chunk.column_names[at]))
        if not columns:
            return take_rows(chunk, pa.array(rows))
        return pa.Table.from_arrays(columns, schema=chunk.schema)


def _arrays(chunk: pa.Table) -> "list[Array | None]":
    source = Source(chunk)
    return [
        source.plain(name) if chunk.column(at).num_chunks == 1 else None for at, name in enumerate(chunk.column_names)
    ]


def _reader(column: pa.ChunkedArray, values: "Array | None") -> Callable[[int], Any]:
    if values is None or not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        return partial(_value, column)
    numbers: Array = values.view(column.type.to_pandas_dtype())
    return numbers.item


def _value(column: pa.ChunkedArray, row: int) -> Any:
    return column[row].as_py()
