"""Sequenced joins of two tables or more on Spark: all rows go to tasks in one shuffle, by key and slice of time.

The plan has one branch for each table, so it grows with their number and no faster, and each is read once, but for the
sample that says where groups are cut. `chain_parts` says why no row needs an identity.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from timeloom.engines.spark.cluster.readings import require_one_reading
from timeloom.engines.spark.cluster.versions import to_arrow_schema
from timeloom.engines.spark.cluster.workers import Piped, mapped
from timeloom.engines.spark.columns.arrow_types import arrow_schema, may_be_long
from timeloom.engines.spark.columns.faults import FAULT, fault
from timeloom.engines.spark.columns.keys import no_key, shared_hashes
from timeloom.engines.spark.columns.packing import packed_columns, shared_positions
from timeloom.engines.spark.columns.validity import JudgedFrame
from timeloom.engines.spark.exchange.blocks import BLOCK
from timeloom.engines.spark.exchange.forecast import row_bytes
from timeloom.engines.spark.exchange.plan import Exchange, Source
from timeloom.engines.spark.exchange.writing import KEY
from timeloom.engines.spark.sequenced.chain_columns import Traced
from timeloom.engines.spark.sequenced.chain_parts import FIRSTS, Arrivals, ChainTable
from timeloom.engines.spark.sequenced.chain_task import Asked, ChainTask, FirstStarts, Output
from timeloom.engines.spark.sequenced.tick_columns import END, START, TickColumns
from timeloom.engines.spark.slicing.sample import in_first_row
from timeloom.engines.spark.slicing.slices import Slicing
from timeloom.engines.spark.slicing.tick_ranges import PeriodRange
from timeloom.engines.tables.conditions import held
from timeloom.engines.tables.period_writer import PeriodWriter
from timeloom.engines.tables.verdicts import VALID
from timeloom.model.conditions import Condition

KEPT = {"inner": (), "semi": (), "left": (0,), "right": (-1,), "anti": (0,)}
"""The tables whose rows without a partner are in the result, by their numbers in the chain; with ``full`` all are."""


@dataclass(frozen=True)
class Chain:
    """Tables to be joined one after the other; ``keys`` and ``wanted`` are columns of each.

    ``where`` is a condition on pairs of two tables, and ``read`` what it reads.
    """

    verb: str
    how: str
    inputs: tuple[JudgedFrame, ...]
    keys: tuple[tuple[str, ...], ...]
    wanted: tuple[tuple[str, ...], ...]
    slicing: Slicing
    algorithm: str = "auto"
    where: Condition | None = None
    read: tuple[tuple[str, Traced], ...] = ()

    @cached_property
    def packing(self) -> tuple[tuple[T.DataType, ...], list[dict[str, int]]]:
        """The types of the columns of a packed row, and where those of each table stand."""
        wanted = [[*keys, *names] for keys, names in zip(self.keys, self.wanted, strict=True)]
        for table, name in (source for _, column in self.read for source in column.sources):
            wanted[table].append(name)
        return shared_positions([side.schema for side in self.inputs], wanted)

    def position(self, table: int, name: str) -> str:
        """Where a column stands in a packed row."""
        return f"p{self.packing[1][table][name]}"

    def outputs(self, columns: Sequence[Traced]) -> tuple[Output, ...]:
        """Where tasks find the columns of a result."""
        return tuple(
            Output(tuple((table, self.position(table, name)) for table, name in column.sources), column.tick)
            for column in columns
        )

    @cached_property
    def arrivals(self) -> Arrivals:
        """How tasks read the rows."""
        tables = tuple(map(self._table, range(len(self.inputs))))
        return Arrivals(self.verb, tables, self.inputs[0].policy, self.slicing.slices > 1)

    def _table(self, number: int) -> ChainTable:
        side, positions = self.inputs[number], self.packing[1][number]
        arrow = arrow_schema(T.StructType([side.schema[name] for name in positions]), side.side)
        schema = arrow.empty_table().rename_columns([f"p{at}" for at in positions.values()]).schema
        return ChainTable(side.side, side.period, schema, tuple(f"p{positions[key]}" for key in self.keys[number]))

    def result(self, columns: Sequence[Output], schema: T.StructType, writer: PeriodWriter) -> DataFrame:
        """The plan of the result, with these columns."""
        task = ChainTask(self.arrivals, self.how, self.algorithm, tuple(columns), schema, writer, self._asked())
        rows = self.sent()
        if self.arrivals.sliced and self.how != "inner" and not isinstance(rows, Piped):
            require_one_reading(self.inputs)
            rows = self._with_first_starts(rows)
        return mapped(rows, task, schema)

    def _asked(self) -> Asked | None:
        """What tasks ask of pairs; on no rows at all it is tried out, before anything runs."""
        if self.where is None:
            return None
        names, columns = [name for name, _ in self.read], [column for _, column in self.read]
        fields = T.StructType([T.StructField(f"c{at}", column.field.dataType) for at, column in enumerate(columns)])
        empty = to_arrow_schema(fields).empty_table()
        held(self.where, dict(zip(names, empty.columns, strict=True)), 0)
        return Asked(self.where, tuple(zip(names, self.outputs(columns), strict=True)))

    def sent(self) -> DataFrame | Piped:
        """The rows of all tables, shuffled: whole, a copy for each slice."""
        return self.exchange.rows()

    def forecast(self) -> dict[str, Any]:
        """What sending the rows would cost, from a sample of them."""
        return self.exchange.forecast(max(row_bytes(table.schema) for table in self.arrivals.tables) + 16)

    @property
    def exchange(self) -> Exchange:
        """The exchange of all tables."""
        common = [*([KEY] if self.keys[0] else []), START, END, *([FAULT] if self._judging else [])]
        mixed = tuple((*common, *table.schema.names) for table in self.arrivals.tables)
        return Exchange(tuple(map(self._source, range(len(self.inputs)))), self.slicing, mixed=mixed)

    @property
    def _judging(self) -> bool:
        return self.inputs[0].policy.judges

    def _source(self, number: int) -> Source:
        side = self.inputs[number]
        faults = [F.expr(f"{fault(side)} AS {FAULT}")] if self._judging else []
        packed = packed_columns(side, self.packing[1][number], self.packing[0])
        rows = self._ticked(number, [*faults, *packed], keyed=bool(self.keys[number]))
        reader = TickColumns(PeriodRange(with_end=self.how != "inner"))
        long = tuple(f"p{at}" for at, kind in enumerate(self.packing[0]) if may_be_long(kind))

        def timed() -> DataFrame:
            return self._ticked(number, []).where(f"{START} < {END}")

        return Source(rows, timed, (START, END), KEY, reader, long)

    def _with_first_starts(self, rows: DataFrame) -> DataFrame:
        """Tell each partition when the tables begin in each slice. Spark shuffles the rows once for both uses."""
        found = mapped(rows, FirstStarts(self.arrivals), f"{BLOCK} binary")
        together = f"aggregate(collect_list({BLOCK}), X'', (a, b) -> concat(a, b))"
        gathered = found.agg(F.expr(together).alias(FIRSTS))
        joined = rows.join(F.broadcast(gathered), F.lit(True))
        return joined.withColumn(FIRSTS, F.expr(in_first_row(FIRSTS)))

    @cached_property
    def _hashes(self) -> list[str]:
        return shared_hashes(self.inputs, self.keys)

    def _ticked(self, number: int, columns: list[Column], *, keyed: bool = True) -> DataFrame:
        """Rows with key and ticks; invalid ones have none."""
        side, names = self.inputs[number], self.keys[number]
        kept = KEPT.get(self.how)
        rows, valid = side.rows, f"{side.verdict} = {VALID}"
        if names and kept is not None and number not in [at % len(self.inputs) for at in kept]:
            rows = rows.where(f"NOT {no_key(side, names)} OR NOT {valid}")
        return rows.select(
            *([F.expr(f"CAST({self._hashes[number]} AS BIGINT) AS {KEY}")] if keyed else []),
            F.expr(f"CASE WHEN {valid} THEN {side.columns.start} END AS {START}"),
            F.expr(f"CASE WHEN {valid} THEN {side.columns.end} END AS {END}"),
            *columns,
        )
