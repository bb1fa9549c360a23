"""What a Spark task of the join does: Arrow batches in, the local engine's matching, Arrow batches out."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from timeloom.engines.joins.algorithms import find
from timeloom.engines.joins.drivers import exact_pieces
from timeloom.engines.joins.forward_scan import Scan, drive
from timeloom.engines.joins.problem import Problem, Side
from timeloom.engines.spark.exchange.packed_rows import JoinRows, PackedSide, Reader, SideLayout
from timeloom.engines.spark.slicing.join_parts import JoinPart
from timeloom.engines.tables.gather import NO_ROW, Rows, positions
from timeloom.engines.tables.overlap import overlap_column
from timeloom.engines.tables.period_writer import PeriodWriter
from timeloom.kernels.slicing.copies import END_HERE, SOLE, START_HERE
from timeloom.model.naming import OutputColumn
from timeloom.model.policy import Policy

BATCH_BYTES = 2 << 20
"""About how large a batch of results may be: no larger than what processors keep close."""

Values = tuple[NDArray[np.generic], NDArray[np.generic]]
"""A value for each packed row, to be written for the left and for the right rows of pairs."""


@dataclass(frozen=True)
class Matcher:
    """Finds the pairs among the rows of a task. Pairs are positions in the task's packed rows."""

    reader: Reader
    left: SideLayout
    right: SideLayout
    pieces: tuple[JoinPart, ...]
    policy: Policy
    algorithm: str

    def parcels(self, batches: Iterator[pa.RecordBatch]) -> Iterator[JoinRows]:
        """Everything that the task receives."""
        for packed in self.reader.read(batches):
            yield JoinRows.of(packed, (self.left, self.right), self.policy)

    def pairs(self, parcel: JoinRows, rows: int, values: Values | None = None) -> Iterator[tuple[Rows, Rows]]:
        """All pairs, in batches of at most so many: as positions, or as the values that the packed rows have."""
        for piece in self.pieces:
            left, right, problem = _posed(parcel, piece)
            given = (left.rows, right.rows) if values is None else (values[0][left.rows], values[1][right.rows])
            yield from find(problem, (piece.box,), self.algorithm).batches(rows, *given)

    def scans(self, parcel: JoinRows) -> Iterator[tuple[Scan, PackedSide, PackedSide]]:
        """Forward scans whose runs are the pairs, and the rows that they are about, if the relation has such."""
        for piece in self.pieces:
            left, right, problem = _posed(parcel, piece)
            for scan in drive(problem, exact_pieces(piece.box) or ()):
                yield scan, left, right

    def matched(self, parcel: JoinRows) -> NDArray[np.bool_]:
        """Which of the packed rows are in a pair."""
        seen = np.zeros(len(parcel), np.bool_)
        for lefts, rights in self.pairs(parcel, 1 << 22):
            seen[lefts] = True
            seen[rights] = True
        return seen


