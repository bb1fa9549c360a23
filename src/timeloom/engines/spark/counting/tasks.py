"""What the Spark tasks of a counting join do: Arrow batches in, the local engine's counting, Arrow batches out.

A left row that only one task has finds all its partners there, so that task knows its count. Of a left row with copies
in several tasks each counts the pairs that belong to its slices. Such a count depends on the period and the key alone:
tasks report it by these, once for all equal ones, and the reports are added up.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from timeloom.engines.counts.aggregates import aggregate
from timeloom.engines.counts.counting import Counting, counts_by
from timeloom.engines.spark.counting.parts import Part, part_values
from timeloom.engines.spark.exchange.packed_rows import JoinRows, PackedSide
from timeloom.engines.spark.matching.tasks import Matcher, batch_rows, one_of_each, problem_of
from timeloom.engines.spark.slicing.join_parts import JoinPart
from timeloom.engines.tables.arrays import from_numpy, to_numpy
from timeloom.engines.tables.keys import group_keys
from timeloom.kernels.counts.dominance_extremes import NONE
from timeloom.kernels.counts.top_k import top_rows, top_rows_by_group
from timeloom.kernels.slicing.copies import END_HERE, SOLE, START_HERE
from timeloom.model.box import Box
from timeloom.model.measures import Measure

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Best:
    """Which rows of a task may be among the k highest: ``by`` are the grouping columns in packed rows."""

    k: int
    by: tuple[str, ...]

    def rows(self, held: JoinRows, left: PackedSide, counts: Numbers) -> NDArray[np.int32]:
        """The rows, with all that equal the k-th: another task may have fewer."""
        if not self.by:
            return top_rows(counts, self.k, all_ties=True)
        rows = from_numpy(left.rows)
        groups, _ = group_keys(pa.table({name: held.source.take(name, rows) for name in self.by}), list(self.by))
        return top_rows_by_group(counts, groups, self.k, all_ties=True)


@dataclass(frozen=True)
class CountTask:
    """Counts for the left rows that no other task has, and writes them out. ``packed`` says where columns stand.

    Rows come in no order. If the order of partners matters, they are put into that of their periods and ``ordered``.
    """

    matcher: Matcher
    boxes: tuple[Box, ...]
    algorithm: str
    measures: tuple[Measure, ...]
    packed: tuple[dict[str, int], dict[str, int]]
    names: tuple[str, ...]
    best: Best | None = None
    ordered: tuple[str, ...] = ()

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Count the rows of one partition."""
        for held in self.matcher.held(batches):
            yield from self._counted(held)

    def _counted(self, held: JoinRows) -> Iterator[pa.RecordBatch]:
        left = held.left.where((held.left.bits & SOLE) != 0)
        held = replace(held, right=_in_order(held, self.ordered)) if self.ordered else held
        problem = problem_of(left, held.right, held.keys)
        counting = cache(partial(Counting, problem, self.boxes))
        counts = counts_by(self.algorithm, problem, counting)
        values = _right_values(held, self.measures, self.packed[1])
        found = [from_numpy(counts), *(aggregate(counting(), counts, values, measure) for measure in self.measures)]
        rows = left.rows
        if self.best is not None:
            kept = self.best.rows(held, left, counts)
            rows, found = rows[kept], [column.take(from_numpy(kept)) for column in found]
        size = batch_rows(held)
        for first in range(0, rows.size, size):
            at = from_numpy(rows[first : first + size])
            taken = [held.source.take(f"p{position}", at).combine_chunks() for position in self.packed[0].values()]
            yield pa.RecordBatch.from_arrays([*taken, *(column.slice(first, size) for column in found)], self.names)


@dataclass(frozen=True)
class PartialCountTask:
    """Counts the pairs of this task for left rows that others have, too: by period and key."""

    matcher: Matcher
    parts: tuple[Part, ...]
    packed: dict[str, int]
    names: tuple[str, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Count the rows of one partition."""
        for held in self.matcher.held(batches):
            left = one_of_each(held.left.where((held.left.bits & SOLE) == 0))
            counting = JoinPartCounting(left, held.right, held.keys, self.matcher.parts)
            counts = counting.counts()
            values = _right_values(held, [part.measure for part in self.parts], self.packed)
            parts = [part_values(part, counting, counts, values) for part in self.parts]
            some = from_numpy(np.flatnonzero(counts))
            keys = [held.source.take(name, from_numpy(left.rows)).combine_chunks() for name in self.matcher.left.keys]
            columns = [from_numpy(left.starts), from_numpy(left.ends), *keys, from_numpy(counts), *parts]
            yield pa.RecordBatch.from_arrays([column.take(some) for column in columns], self.names)


class JoinPartCounting:
    """Counts over the join parts of a relation, each between the rows of a slice to which its pairs belong."""

    def __init__(self, left: PackedSide, right: PackedSide, keys: int, join_parts: tuple[JoinPart, ...]) -> None:
        self.left, self.right = left, right
        self.parts = [self._part(join_part, keys) for join_part in join_parts]

    def counts(self) -> Numbers:
        """How many right rows each left row has."""
        total = np.zeros(self.left.rows.size, np.int64)
        for lefts, _, counting in self.parts:
            total[lefts] += counting.counts()
        return total

    def sums(self, weights: Numbers) -> Numbers:
        """The sum of a weight over the right rows of each left row; the weights must not overflow."""
        total = np.zeros(self.left.rows.size, np.int64)
        for lefts, rights, counting in self.parts:
            total[lefts] += counting.sums(weights[rights])
        return total

    def least(self, values: Numbers) -> Numbers:
        """The least value among the right rows of each left row, or NONE."""
        found = np.full(self.left.rows.size, NONE, np.int64)
        for lefts, rights, counting in self.parts:
            found[lefts] = np.minimum(found[lefts], counting.least(values[rights]))
        return found

    def _part(self, join_part: JoinPart, keys: int) -> tuple[Numbers, Numbers, Counting]:
        """The rows that a join part is about, by their positions on their sides; indexed ones only where they lie."""
        bit = END_HERE if join_part.driver.by_end else START_HERE
        chosen = [np.ones(side.rows.size, np.bool_) for side in (self.left, self.right)]
        indexed = 0 if join_part.indexed_side == "left" else 1
        chosen[indexed] = ((self.left, self.right)[indexed].bits & bit) != 0
        problem = problem_of(self.left.where(chosen[0]), self.right.where(chosen[1]), keys)
        return np.flatnonzero(chosen[0]), np.flatnonzero(chosen[1]), Counting(problem, (join_part.box,))


def _in_order(held: JoinRows, names: Sequence[str]) -> PackedSide:
    """The right rows by start, end and the values of some columns; those that have no order leave it as it is."""
    right = held.right
    rows = from_numpy(right.rows)
    columns = {name: held.source.take(name, rows) for name in names}
    table = pa.table({name: column for name, column in columns.items() if not pa.types.is_nested(column.type)})
    table = table.append_column("start", from_numpy(right.starts)).append_column("end", from_numpy(right.ends))
    sorting = [(name, "ascending") for name in ("start", "end", *table.column_names[:-2])]
    return right.take(to_numpy(pc.sort_indices(table, sorting)))


def _right_values(held: JoinRows, measures: Iterable[Measure], packed: dict[str, int]) -> pa.Table:
    """The right columns that are aggregated, under their own names."""
    rows = from_numpy(held.right.rows)
    names = dict.fromkeys(measure.column for measure in measures if measure.column is not None)
    return pa.table({name: held.source.take(f"p{packed[name]}", rows) for name in names})
