"""The columns of pairs in a task: what a result has, and what a condition reads."""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from timeloom.engines.spark.exchange.packed_rows import JoinRows
from timeloom.engines.tables.gather import NO_ROW, Rows, positions
from timeloom.engines.tables.overlap import overlap_column, overlap_length
from timeloom.engines.tables.period_writer import PeriodWriter
from timeloom.model.naming import OutputColumn
from timeloom.model.ticks import Axis


@dataclass(frozen=True)
class PairColumns:
    """Where the columns of both sides stand in a packed row, and how the time that two rows share is written."""

    packed: tuple[dict[str, int], dict[str, int]]
    writer: PeriodWriter
    axis: Axis

    def of(self, held: JoinRows, column: OutputColumn, lefts: Rows, rights: Rows) -> pa.Array:
        """One column of pairs of packed rows."""
        if column.origin in ("overlap_start", "overlap_end", "overlap_length"):
            return self._shared(held, column.origin, lefts, rights)
        at = positions(lefts), positions(rights)
        if column.origin == "right":
            return _taken(held, self.packed[1][column.right], at[1])
        values = _taken(held, self.packed[0][column.left], at[0])
        if column.origin == "left" or not at[0].null_count:
            return values
        others = _taken(held, self.packed[1][column.right], at[1])
        return pc.if_else(at[0].is_valid(), values, others.cast(values.type))

    def _shared(self, held: JoinRows, which: str, lefts: Rows, rights: Rows) -> pa.Array:
        times = (held.starts[lefts], held.ends[lefts]), (held.starts[rights], held.ends[rights])
        absent = (lefts == NO_ROW) | (rights == NO_ROW)
        if which == "overlap_length":
            return overlap_length(*times, absent, self.axis)
        return overlap_column(which, *times, absent, self.writer)


def _taken(held: JoinRows, position: int, rows: pa.Array) -> pa.Array:
    return held.source.take(f"p{position}", rows).combine_chunks()
