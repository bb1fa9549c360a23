"""Rows in a few Arrow chunks: what is appended is put together with what came shortly before."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeloom.engines.resources.threads import cores, gathered
from timeloom.engines.tables.conditions import held
from timeloom.engines.tables.gather import Source
from timeloom.engines.tables.key_types import plain_values
from timeloom.engines.tables.taking import take_rows, taken
from timeloom.engines.tables.ticks import whole
from timeloom.kernels.bitemporal.windows import Ticks
from timeloom.model.conditions import Condition

Chunks = tuple[pa.Table, ...]


def merged(chunks: Chunks) -> Chunks:
    """Put small chunks together with the ones before, so that there are few: each at least twice the next."""
    kept = list(chunks)
    while len(kept) > 1 and kept[-2].num_rows < 2 * kept[-1].num_rows:
        last = kept.pop()
        kept[-1] = pa.concat_tables([kept[-1], last], promote_options="default").combine_chunks()
    return tuple(kept)


class Facts:
    """Chunks of rows to take from; columns of numbers, in one piece and without nulls, are held as arrays, too."""

    def __init__(self, chunks: Chunks) -> None:
        self._chunks = chunks
        self._edges = np.cumsum([0, *(chunk.num_rows for chunk in chunks)])
        self._arrays = [_arrays(chunk) for chunk in chunks]

    def taken(self, rows: Ticks) -> list[pa.Table]:
        """Rows in ascending order: chunk by chunk, since Arrow would put the chunks together first."""
        cuts, edges = np.searchsorted(rows, self._edges), self._edges
        return [
            self._taken(at, rows[begin:end] - edges[at] if at else rows[begin:end])
            for at, (begin, end) in enumerate(pairwise(cuts.tolist()))
            if begin < end
        ]

    def _taken(self, number: int, rows: Ticks) -> pa.Table:
        """Rows of a chunk: arrays by several threads, other columns by Arrow."""
        chunk, positions, columns = self._chunks[number], None, []
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


def _arrays(chunk: pa.Table) -> "list[NDArray[np.generic] | None]":
    source = Source(chunk)
    return [
        source.plain(name) if chunk.column(at).num_chunks == 1 else None for at, name in enumerate(chunk.column_names)
    ]


@dataclass(frozen=True)
class Payload:
    """The rows of an index by their numbers; ``positions`` says where a number stands."""

    schema: pa.Schema
    chunks: Chunks
    positions: Callable[[Ticks], Ticks]

    def rows(self, numbers: Ticks, columns: "list[str] | None" = None) -> pa.Table:
        """Rows by their numbers, in any order."""
        schema = self.schema if columns is None else pa.schema([self.schema.field(name) for name in columns])
        chunks = self.chunks if columns is None else tuple(chunk.select(columns) for chunk in self.chunks)
        rows = self.positions(numbers)
        if rows.size < 2 or bool((rows[1:] >= rows[:-1]).all()):
            return self._joined(schema, Facts(chunks).taken(rows))
        order = np.argsort(rows, kind="stable")
        back = np.empty(order.size, np.int64)
        back[order] = np.arange(order.size)
        return take_rows(self._joined(schema, Facts(chunks).taken(rows[order])), pa.array(back))

    def values(self, column: str, numbers: Ticks) -> pa.Array:
        """The values of one column."""
        return plain_values(whole(self.rows(numbers, [column])[column]))

    def satisfying(self, condition: Condition, numbers: Ticks) -> Ticks:
        """Those rows among some that satisfy a condition."""
        if not numbers.size:
            return numbers
        names = condition.resolve(self.schema.names)
        table = self.rows(numbers, list(dict.fromkeys(names.values())))
        columns = {name: table[column] for name, column in names.items()}
        return numbers[held(condition, columns, numbers.size)]

    @staticmethod
    def _joined(schema: pa.Schema, parts: list[pa.Table]) -> pa.Table:
        return pa.concat_tables([schema.empty_table(), *parts], promote_options="default")
