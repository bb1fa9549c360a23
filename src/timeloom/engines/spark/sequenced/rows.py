"""Rows of one table for the tasks of a verb: their groups, their ticks, and what else a task needs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from timeloom.engines.spark.cluster.versions import to_arrow_schema
from timeloom.engines.spark.cluster.workers import Piped
from timeloom.engines.spark.columns.arrow_types import arrow_schema, may_be_long
from timeloom.engines.spark.columns.faults import FAULT, NO_TIME, Judgement, fault
from timeloom.engines.spark.columns.ticks import literal
from timeloom.engines.spark.columns.validity import JudgedFrame
from timeloom.engines.spark.exchange.blocks import Block, received
from timeloom.engines.spark.exchange.forecast import row_bytes
from timeloom.engines.spark.exchange.plan import Exchange, Source
from timeloom.engines.spark.exchange.writing import KEY
from timeloom.engines.spark.sequenced.given_periods import GivenPeriods
from timeloom.engines.spark.sequenced.tick_columns import END, START, TickColumns, numbers
from timeloom.engines.spark.slicing.slices import Slicing
from timeloom.engines.spark.slicing.tick_ranges import PeriodRange
from timeloom.engines.tables.arrays import to_numpy
from timeloom.engines.tables.keys import group_keys
from timeloom.engines.tables.period_writer import PeriodWriter
from timeloom.engines.tables.ticks import Ticks
from timeloom.engines.tables.verdicts import VALID
from timeloom.engines.timelines.grouped import window_ticks

WHOLE = (T.IntegralType, T.DateType, T.TimestampType, T.TimestampNTZType)
"""Groups of these types are equal if their bits are. Where nothing is cut, tasks hash them, which spares a column."""

SLICE = "slice"
"""The column with the slice of a row, where groups are told apart."""

TRUE_START, TRUE_END = "true_start", "true_end"
"""The columns with the whole period of a row that a window cuts, if its order matters."""


@dataclass(frozen=True)
class GroupedRows:
    """A DataFrame, and what of it the tasks of a verb need.

    Rows are cut to the window. Rows outside of it are left out, unless the groups that they name count: then they are
    sent without time. With ``order_by``, tasks see rows in the order of their starts, ends and these columns.
    """

    verb: str
    admitted: JudgedFrame
    by: tuple[str, ...]
    columns: tuple[str, ...]
    slicing: Slicing
    within: tuple[object, object] | None = None
    all_groups: bool = False
    order_by: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        schema = self.admitted.schema
        arrow_schema(T.StructType([schema[name] for name in self.columns]), "input")
        groups = arrow_schema(T.StructType([schema[name] for name in self.by]), "input", comparing=True)
        group_keys(groups.empty_table(), list(self.by))

    @property
    def window(self) -> tuple[int, int] | None:
        """The window in ticks."""
        return window_ticks(self.within, self.admitted.columns.kind)

    @property
    def delivery(self) -> "Delivery":
        """How tasks read these rows."""
        names = self.admitted.names
        order = None if self.order_by is None else tuple(names[name] for name in self.order_by)
        return Delivery(self.slicing.tasks, order)

    @property
    def judgement(self) -> Judgement:
        """What becomes of invalid rows."""
        return Judgement(self.verb, self.admitted.period, self.admitted.policy)

    def sent(self) -> DataFrame | Piped:
        """The rows, shuffled: ticks, and the columns under the names that the admission gave them."""
        return self.exchange.rows()

    def forecast(self) -> dict[str, Any]:
        """What sending the rows would cost, from a sample of them."""
        schema = T.StructType([self.admitted.schema[name] for name in self.columns])
        return self.exchange.forecast(row_bytes(to_arrow_schema(schema)) + 16)

    @property
    def exchange(self) -> Exchange:
        """The exchange of the rows. Those that a window cuts have their ticks from SQL, all others from a task."""
        rows, reader = self._given() if self.window is None else self._cut()
        kinds = {self.admitted.column(name): self.admitted.schema[name].dataType for name in self.columns}
        long = tuple(name for name, kind in kinds.items() if may_be_long(kind))

        def timed() -> DataFrame:
            return self._ticked([]).where(f"{START} < {END}")

        return Exchange((Source(rows, timed, (START, END), KEY, reader, long),), self.slicing)

    def _given(self) -> tuple[DataFrame, GivenPeriods]:
        """The rows with their periods as they were given."""
        start, end = map(self.admitted.column, (self.admitted.period.start, self.admitted.period.end))
        columns = tuple(map(self.admitted.column, self.columns))
        reader = GivenPeriods(PeriodRange(), self.judgement, start, end, columns)
        if self.slicing.alone:
            return self.admitted.only({*self.admitted.period.columns, *self.columns}), reader
        wanted = dict.fromkeys([start, end, *columns])
        if not self.by:
            return self.admitted.rows.selectExpr(*wanted), reader
        if self.slicing.slices == 1 and all(isinstance(self.admitted.schema[name].dataType, WHOLE) for name in self.by):
            hashed = tuple(map(self.admitted.column, self.by))
            return self.admitted.rows.selectExpr(*wanted), replace(reader, hashed=hashed)
        rows = self.admitted.rows.selectExpr(f"{self._key()} AS {KEY}", *wanted)
        return rows, replace(reader, columns=(KEY, *columns))

    def _cut(self) -> tuple[DataFrame, TickColumns]:
        """The rows with their ticks within the window."""
        columns = [self.admitted.column(name) for name in self.columns]
        faults = {FAULT: fault(self.admitted)} if self._judging else {}
        made = faults | self._whole_period()
        rows = self._ticked([*(f"{text} AS {name}" for name, text in made.items()), *columns])
        if not self.by:
            rows = rows.select(START, END, *made, *columns)
        return rows, TickColumns(PeriodRange(), self.judgement if self._judging else None)

    @property
    def _judging(self) -> bool:
        """Whether invalid rows are sent."""
        return self.admitted.policy.judges

    def _key(self) -> str:
        return f"xxhash64({', '.join(map(self.admitted.column, self.by))})" if self.by else "0L"

    def _whole_period(self) -> dict[str, str]:
        """The whole period of rows that are cut to the window, if their order matters."""
        if self.order_by is None or self.window is None:
            return {}
        return {TRUE_START: self.admitted.columns.start, TRUE_END: self.admitted.columns.end}

    def _ticked(self, columns: Sequence[str]) -> DataFrame:
        """Rows with their key and their ticks within the window; rows outside cover no time, invalid ones have none."""
        frame, start, end = self.admitted.rows, self.admitted.columns.start, self.admitted.columns.end
        valid = f"{self.admitted.verdict} = {VALID}"
        if self.window is not None:
            low, high = map(literal, self.window)
            no_start, no_end = map(literal, NO_TIME)
            inside = f"{start} < {high} AND {end} > {low}"
            if not self.all_groups:
                frame = frame.where(f"NOT {valid} OR {inside}")
            start = f"CASE WHEN {inside} THEN greatest({start}, {low}) ELSE {no_start} END"
            end = f"CASE WHEN {inside} THEN least({end}, {high}) ELSE {no_end} END"
        if self._judging:
            start, end = (f"CASE WHEN {valid} THEN {tick} END" for tick in (start, end))
        ticked = frame.selectExpr(f"{self._key()} AS key", f"{start} AS {START}", f"{end} AS {END}", *columns)
        if self.all_groups and self.window is not None and not self.by:
            ticked = ticked.unionByName(self._anchor(), allowMissingColumns=True)
        return ticked

    def _anchor(self) -> DataFrame:
        """One row without time: without grouping columns there is one group, even if there are no rows."""
        no_start, no_end = map(literal, NO_TIME)
        return self.admitted.all_rows.sparkSession.range(1).selectExpr(
            "0L AS key", f"{no_start} AS {START}", f"{no_end} AS {END}"
        )


@dataclass(frozen=True)
class Received:
    """The rows of one task, cut to their slices; ``slices`` counts from 1, and 0 is that of a group that is not cut."""

    table: pa.Table
    starts: Ticks
    ends: Ticks
    slices: Ticks
    task: int


@dataclass(frozen=True)
class Delivery:
    """How one of so many tasks reads its rows."""

    tasks: int
    order_by: tuple[str, ...] | None = None

    def read(self, batches: Iterator[pa.RecordBatch]) -> Received | None:
        """All rows of a task; None if there are none."""
        blocks = list(received(batches))
        if not blocks:
            return None
        table = pa.concat_tables([block.rows for block in blocks])
        starts, ends, slices = numbers(table, START), numbers(table, END), np.zeros(table.num_rows, np.int64)
        if any(block.destination.slice for block in blocks):
            slices, since, until = (_of_rows(blocks, at) for at in (1, 2, 3))
            starts, ends = np.maximum(starts, since), np.minimum(ends, until)
        if self.order_by is not None:
            order = _order(table, self.order_by)
            table = table.take(order)
            starts, ends, slices = (column[to_numpy(order)] for column in (starts, ends, slices))
        kept = [name for name in table.column_names if name not in (START, END, TRUE_START, TRUE_END)]
        return Received(table.select(kept), starts, ends, slices, blocks[0].destination.task)


def _of_rows(blocks: Sequence[Block], at: int) -> Ticks:
    """For each row a number of where it was sent."""
    values = np.array([block.destination[at] for block in blocks], np.int64)
    found: Ticks = np.repeat(values, [block.rows.num_rows for block in blocks])
    return found


def _order(table: pa.Table, order_by: Sequence[str]) -> pa.Array:
    """Rows in the order of their whole periods and these columns; values that have no order are left out."""
    sortable = [name for name in order_by if not pa.types.is_nested(table.schema.field(name).type)]
    period = (TRUE_START, TRUE_END) if TRUE_START in table.column_names else (START, END)
    return pc.sort_indices(table, sort_keys=[(name, "ascending") for name in dict.fromkeys([*period, *sortable])])


@dataclass(frozen=True)
class Writer:
    """Writes result rows in the types of the schema; ``names`` are those that the admission gave the user's columns."""

    schema: T.StructType
    periods: PeriodWriter
    names: dict[str, str]
    batch_rows: int = 1 << 18

    def write(self, table: pa.Table, starts: Ticks, ends: Ticks) -> Iterator[pa.RecordBatch]:
        """Columns by the names that the admission gave them, and ticks, as result rows."""
        made = self.periods.columns(starts, ends)
        others = [name for name in self.schema.names if name not in made]
        yield from self.batches(made | {name: table[self.names[name]] for name in others})

    def batches(self, columns: "dict[str, pa.Array | pa.ChunkedArray]") -> Iterator[pa.RecordBatch]:
        """Columns by their own names as result rows."""
        target = to_arrow_schema(self.schema)
        arrays = [columns[name].cast(kind) for name, kind in zip(target.names, target.types, strict=True)]
        yield from pa.Table.from_arrays(arrays, schema=target).to_batches(max_chunksize=self.batch_rows)