@dataclass(frozen=True)
class JoinTask:
    """Joins the rows of one partition.

    Rows without a partner are written here only if no other task has a copy of them.
    """

    matcher: Matcher
    how: str
    columns: tuple[OutputColumn, ...]
    places: tuple[dict[str, int], dict[str, int]]
    writer: PeriodWriter

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Join one partition."""
        for parcel in self.matcher.parcels(batches):
            rows = int(min(1 << 20, max(1 << 12, BATCH_BYTES // max(16, parcel.row_bytes))))
            values = self._plain(parcel)
            if values is not None:
                yield from self._written(parcel, rows, values)
                continue
            for lefts, rights in self._found(parcel, rows):
                for first in range(0, lefts.size, rows):
                    yield self._assemble(parcel, lefts[first : first + rows], rights[first : first + rows])

    def _plain(self, parcel: JoinRows) -> Values | None:
        """The values of the result, if it is pairs of one plain column of each side: these need no positions.

        Only values of eight bytes: for each other width the kernels would have to be compiled once more.
        """
        if self.how != "inner" or sorted(column.origin for column in self.columns) != ["left", "right"]:
            return None
        left, right = (parcel.source.plain(f"p{place}") for place in self._places())
        if left is None or right is None or left.itemsize != 8 or right.itemsize != 8:
            return None
        return left, right

    def _places(self) -> list[int]:
        """Where the two columns of the result stand, the left one first."""
        left, right = sorted(self.columns, key=lambda column: column.origin)
        return [self.places[0][left.left], self.places[1][right.right]]

    def _written(self, parcel: JoinRows, rows: int, values: Values) -> Iterator[pa.RecordBatch]:
        kinds = [parcel.source.column(f"p{place}").type for place in self._places()]
        names = [column.name for column in self.columns]
        order = 1 if self.columns[0].origin == "left" else -1
        for pair in self.matcher.pairs(parcel, rows, values):
            arrays = [
                pa.Array.from_buffers(kind, part.size, [None, pa.py_buffer(part)])
                for part, kind in zip(pair, kinds, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(arrays[::order], names=names)

    def _found(self, parcel: JoinRows, rows: int) -> Iterator[tuple[Rows, Rows]]:
        if self.how in ("semi", "anti"):
            chosen = self.matcher.matched(parcel) == (self.how == "semi")
            yield _alone(parcel.left, chosen)
            return
        seen = np.zeros(len(parcel), np.bool_)
        for lefts, rights in self.matcher.pairs(parcel, rows):
            if self.how != "inner":
                seen[lefts] = True
                seen[rights] = True
            yield lefts, rights
        if self.how in ("left", "full"):
            yield _alone(parcel.left, ~seen)
        if self.how in ("right", "full"):
            yield _alone(parcel.right, ~seen)[::-1]

    def _assemble(self, parcel: JoinRows, lefts: Rows, rights: Rows) -> pa.RecordBatch:
        """Gather the output columns for pairs of packed rows."""
        at = positions(lefts), positions(rights)
        arrays = [self._column(parcel, column, at, lefts, rights) for column in self.columns]
        if not arrays:
            return pa.RecordBatch.from_struct_array(pa.array([{}] * lefts.size, pa.struct([])))
        return pa.RecordBatch.from_arrays(arrays, names=[column.name for column in self.columns])

    def _column(
        self, parcel: JoinRows, column: OutputColumn, at: tuple[pa.Array, pa.Array], lefts: Rows, rights: Rows
    ) -> pa.Array:
        if column.origin in ("overlap_start", "overlap_end"):
            times = (parcel.starts[lefts], parcel.ends[lefts]), (parcel.starts[rights], parcel.ends[rights])
            absent = (lefts == NO_ROW) | (rights == NO_ROW)
            return overlap_column(column.origin, *times, absent, self.writer)
        if column.origin == "right":
            return _taken(parcel, self.places[1][column.right], at[1])
        values = _taken(parcel, self.places[0][column.left], at[0])
        if column.origin == "left" or not at[0].null_count:
            return values
        others = _taken(parcel, self.places[1][column.right], at[1])
        return pc.if_else(at[0].is_valid(), values, others.cast(values.type))


@dataclass(frozen=True)
class MatchedTask:
    """Tells which rows of a side that are in several tasks have a partner here: by period and key, which decide it."""

    matcher: Matcher
    side: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Mark the rows of one partition."""
        layout = self.matcher.right if self.side == "right" else self.matcher.left
        for whole in self.matcher.parcels(batches):
            side = whole.right if self.side == "right" else whole.left
            side = side.where((side.bits & SOLE) == 0)
            parcel = replace(whole, right=side) if self.side == "right" else replace(whole, left=side)
            found = side.where(self.matcher.matched(parcel)[side.rows])
            keys = [parcel.source.take(place, pa.array(found.rows)).combine_chunks() for place in layout.keys]
            names = ["start", "end", *(f"k{number}" for number in range(len(keys)))]
            yield pa.RecordBatch.from_arrays([pa.array(found.starts), pa.array(found.ends), *keys], names=names)


def _sides(parcel: JoinRows, piece: JoinPart) -> tuple[PackedSide, PackedSide]:
    """Both sides for a piece: of the driven one only the rows whose point has its home here."""
    bit = END_HERE if piece.driver.by_end else START_HERE
    if piece.driven == "left":
        return parcel.left.where((parcel.left.bits & bit) != 0), parcel.right
    return parcel.left, parcel.right.where((parcel.right.bits & bit) != 0)


def _posed(parcel: JoinRows, piece: JoinPart) -> tuple[PackedSide, PackedSide, Problem]:
    """Both sides for a piece, and what is to be found."""
    left, right = _sides(parcel, piece)
    sides = Side(left.starts, left.ends, left.keys), Side(right.starts, right.ends, right.keys)
    return left, right, Problem.of(*sides, parcel.keys)


def _alone(side: PackedSide, chosen: NDArray[np.bool_]) -> tuple[Rows, Rows]:
    """The chosen rows of a side, without partners; only those that no other task has."""
    rows = side.rows[chosen[side.rows] & ((side.bits & SOLE) != 0)]
    return rows, np.full(rows.size, NO_ROW, np.int32)


def _taken(parcel: JoinRows, place: int, rows: pa.Array) -> pa.Array:
    return parcel.source.take(f"p{place}", rows).combine_chunks()
