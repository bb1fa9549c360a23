"""Rows that travel as what they change: tasks that read them add up what changes at each tick, and send that.

What many rows change at one tick is one change, and a row that lasts long has no copies: what began before a slice and
lasts into it comes as one number for each measure. Each task runs along the changes of its part of time.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from timeloom.engines.spark.cluster.versions import sent_by_number, to_arrow_schema
from timeloom.engines.spark.cluster.workers import Piped, mapped
from timeloom.engines.spark.exchange.blocks import BLOCKS, TASK, Destination, block_row, block_rows, received
from timeloom.engines.spark.exchange.plan import Exchange
from timeloom.engines.spark.exchange.routing import destinations
from timeloom.engines.spark.exchange.writing import BlockWriter
from timeloom.engines.spark.sequenced.rows import GroupedRows, Writer
from timeloom.engines.spark.slicing.cuts import Cuts
from timeloom.engines.spark.slicing.tick_ranges import StartRange
from timeloom.engines.timelines.changes import Changes, Measured, Timeline, agreed_bounds, changes_of, suits
from timeloom.model.measures import Measure
from timeloom.model.sequenced import AggregateRequest
from timeloom.model.ticks import FOREVER, MIN_TICK

CHANGE_BYTES = 4
"""About what a change of a measure, or its tick, takes on its way; a row has two changes."""


def travels_as_changes(schema: T.StructType, request: AggregateRequest) -> bool:
    """Whether changes tell all that is asked for: without groups, as each change would have to name its own."""
    if request.by:
        return False
    kinds = column_types(schema, request.measures)
    return all(suits(measure, kinds.get(str(measure.column))) for measure in request.measures)


def column_types(schema: T.StructType, measures: tuple[Measure, ...]) -> dict[str, pa.DataType]:
    """The types of the measured columns, as tasks see them."""
    measured = T.StructType([schema[name] for name in Measured.of(measures).columns])
    return dict(zip(measured.names, to_arrow_schema(measured).types, strict=True))


@dataclass(frozen=True)
class ChangedRows:
    """Rows of a table without groups, and how what they change reaches the tasks."""

    rows: GroupedRows
    measures: tuple[Measure, ...]

    def sent(self) -> DataFrame | Piped:
        """The changes, shuffled: to the tasks of their slices, or all of them to each of a few tasks."""
        exchange, slicing = self.exchange, self.rows.slicing
        if not slicing.agreed:
            return exchange.rows()
        blocks = mapped(exchange.sources[0].rows, exchange.writer(0), BLOCKS)
        return sent_by_number(blocks, slicing.tasks, TASK)

    def forecast(self) -> dict[str, Any]:
        """What sending the changes would cost, if all rows changed something at ticks of their own, from a sample."""
        return self.exchange.forecast(2 * len(Measured.of(self.measures).columns) * CHANGE_BYTES + 2 * CHANGE_BYTES)

    @property
    def exchange(self) -> Exchange:
        """The exchange: rows are where they begin, and nowhere else."""
        source = self.rows.exchange.sources[0]
        names = {self.rows.admitted.column(name): name for name in Measured.of(self.measures).columns}
        reader: Any = replace(source.reader, range=StartRange())  # type: ignore[type-var]
        writer = partial(ChangeWriter, measures=self.measures, names=tuple(names.items()))
        return Exchange((replace(source, reader=reader, writer=writer),), self.rows.slicing)


@dataclass(frozen=True)
class ChangeWriter(BlockWriter):
    """Turns rows into blocks of changes; ``names`` are the user's names of their columns."""

    measures: tuple[Measure, ...] = ()
    names: tuple[tuple[str, str], ...] = ()

    def written(self, rows: pa.Table, cuts: Cuts) -> Iterator[pa.RecordBatch]:
        """What some rows change, in blocks."""
        rows = self.reader.admitted(rows)
        if not rows.num_rows:
            return
        ticks, users = self.reader.ticks(rows), dict(self.names)
        measured = rows.select(list(users)).rename_columns(list(users.values()))
        found = changes_of(ticks.starts, ticks.ends, measured, Measured.of(self.measures))
        bounds = cuts.bounds.get(0)
        if bounds is None:
            tasks = self.slicing.tasks if self.slicing.agreed else 1
            yield from block_rows(found.table(), self.source, tasks)
            return
        for at in destinations(bounds, cuts.first(0), self.slicing.tasks):
            part = found.part(at.since, at.until)
            if not part.idle:
                yield block_row(part.table(), self.source, at)


@dataclass(frozen=True)
class ChangeTask:
    """Runs along the changes of one partition; ``agreed`` is how many tasks have all changes and must agree."""

    measures: tuple[Measure, ...]
    kinds: tuple[tuple[str, pa.DataType], ...]
    agreed: int
    writer: Writer

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Aggregate one partition."""
        arrived: dict[Destination, list[Changes]] = {}
        for block in received(batches):
            arrived.setdefault(block.destination, []).append(Changes.read(block.rows))
        for at, parts in arrived.items():
            yield from self._written(at, parts)

    def _written(self, at: Destination, parts: list[Changes]) -> Iterator[pa.RecordBatch]:
        since, until = at.since, at.until
        if self.agreed > 1:
            edges = [MIN_TICK, *agreed_bounds(parts, self.agreed), FOREVER]
            if at.task + 1 >= len(edges):
                return
            since, until = edges[at.task : at.task + 2]
            parts = [part.part(since, until) for part in parts]
        line = Timeline(parts, since, until)
        columns = self.writer.periods.columns(line.spans.starts, line.spans.ends)
        yield from self.writer.batches({**columns, **line.measured(self.measures, dict(self.kinds))})


def change_task(rows: ChangedRows, writer: Writer) -> ChangeTask:
    """The task that receives what rows change."""
    kinds, slicing = column_types(rows.rows.admitted.schema, rows.measures), rows.rows.slicing
    return ChangeTask(rows.measures, tuple(kinds.items()), slicing.tasks if slicing.agreed else 1, writer)
