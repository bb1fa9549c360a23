"""What a Spark task of the join does: Arrow batches in, the local engine's matching, Arrow batches out."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import pyarrow as pa
import pyarrow.compute as pc

from timeloom.engines.algorithms import find
from timeloom.engines.local.gather import NO_ROW, Rows, positions
from timeloom.engines.matching import Problem, Side
from timeloom.engines.overlap import overlap_column
from timeloom.engines.spark.parcels import END_HOME, START_HOME, PackedSide, Parcel, SideLayout
from timeloom.engines.spark.pieces import Piece
from timeloom.model.naming import OutputColumn
from timeloom.model.policy import Policy

BATCH_BYTES = 16 << 20
"""About how large a batch of results may be."""


@dataclass(frozen=True)
class JoinTask:
    """Joins the rows of one partition. Pairs are rows of the packed table; payload is taken by position."""

    left: SideLayout
    right: SideLayout
    pieces: tuple[Piece, ...]
    columns: tuple[OutputColumn, ...]
    places: tuple[dict[str, int], dict[str, int]]
    policy: Policy
    algorithm: str
    partitions: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Join one partition."""
        parcel = Parcel.read(batches, (self.left, self.right), self.policy, self.partitions)
        if parcel is None:
            return
        for lefts, rights in self.pairs(parcel):
            yield self.assemble(parcel, lefts, rights)

    def pairs(self, parcel: Parcel) -> Iterator[tuple[Rows, Rows]]:
        """All pairs as rows of the packed table, in batches."""
        for piece in self.pieces:
            left, right = self._sides(parcel, piece)
            problem = Problem.of(
                Side(left.starts, left.ends, left.keys), Side(right.starts, right.ends, right.keys), parcel.keys
            )
            for source in find(problem, (piece.box,), self.algorithm).sources:
                step = self._batch_rows(parcel)
                for first in range(0, source.candidates, step):
                    last = min(first + step, source.candidates)
                    lefts, rights = source.write_range(left.rows, right.rows, first, last)
                    if lefts.size:
                        yield cast("Rows", lefts), cast("Rows", rights)

    def assemble(self, parcel: Parcel, lefts: Rows, rights: Rows) -> pa.RecordBatch:
        """Gather the output columns for pairs of packed rows."""
        at = positions(lefts), positions(rights)
        arrays = [self._column(parcel, column, at, lefts, rights) for column in self.columns]
        if not arrays:
            return pa.RecordBatch.from_struct_array(pa.array([{}] * lefts.size, pa.struct([])))
        return pa.RecordBatch.from_arrays(arrays, names=[column.name for column in self.columns])

    def _sides(self, parcel: Parcel, piece: Piece) -> tuple[PackedSide, PackedSide]:
        """Both sides for a piece: of the driven one only the rows whose point has its home here."""
        bit = END_HOME if piece.driver.by_end else START_HOME
        if piece.driven == "left":
            return parcel.left.taken((parcel.left.bits & bit) != 0), parcel.right
        return parcel.left, parcel.right.taken((parcel.right.bits & bit) != 0)

    def _batch_rows(self, parcel: Parcel) -> int:
        width = max(16, parcel.bytes // parcel.size)
        return int(min(1 << 20, max(1 << 12, BATCH_BYTES // width)))

    def _column(
        self, parcel: Parcel, column: OutputColumn, at: tuple[pa.Array, pa.Array], lefts: Rows, rights: Rows
    ) -> pa.Array:
        if column.origin in ("overlap_start", "overlap_end"):
            times = (parcel.starts[lefts], parcel.ends[lefts]), (parcel.starts[rights], parcel.ends[rights])
            absent = (lefts == NO_ROW) | (rights == NO_ROW)
            return overlap_column(column.origin, *times, absent, (parcel.left.ticks, parcel.right.ticks))
        if column.origin == "right":
            return _taken(parcel, self.places[1][column.right], at[1])
        values = _taken(parcel, self.places[0][column.left], at[0])
        if column.origin == "left" or not at[0].null_count:
            return values
        others = _taken(parcel, self.places[1][column.right], at[1])
        return pc.if_else(at[0].is_valid(), values, others.cast(values.type))


def _taken(parcel: Parcel, place: int, rows: pa.Array) -> pa.Array:
    return parcel.source.take(f"p{place}", rows).combine_chunks()
