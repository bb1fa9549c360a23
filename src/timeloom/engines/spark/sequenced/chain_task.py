"""What a task of a sequenced join does: one table after the other is joined to what there is, in positions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import types as T

from timeloom.engines.joins.problem import Side
from timeloom.engines.spark.cluster.versions import to_arrow_schema
from timeloom.engines.spark.sequenced.chain_parts import Arrivals, Part, shared_ids
from timeloom.engines.tables.conditions import held
from timeloom.engines.tables.gather import NO_ROW, Source, positions
from timeloom.engines.tables.period_writer import PeriodWriter
from timeloom.engines.tables.ticks import Ticks
from timeloom.engines.timelines.judged import covered, passing, remainders
from timeloom.engines.timelines.sequenced import Shared, TwoSides
from timeloom.kernels.order import Positions
from timeloom.model.conditions import Condition

BATCH_ROWS = 1 << 18


@dataclass(frozen=True)
class Output:
    """A column of the result: ``start`` or ``end`` of its period, or the value of the first of these that is there.

    Sources are numbers of tables, and columns.
    """

    sources: tuple[tuple[int, str], ...] = ()
    tick: str = ""


@dataclass(frozen=True)
class Asked:
    """A condition on pairs, and the columns of a pair that it reads, by the names that it has for them."""

    condition: Condition
    columns: tuple[tuple[str, Output], ...]


class Linked(NamedTuple):
    """Rows of several tables, NO_ROW for an absent one, with the period that they share."""

    at: tuple[Positions, ...]
    starts: Ticks
    ends: Ticks


@dataclass(frozen=True)
class FirstStarts:
    """Tells when each table first begins in each slice."""

    arrivals: Arrivals

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Look at one partition."""
        yield from self.arrivals.first_starts(batches)


