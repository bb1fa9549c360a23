"""What a Spark task of an as-of or nearest join does: it finds the right rows next to each left row."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from timeloom.engines.joins.as_of import partners_of
from timeloom.engines.joins.nearest import neighbours
from timeloom.engines.joins.problem import Side
from timeloom.engines.spark.exchange.packed_rows import JoinRows, PackedSide, Reader, SideLayout
from timeloom.engines.spark.matching.pair_columns import PairColumns
from timeloom.engines.spark.matching.tasks import batch_rows
from timeloom.engines.tables.gather import NO_ROW, Rows
from timeloom.engines.tables.overlap import span_column
from timeloom.engines.tables.ticks import Ticks
from timeloom.engines.tables.value_order import Numbers, by_values
from timeloom.model.naming import OutputColumn
from timeloom.model.neighbours import AsOfRequest, NearestRequest
from timeloom.model.policy import Policy


class Neighbours(NamedTuple):
    """Pairs of packed rows, and how far they are apart; a left row without a neighbour has NO_ROW beside it."""

    lefts: Rows
    rights: Rows
    far: Ticks | None

    def part(self, first: int, rows: int) -> "Neighbours":
        """Some of them."""
        chosen = slice(first, first + rows)
        return Neighbours(self.lefts[chosen], self.rights[chosen], None if self.far is None else self.far[chosen])


@dataclass(frozen=True)
class NeighbourTask:
    """Finds neighbours among the rows of one partition; ``furthest`` is the largest distance, in ticks.

    Right rows that are level in time are told apart by their values, in the columns of ``order``.
    """

    reader: Reader
    layouts: tuple[SideLayout, SideLayout]
    policy: Policy
    request: AsOfRequest | NearestRequest
    furthest: int
    order: tuple[str, ...]
    columns: tuple[OutputColumn, ...]
    pairs: PairColumns

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Find the neighbours in one partition."""
        for packed in self.reader.read(batches):
            held = JoinRows.of(packed, self.layouts, self.policy)
            found, rows = self.found(held), batch_rows(held)
            for first in range(0, found.lefts.size, rows):
                yield self._assembled(held, found.part(first, rows))

    def found(self, held: JoinRows) -> Neighbours:
        """The neighbours of all left rows, as positions among the rows of the task."""
        ours, theirs = (Side(side.starts, side.ends, side.keys) for side in (held.left, held.right))
        settle = partial(settled, held, self.order)
        if isinstance(self.request, NearestRequest):
            lefts, rights, far = neighbours(ours, theirs, held.keys, self.request, self.furthest, 1, settle)
            return Neighbours(held.left.rows[lefts], _rows(held.right, rights), far)
        rights = partners_of(ours, theirs, held.keys, self.request, self.furthest, 1, settle)
        some = rights != NO_ROW if self.request.how == "inner" else slice(None)
        return Neighbours(held.left.rows[some], _rows(held.right, rights[some]), None)

    def _assembled(self, held: JoinRows, found: Neighbours) -> pa.RecordBatch:
        """The output columns of some neighbours."""
        arrays = []
        for column in self.columns:
            if column.origin == "distance" and found.far is not None:
                absent = found.rights == NO_ROW
                arrays.append(span_column(found.far, self.pairs.axis, absent if absent.any() else None))
            else:
                arrays.append(self.pairs.of(held, column, found.lefts, found.rights))
        if not arrays:
            return pa.RecordBatch.from_struct_array(pa.array([{}] * found.lefts.size, pa.struct([])))
        return pa.RecordBatch.from_arrays(arrays, names=[f"c{at}" for at in range(len(arrays))])


def settled(held: JoinRows, columns: tuple[str, ...], rows: Numbers, groups: Numbers) -> Numbers:
    """Right rows that are level, in ascending groups, those of a group in the order of their values in columns."""
    numbers = np.empty(len(held), np.int64)
    numbers[held.right.rows] = np.arange(held.right.rows.size)
    return numbers[by_values(held.packed.table.select(list(columns)), held.right.rows[rows].astype(np.int64), groups)]


def _rows(side: PackedSide, found: Rows) -> Rows:
    """Positions among the rows of a side as positions among those of the task."""
    return found if not side.rows.size else np.where(found == NO_ROW, NO_ROW, side.rows[found])
