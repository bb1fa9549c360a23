"""Rows of one table for the tasks of a verb: their groups, their ticks, and what else a task needs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema

from timeloom.engines.spark.cluster.workers import mapped
from timeloom.engines.spark.columns.arrow_types import arrow_schema
from timeloom.engines.spark.columns.faults import FAULT, NO_TIME, Judgement, fault
from timeloom.engines.spark.columns.ticks import literal
from timeloom.engines.spark.columns.validity import Admitted
from timeloom.engines.spark.exchange.dispatch import END, KEY, PARCELS, SLICE, START, Dispatch, opened
from timeloom.engines.spark.slicing.group_slices import GroupSlicing
from timeloom.engines.spark.slicing.slices import sample_rank
from timeloom.engines.tables.keys import group_keys
from timeloom.engines.tables.period_writer import PeriodWriter
from timeloom.engines.tables.ticks import Ticks
from timeloom.engines.tables.validity import VALID
from timeloom.engines.timelines.grouped import window_ticks

TRUE_START, TRUE_END = "true_start", "true_end"


@dataclass(frozen=True)
class GroupedRows:
    """A DataFrame, and what of it the tasks of a verb need.

    Rows are cut to the window. Rows outside of it are left out, unless the groups that they name count: then they are
    sent without time. With ``order_by``, tasks see rows in the order of their starts, ends and these columns.
    """

    verb: str
    admitted: Admitted
    by: tuple[str, ...]
    columns: tuple[str, ...]
    slicing: GroupSlicing
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
        return Delivery(self.slicing.partitions, order)

    @property
    def judgement(self) -> Judgement | None:
        """What becomes of invalid rows, if any are sent."""
        if not self.admitted.policy.judges:
            return None
        return Judgement(self.verb, self.admitted.period, self.admitted.policy)

    def sent(self) -> DataFrame:
        """The rows, shuffled in parcels: key, ticks, and the columns under the names that the admission gave them."""
        columns = [self.admitted.column(name) for name in self.columns]
        faults = {} if self.judgement is None else {FAULT: fault(self.admitted)}
        rows = self._ticked([*(f"{text} AS {name}" for name, text in (faults | self._extra()).items()), *columns])
        if not self.by:
            rows = rows.drop(KEY)
        if self.slicing.slices > 1:
            rows = self.slicing.attached(rows, self._ranked())
        parcels = mapped(rows, Dispatch(self.slicing.partitions, self.judgement), PARCELS)
        return parcels.repartitionById(self.slicing.partitions, F.col("place"))

    def _ranked(self) -> DataFrame:
        """Rows with the ticks from ``low`` to ``high`` that they cover, to be sampled by rank."""
        ticked = self._ticked([f"{sample_rank(self.admitted, self._key())} AS rank"])
        timed = f"{START} < {END}"
        high = f"CASE WHEN {timed} THEN {END} - 1 END AS high"
        return ticked.where(timed).selectExpr(f"{START} AS low", high, KEY, "rank")

    def _key(self) -> str:
        return f"xxhash64({', '.join(map(self.admitted.column, self.by))})" if self.by else "0L"

    def _extra(self) -> dict[str, str]:
        """What tasks need besides: the whole period, if its order matters."""
        columns = self.admitted.columns
        return {} if self.order_by is None else {TRUE_START: columns.start, TRUE_END: columns.end}

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
        if self.judgement is not None:
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
    """The rows of one task; ``slices`` counts from 1, and 0 is the slice of a group that is not cut."""

    table: pa.Table
    starts: Ticks
    ends: Ticks
    slices: Ticks
    place: int


@dataclass(frozen=True)
class Delivery:
    """How a task reads its rows."""

    partitions: int
    order_by: tuple[str, ...] | None = None

    def read(self, batches: Iterator[pa.RecordBatch]) -> Received | None:
        """All rows of a task; None if there are none."""
        table, place = opened(batches)
        if table is None or not table.num_rows:
            return None
        if self.order_by is not None:
            table = _ordered(table, self.order_by)
        starts, ends = (np.asarray(table[name].combine_chunks()) for name in (START, END))
        slices = np.zeros(starts.size, np.int64)
        if SLICE in table.column_names:
            slices = np.asarray(table[SLICE].combine_chunks())
        kept = [name for name in table.column_names if name not in (START, END, SLICE, TRUE_START, TRUE_END)]
        return Received(table.select(kept), starts, ends, slices, place)


def _ordered(table: pa.Table, order_by: Sequence[str]) -> pa.Table:
    """Sort rows by their whole periods and these columns; values that have no order are left out."""
    sortable = [name for name in order_by if not pa.types.is_nested(table.schema.field(name).type)]
    keys = [(name, "ascending") for name in dict.fromkeys([TRUE_START, TRUE_END, *sortable])]
    return table.take(pc.sort_indices(table, sort_keys=keys))


@dataclass(frozen=True)
class Writer:
    """Writes result rows in the types of the schema; ``names`` are those that the admission gave the user's columns."""

    schema: T.StructType
    periods: PeriodWriter
    names: dict[str, str]
    batch_rows: int = 1 << 18

    def write(self, table: pa.Table, starts: Ticks, ends: Ticks) -> Iterator[pa.RecordBatch]:
        """Columns by the names that the admission gave them, and ticks, as result rows."""
        made = {
            self.periods.period.start: self.periods.starts(starts),
            self.periods.period.end: self.periods.ends(ends),
        }
        others = [name for name in self.schema.names if name not in made]
        yield from self.batches(made | {name: table[self.names[name]] for name in others})

    def batches(self, columns: "dict[str, pa.Array | pa.ChunkedArray]") -> Iterator[pa.RecordBatch]:
        """Columns by their own names as result rows."""
        target = to_arrow_schema(self.schema, timezone="UTC")
        arrays = [columns[name].cast(kind) for name, kind in zip(target.names, target.types, strict=True)]
        yield from pa.Table.from_arrays(arrays, schema=target).to_batches(max_chunksize=self.batch_rows)