@dataclass(frozen=True)
class ChainTask:
    """Joins the rows of one partition, table by table; ``how`` is that of each step, or ``anti``.

    If a condition is ``asked``, there are two tables, and ``how`` may be ``semi``.
    """

    arrivals: Arrivals
    how: str
    algorithm: str
    columns: tuple[Output, ...]
    schema: T.StructType
    writer: PeriodWriter
    asked: Asked | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Join one partition."""
        parts = self.arrivals.parts(batches)
        if not parts:
            return
        sources = [Source(part.rows) for part in parts]
        for found in self._linked(parts, sources):
            linked = self._begun_here(parts, found)
            for first in range(0, linked.starts.size, BATCH_ROWS):
                yield self._written(sources, _picked(linked, slice(first, first + BATCH_ROWS)))

    def _linked(self, parts: Sequence[Part], sources: Sequence[Source]) -> Iterator[Linked]:
        """What there is after the last table, in batches."""
        keyed = any(table.keys for table in self.arrivals.tables) or self.arrivals.sliced
        ids, count = shared_ids([part.keys for part in parts]) if keyed else ([], 0)
        sides = [Side(part.starts, part.ends, ids[at] if keyed else None) for at, part in enumerate(parts)]
        if self.asked is not None:
            yield from self._judged(TwoSides(sides[0], sides[1], count, 1), self.asked, sources)
            return
        known = Linked((np.arange(len(sides[0]), dtype=np.int32),), sides[0].starts, sides[0].ends)
        for number, side in enumerate(sides[1:], start=1):
            keys = _of_first(known, ids[:number]) if keyed else None
            steps = self._joined(known, TwoSides(Side(known.starts, known.ends, keys), side, count, 1))
            if number == len(sides) - 1:
                yield from steps
                return
            known = _together(list(steps), number + 1)

    def _joined(self, known: Linked, sides: TwoSides) -> Iterator[Linked]:
        """One more table: pairs, and what is kept of either side for as long as it is alone."""
        rest = "dip" if self.algorithm == "dip" else "cover"
        if self.algorithm == "dip" and self.how in ("left", "right", "full"):
            for lefts, rights, starts, ends in sides.outer_batches(self.how, BATCH_ROWS):
                yield Linked((*(np.append(at, np.int32(NO_ROW))[lefts] for at in known.at), rights), starts, ends)
            return
        if self.how != "anti":
            for lefts, rights, starts, ends in sides.batches(self.algorithm, BATCH_ROWS):
                yield Linked((*(at[lefts] for at in known.at), rights), starts, ends)
        if self.how in ("left", "full", "anti"):
            rows, starts, ends = sides.alone(rest)
            yield Linked((*(at[rows] for at in known.at), _absent(rows.size)), starts, ends)
        if self.how in ("right", "full"):
            rows, starts, ends = sides.alone(rest, flip=True)
            yield Linked((*(_absent(rows.size) for _ in known.at), rows), starts, ends)

    def _judged(self, sides: TwoSides, asked: Asked, sources: Sequence[Source]) -> Iterator[Linked]:
        """Two tables: pairs that pass, and what they leave of either side."""

        def keep(page: Shared) -> NDArray[np.bool_]:
            linked = Linked((page.left, page.right), page.starts, page.ends)
            rows = [positions(at) for at in linked.at]
            read = {name: self._column(column, sources, rows, linked) for name, column in asked.columns}
            return held(asked.condition, read, page.left.size)

        found = []
        algorithm = "dip" if self.algorithm == "dip" else "auto"
        for page in passing(sides, algorithm, keep, rows=BATCH_ROWS):
            if self.how != "inner":
                found.append(page)
            if self.how not in ("anti", "semi"):
                yield Linked((page.left, page.right), page.starts, page.ends)
        for rest in remainders(sides, found, self.how):
            yield Linked((rest.left, rest.right), rest.starts, rest.ends)
        if self.how == "semi":
            pieces = covered(sides, found)
            yield Linked((pieces.rows, _absent(pieces.rows.size)), pieces.starts, pieces.ends)

    def _begun_here(self, parts: Sequence[Part], found: Linked) -> Linked:
        """Leave out what begins in another slice."""
        if not self.arrivals.sliced:
            return found
        since, until = (_of_first(found, arrays) for arrays in zip(*((p.since, p.until) for p in parts), strict=True))
        return _picked(found, (found.starts >= since) & (found.starts < until))

    def _written(self, sources: Sequence[Source], linked: Linked) -> pa.RecordBatch:
        target = to_arrow_schema(self.schema)
        rows = [positions(at) for at in linked.at]
        arrays = [
            self._column(column, sources, rows, linked).cast(kind)
            for column, kind in zip(self.columns, target.types, strict=True)
        ]
        if not arrays:
            return pa.RecordBatch.from_struct_array(pa.array([{}] * linked.starts.size, pa.struct([])))
        return pa.RecordBatch.from_arrays(arrays, schema=target)

    def _column(self, column: Output, sources: Sequence[Source], rows: Sequence[pa.Array], linked: Linked) -> pa.Array:
        if column.tick:
            return self.writer.starts(linked.starts) if column.tick == "start" else self.writer.ends(linked.ends)
        taken = [(rows[table], sources[table].take(name, rows[table])) for table, name in column.sources]
        values = taken[-1][1].combine_chunks()
        for at, found in reversed(taken[:-1]):
            mine = found.combine_chunks()
            values = pc.if_else(at.is_valid(), mine, values.cast(mine.type))
        return values


def _picked(linked: Linked, chosen: "slice | np.ndarray[tuple[int], np.dtype[np.bool_]]") -> Linked:
    return Linked(tuple(at[chosen] for at in linked.at), linked.starts[chosen], linked.ends[chosen])


def _together(steps: Sequence[Linked], tables: int) -> Linked:
    """Batches as one."""
    if not steps:
        return Linked(tuple(_absent(0) for _ in range(tables)), np.zeros(0, np.int64), np.zeros(0, np.int64))
    at = tuple(np.concatenate(parts) for parts in zip(*(step.at for step in steps), strict=True))
    return Linked(at, *(np.concatenate([step[which] for step in steps]) for which in (1, 2)))


def _of_first(linked: Linked, values: Sequence[Ticks]) -> Ticks:
    """A value for each row: that of the first table that is there."""
    found = np.zeros(linked.starts.size, np.int64)
    for at, mine in reversed(list(zip(linked.at, values, strict=False))):
        found[at != NO_ROW] = mine[at[at != NO_ROW]]
    return found


def _absent(rows: int) -> Positions:
    return np.full(rows, NO_ROW, np.int32)
