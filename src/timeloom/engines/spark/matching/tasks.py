"""What a Spark task of the join does: Arrow batches in, the local engine's matching, Arrow batches out."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeloom.engines.counts.counting import exists
from timeloom.engines.joins.algorithms import find
from timeloom.engines.joins.drivers import exact_pieces
from timeloom.engines.joins.few_rows import FEW, FewScan, compiler_loaded, few_scans
from timeloom.engines.joins.forward_scan import Scan, drive
from timeloom.engines.joins.problem import Problem, Side
from timeloom.engines.joins.residual import judged
from timeloom.engines.spark.exchange.packed_rows import JoinRows, PackedSide, Reader, SideLayout
from timeloom.engines.spark.matching.pair_columns import PairColumns
from timeloom.engines.spark.matching.residual import NOTHING, Residual
from timeloom.engines.spark.slicing.join_parts import JoinPart
from timeloom.engines.tables.gather import NO_ROW, Rows
from timeloom.engines.tables.keys import NO_KEY
from timeloom.kernels.slicing.copies import END_HERE, SOLE, START_HERE
from timeloom.model.naming import OutputColumn
from timeloom.model.policy import Policy

BATCH_BYTES = 2 << 20
"""About how large a batch of results may be: no larger than what processors keep close."""

FEW_BYTES = 4 << 20
"""Rows with more bytes are not few: what they share windows for takes more than the compiler."""

Values = tuple[NDArray[np.generic], NDArray[np.generic]]
"""A value for each packed row, to be written for the left and for the right rows of pairs."""


@dataclass(frozen=True)
class Matcher:
    """Finds the pairs among the rows of a task. Pairs are positions in the task's packed rows."""

    reader: Reader
    left: SideLayout
    right: SideLayout
    parts: tuple[JoinPart, ...]
    policy: Policy
    algorithm: str
    residual: Residual = NOTHING

    def held(self, batches: Iterator[pa.RecordBatch]) -> Iterator[JoinRows]:
        """Everything that the task receives."""
        for packed in self.reader.read(batches):
            yield JoinRows.of(packed, (self.left, self.right), self.policy)

    def pairs(self, held: JoinRows, rows: int, values: Values | None = None) -> Iterator[tuple[Rows, Rows]]:
        """All pairs, in batches of at most so many: as positions, or as the values that the packed rows have."""
        keep = self.residual.keep(held) if self.residual.of_pairs else None
        for part in self.parts:
            left, right, problem = self._posed(held, part)
            given = (left.rows, right.rows) if values is None else (values[0][left.rows], values[1][right.rows])
            few = self._few(held, part, problem) if keep is None and self.algorithm == "auto" else None
            if few is not None:
                yield from (pairs for scan in few for pairs in scan.listed(given[0], given[1], rows))
                continue
            found = find(problem, (part.box,), self.algorithm)
            yield from (found if keep is None else judged(found, keep)).batches(rows, *given)

    def scans(self, held: JoinRows) -> Iterator[tuple[Scan, PackedSide, PackedSide]]:
        """Forward scans whose runs are the pairs, and the rows that they are about, if the relation has such.

        What is in order need not be sorted again for each part; rows with keys are sorted by these first.
        """
        if len(self.parts) > 1 and not held.keys and len(held) > FEW:
            held = replace(held, left=held.left.by_start(), right=held.right.by_start())
        for part in self.parts:
            left, right, problem = self._posed(held, part)
            for scan in self._few(held, part, problem) or drive(problem, exact_pieces(part.box) or ()):
                yield scan, left, right

    def _few(self, held: JoinRows, part: JoinPart, problem: Problem) -> list[FewScan] | None:
        """Scans without kernels, where the compiler is not loaded and rows are too few to wait for it."""
        if compiler_loaded() or len(held) > FEW or held.packed.table.nbytes > FEW_BYTES:
            return None
        pieces = exact_pieces(part.box)
        return few_scans(problem, pieces) if pieces else None

    def matched(self, held: JoinRows) -> NDArray[np.bool_]:
        """Which of the packed left rows are in a pair. Unless an algorithm is asked for, no pair is listed."""
        return self.exists(held, "left", held.left) if self.algorithm == "auto" else self._seen(held, "left")

    def _seen(self, held: JoinRows, side: str) -> NDArray[np.bool_]:
        """Which of the packed rows of a side are in a pair, told by the pairs."""
        seen = np.zeros(len(held), np.bool_)
        for lefts, rights in self.pairs(held, 1 << 20):
            seen[lefts if side == "left" else rights] = True
        return seen

    def exists(self, held: JoinRows, side: str, rows: PackedSide) -> NDArray[np.bool_]:
        """Which of the packed rows are among some rows of a side, and in a pair: partners are counted, not listed.

        If pairs are judged, they are listed page by page.
        """
        if self.residual.of_pairs:
            return self._seen(replace(held, left=rows) if side == "left" else replace(held, right=rows), side)
        seen = np.zeros(len(held), np.bool_)
        for part in self.parts:
            open_rows = rows.where(~seen[rows.rows])
            left, right = (open_rows, held.right) if side == "left" else (held.left, open_rows)
            left, right = self._sides(replace(held, left=left, right=right), part)
            own, other, box = (left, right, part.box) if side == "left" else (right, left, part.box.inverse())
            if own.rows.size and other.rows.size:
                seen[own.rows[exists(problem_of(own, other, held.keys), (box,))]] = True
        return seen

    def _sides(self, held: JoinRows, part: JoinPart) -> tuple[PackedSide, PackedSide]:
        """Both sides for a part: of the indexed one only the rows whose point lies here."""
        left, right = self.residual.eligible(held.left), self.residual.eligible(held.right)
        bit = END_HERE if part.driver.by_end else START_HERE
        if part.indexed_side == "left":
            return left.where((left.bits & bit) != 0), right
        return left, right.where((right.bits & bit) != 0)

    def _posed(self, held: JoinRows, part: JoinPart) -> tuple[PackedSide, PackedSide, Problem]:
        """Both sides for a part, and what is to be found."""
        left, right = self._sides(held, part)
        return left, right, problem_of(left, right, held.keys)


