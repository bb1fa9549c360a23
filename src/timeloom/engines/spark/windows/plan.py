"""Bitemporal sliding windows by tasks: each finds the runs of its rows and aggregates them over all steps.

A task answers with one row a step for as many rows as it takes in one pass, so next to nothing is shuffled; measures
that cannot be put together from parts take the rows of each step instead.
"""

from collections.abc import Iterator
from functools import partial, reduce
from itertools import pairwise

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from timeloom.engines.counts.aggregates import values_of
from timeloom.engines.spark.cluster.versions import from_arrow_schema, to_arrow_schema
from timeloom.engines.spark.columns.arrow_types import mapped_by_position
from timeloom.engines.spark.columns.measure_fields import measure_fields
from timeloom.engines.spark.columns.windowed_frames import WindowedFrame
from timeloom.engines.spark.counting.parts import EXTREMES, Part, added_values
from timeloom.engines.spark.counting.totals import finished, part_field, parts_of, total
from timeloom.engines.spark.exchange.blocks import CHUNK_BYTES, chunks
from timeloom.engines.spark.sequenced.whole_partitions import grouped
from timeloom.engines.tables.arrays import from_numpy
from timeloom.engines.timelines.measure_task import Sweep, Task
from timeloom.engines.timelines.measures import extreme
from timeloom.engines.windows import steps as window_steps
from timeloom.engines.windows.history import read_history
from timeloom.engines.windows.slides import meaning_code, step_runs
from timeloom.engines.windows.totals import StepSums
from timeloom.errors import UsageError
from timeloom.kernels.bitemporal.windows import Ticks, Windows
from timeloom.kernels.jit import as_written
from timeloom.model.aggregates import PartKind
from timeloom.model.measures import Measure
from timeloom.model.sliding_windows import STEP, WindowRequest

Batches = Iterator[pa.RecordBatch]

COUNT = "count"
"""How many rows a task has inside a step; results are not named before the end."""


class Plan:
    """What the tasks need to know: small, and the same for all of them."""

    def __init__(self, asked: WindowedFrame) -> None:
        self.rows, self.schema, request = asked.rows, asked.schema, asked.request
        self.request, self.sample, self.history, self.windows = request, asked.sample, asked.history, asked.windows
        schema = self.schema
        self.kinds = {field.name: field.dataType for field in measure_fields(schema, request.measures)}
        self.combined = tuple(one for one in request.measures if combines(one))
        self.parts = parts_of(self.combined)
        self.whole = tuple(one for one in request.measures if not combines(one))

    @as_written()
    def changes(self) -> DataFrame:
        """The rows that enter and leave."""
        none = self.history.sys_start
        schema = _spark_schema(window_steps.changes(self.sample, none, none, self.request.steps).schema)
        task = partial(_changes, request=self.request, windows=self.windows)
        return mapped_by_position(self.rows, self.schema.names, task, schema).toDF(*schema.names)

    @as_written()
    def members(self, columns: list[str], names: list[str]) -> DataFrame:
        """The rows inside each step: the step, and these columns under other names; named by position."""
        none = self.history.sys_start
        sample = window_steps.members(self.sample.select(columns).rename_columns(names), none, none)
        task = partial(_members, request=self.request, windows=self.windows, columns=columns, names=names)
        return mapped_by_position(self.rows, self.schema.names, task, _spark_schema(sample.schema))

    def rejected(self) -> DataFrame:
        """The rows with an invalid period, and why."""
        sample = window_steps.admit_history(self.sample, self.request)[1]
        task, schema = partial(_rejected, request=self.request), _spark_schema(sample.schema)
        return mapped_by_position(self.rows, self.schema.names, task, schema).toDF(*schema.names)

    def aggregates(self) -> DataFrame:
        """One row a step, in order, also for steps without rows."""
        spark, request = self.rows.sparkSession, self.request
        steps = spark.range(request.steps + 1).withColumnRenamed("id", STEP)
        pieces = [piece for piece in (self._from_parts(), self._from_rows()) if piece is not None]
        joined = reduce(lambda left, right: left.join(right, STEP, "left"), pieces, steps)
        names = [STEP]
        if request.bounds:
            bounds = pa.table({STEP: _axis(request)} | window_steps.window_columns(self.windows, self.history))
            joined = joined.join(F.broadcast(spark.createDataFrame(bounds, _spark_schema(bounds.schema))), STEP)
            names = bounds.column_names
        measures = [self._finished(measure).alias(f"m{at}") for at, measure in enumerate(request.measures)]
        ordered = joined.select(*names, *measures).orderBy(STEP)
        return ordered.toDF(*names, *(measure.name for measure in request.measures))

    def _from_parts(self) -> DataFrame | None:
        """Measures that tasks compute for themselves and Spark adds up."""
        if not self.combined:
            return None
        request = self.request
        needed = {request.sys_period.start, request.sys_period.end, request.app_period.start, request.app_period.end}
        needed |= {measure.column for measure in self.combined if measure.column is not None}
        used = [name for name in self.schema.names if name in needed]
        frame = self.rows.select(*(f"c{self.schema.names.index(name)}" for name in used))
        task = partial(_partials, request=request, windows=self.windows, parts=self.parts)
        given = [T.StructField(STEP, T.LongType()), T.StructField(COUNT, T.LongType())]
        reported = T.StructType([*given, *(part_field(part, self.schema) for part in self.parts)])
        found = mapped_by_position(frame, used, task, reported).toDF(*reported.names)
        return found.groupBy(STEP).agg(F.sum(COUNT).alias(COUNT), *(total(part) for part in self.parts))

    def _from_rows(self) -> DataFrame | None:
        """Measures that need all rows of a step at once."""
        if not self.whole:
            return None
        for measure in self.whole:
            if measure.aggregate is not None and measure.aggregate.order == "decisive":
                raise UsageError(
                    f"select {measure.name!r}: rows of a DataFrame have no order, so {measure.function!r} of a step is "
                    "not defined; use min or max, or a callable"
                )
        fields = [T.StructField(f"whole_{at}", self.kinds[one.name]) for at, one in enumerate(self.whole)]
        schema = T.StructType([T.StructField(STEP, T.LongType()), *fields])
        kinds, measures = to_arrow_schema(schema).types[1:], self.whole

        columns = list(dict.fromkeys(measure.column for measure in self.whole if measure.column is not None))

        def whole_steps(rows: pa.Table) -> pa.Table:
            found = []
            for step, mine in _by_step(rows):
                values = _whole_step(mine.rename_columns(columns), measures, kinds)
                found.append(pa.Table.from_arrays([step, *values], names=schema.names))
            return pa.concat_tables(found)

        inner = [f"v{number}" for number in range(len(columns))]
        return grouped(self.members(columns, inner), ["c0"], whole_steps, schema)

    def _finished(self, measure: Measure) -> Column:
        """A measure from its parts, or as it was computed from rows."""
        if measure in self.combined:
            value = finished(measure, self.parts, self.schema, F.coalesce(F.col(COUNT), F.lit(0)), "a step")
        else:
            value = F.col(f"whole_{self.whole.index(measure)}")
            nothing = measure.aggregate and measure.aggregate.over_nothing
            value = value if nothing is None else F.coalesce(value, F.lit(nothing))
        return value.cast(self.kinds[measure.name])