@dataclass(frozen=True)
class JoinTask:
    """Joins the rows of one partition.

    Rows without a partner are written here only if no other task has a copy of them.
    """

    matcher: Matcher
    how: str
    columns: tuple[OutputColumn, ...]
    pairs: PairColumns

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Join one partition."""
        for held in self.matcher.held(batches):
            rows = batch_rows(held)
            values = self._plain(held)
            if values is not None:
                yield from self._written(held, rows, values)
                continue
            for lefts, rights in self._found(held, rows):
                for first in range(0, lefts.size, rows):
                    yield self._assemble(held, lefts[first : first + rows], rights[first : first + rows])

    def _plain(self, held: JoinRows) -> Values | None:
        """The values of the result, if it is pairs of one plain column of each side: these need no positions.

        Only values of eight bytes: for each other width the kernels would have to be compiled once more.
        """
        plain = sorted(column.origin for column in self.columns) == ["left", "right"]
        if self.how != "inner" or not plain or self.matcher.residual.of_pairs:
            return None
        left, right = (held.source.plain(f"p{position}") for position in self._pair_positions())
        if left is None or right is None or left.itemsize != 8 or right.itemsize != 8:
            return None
        return left, right

    def _pair_positions(self) -> list[int]:
        """Where the two columns of the result stand, the left one first."""
        left, right = sorted(self.columns, key=lambda column: column.origin)
        packed = self.pairs.packed
        return [packed[0][left.left], packed[1][right.right]]

    def _written(self, held: JoinRows, rows: int, values: Values) -> Iterator[pa.RecordBatch]:
        kinds = [held.source.column(f"p{position}").type for position in self._pair_positions()]
        names = [column.name for column in self.columns]
        order = 1 if self.columns[0].origin == "left" else -1
        for pair in self.matcher.pairs(held, rows, values):
            arrays = [
                pa.Array.from_buffers(kind, part.size, [None, pa.py_buffer(part)])
                for part, kind in zip(pair, kinds, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(arrays[::order], names=names)

    def _found(self, held: JoinRows, rows: int) -> Iterator[tuple[Rows, Rows]]:
        if self.how in ("semi", "anti"):
            sole = held.left.where((held.left.bits & SOLE) != 0)
            matched = self.matcher.matched(replace(held, left=sole))
            yield _alone(sole, matched == (self.how == "semi"))
            return
        seen = np.zeros(len(held), np.bool_)
        for lefts, rights in self.matcher.pairs(held, rows):
            if self.how != "inner":
                seen[lefts] = True
                seen[rights] = True
            yield lefts, rights
        if self.how in ("left", "full"):
            yield _alone(held.left, ~seen)
        if self.how in ("right", "full"):
            yield _alone(held.right, ~seen)[::-1]

    def _assemble(self, held: JoinRows, lefts: Rows, rights: Rows) -> pa.RecordBatch:
        """Gather the output columns for pairs of packed rows."""
        arrays = [self.pairs.of(held, column, lefts, rights) for column in self.columns]
        if not arrays:
            return pa.RecordBatch.from_struct_array(pa.array([{}] * lefts.size, pa.struct([])))
        return pa.RecordBatch.from_arrays(arrays, names=[column.name for column in self.columns])


def problem_of(left: PackedSide, right: PackedSide, keys: int) -> Problem:
    """The problem of numbers that two sides pose."""
    return Problem.of(Side(left.starts, left.ends, left.keys), Side(right.starts, right.ends, right.keys), keys)


def one_of_each(side: PackedSide) -> PackedSide:
    """One row of each period and key. Rows of different slices have different keys; those without a key go."""
    keys = np.zeros(side.rows.size, np.int64) if side.keys is None else side.keys
    order = np.lexsort((side.ends, side.starts, keys))
    first = np.ones(order.size, np.bool_)
    first[1:] = False
    for column in (keys, side.starts, side.ends):
        first[1:] |= np.diff(column[order]) != 0
    chosen = np.zeros(order.size, np.bool_)
    chosen[order[first]] = True
    return side.where(chosen & (keys != NO_KEY))


def batch_rows(held: JoinRows) -> int:
    """How many rows a batch of results has, if they are about as large as those of the task."""
    return int(min(1 << 20, max(1 << 12, BATCH_BYTES // max(16, held.row_bytes))))


def _alone(side: PackedSide, chosen: NDArray[np.bool_]) -> tuple[Rows, Rows]:
    """The chosen rows of a side, without partners; only those that no other task has."""
    rows = side.rows[chosen[side.rows] & ((side.bits & SOLE) != 0)]
    return rows, np.full(rows.size, NO_ROW, np.int32)