def combines(measure: Measure) -> bool:
    """Whether a measure is put together from what tasks report."""
    return measure.aggregate is not None and measure.aggregate.combination is not None


def _spark_schema(schema: pa.Schema) -> T.StructType:
    """The types of an Arrow schema in Spark; a timestamp without zone stays without."""
    return from_arrow_schema(schema)


def _axis(request: WindowRequest) -> pa.Array:
    return from_numpy(np.arange(request.steps + 1, dtype=np.int64))


def _runs(rows: pa.Table, request: WindowRequest, windows: Windows) -> tuple[pa.Table, Ticks, Ticks]:
    """The valid rows and their runs of steps."""
    table, _ = window_steps.admit_history(rows, request)
    history = read_history(table, request.sys_period, request.app_period)
    return table, *step_runs(history, windows, meaning_code(request.meaning), 1)


def _changes(batches: Batches, request: WindowRequest, windows: Windows) -> Batches:
    for batch in batches:
        yield from window_steps.changes(
            *_runs(pa.Table.from_batches([batch]), request, windows), request.steps
        ).to_batches()


def _members(
    batches: Batches, request: WindowRequest, windows: Windows, columns: list[str], names: list[str]
) -> Batches:
    for batch in batches:
        table, enter, leave = _runs(pa.Table.from_batches([batch]), request, windows)
        yield from window_steps.members(table.select(columns).rename_columns(names), enter, leave).to_batches()


def _rejected(batches: Batches, request: WindowRequest) -> Batches:
    for batch in batches:
        yield from window_steps.admit_history(pa.Table.from_batches([batch]), request)[1].to_batches()


def _partials(batches: Batches, request: WindowRequest, windows: Windows, parts: tuple[Part, ...]) -> Batches:
    """The parts of a partition, one row a step for each chunk of it."""
    columns = list(dict.fromkeys(str(part.measure.column) for part in parts))
    for chunk in chunks(batches, CHUNK_BYTES):
        table, enter, leave = _runs(chunk, request, windows)
        inside = np.flatnonzero(enter < leave)
        swept = window_steps.step_sweep(enter[inside], leave[inside], request.steps, 1)
        counts, rows = swept.counts(), table.select(columns).take(from_numpy(inside))
        values = [_part(part, swept, counts, values_of(rows, str(part.measure.column))) for part in parts]
        names = [STEP, COUNT, *(part.name for part in parts)]
        yield pa.RecordBatch.from_arrays([_axis(request), from_numpy(counts), *values], names)


def _part(part: Part, swept: Sweep, counts: Ticks, values: pa.Array) -> pa.Array:
    if part.kind in EXTREMES:
        return extreme(Task(swept, values), part.measure, least=part.kind is PartKind.LEAST)
    return added_values(part, StepSums(swept), counts, values)


def _by_step(rows: pa.Table) -> "Iterator[tuple[pa.Array, pa.Table]]":
    """The steps of some rows, as arrays of one value, and the other columns of the rows of each."""
    ordered = rows.sort_by("c0").combine_chunks()
    steps, values = ordered["c0"].combine_chunks(), ordered.drop_columns(["c0"])
    edges = np.flatnonzero(np.diff(steps.to_numpy(), prepend=-1, append=-1))
    for begin, end in pairwise(edges.tolist()):
        yield steps.slice(begin, 1), values.slice(begin, end - begin)


def _whole_step(rows: pa.Table, measures: tuple[Measure, ...], kinds: list[pa.DataType]) -> list[pa.Array]:
    """Measures of all rows of one step."""
    none = np.zeros(rows.num_rows, np.int64)
    found = window_steps.step_measures(rows, none, none + 1, 0, measures, 1)
    return [found[one.name].cast(kind) for one, kind in zip(measures, kinds, strict=True)]
