"""Sequenced joins of two tables or more on Spark: all rows go to tasks in one shuffle, by key and slice of time.

The plan has one branch for each table, so it grows with their number and no faster, and each is read once, but for the
sample that says where groups are cut. `chain_parts` says why no row needs an identity.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from timeloom.engines.spark.cluster.readings import require_one_reading
from timeloom.engines.spark.cluster.workers import mapped
from timeloom.engines.spark.columns.arrow_types import arrow_schema
from timeloom.engines.spark.columns.faults import FAULT, fault
from timeloom.engines.spark.columns.keys import no_key, shared_hashes
from timeloom.engines.spark.columns.validity import JudgedFrame
from timeloom.engines.spark.exchange.blocks import BLOCK
from timeloom.engines.spark.exchange.plan import Exchange, Source
from timeloom.engines.spark.exchange.writing import KEY
from timeloom.engines.spark.sequenced.chain_columns import Traced
from timeloom.engines.spark.sequenced.chain_parts import FIRSTS, Arrivals, ChainTable
from timeloom.engines.spark.sequenced.chain_task import ChainTask, FirstStarts, Output
from timeloom.engines.spark.sequenced.tick_columns import END, START, TickColumns
from timeloom.engines.spark.slicing.sample import in_first_row
from timeloom.engines.spark.slicing.slices import Slicing
from timeloom.engines.spark.slicing.tick_ranges import PeriodRange
from timeloom.engines.tables.period_writer import PeriodWriter
from timeloom.engines.tables.verdicts import VALID

KEPT = {"inner": (), "left": (0,), "right": (-1,), "anti": (0,)}
"""The tables whose rows without a partner are in the result, by their numbers in the chain; with ``full`` all are."""


@dataclass(frozen=True)
class Chain:
    """Tables to be joined one after the other; ``keys`` and ``wanted`` are columns of each."""

    verb: str
    how: str
    inputs: tuple[JudgedFrame, ...]
    keys: tuple[tuple[str, ...], ...]
    wanted: tuple[tuple[str, ...], ...]
    slicing: Slicing
    algorithm: str = "auto"

    def outputs(self, columns: Sequence[Traced]) -> tuple[Output, ...]:
        """Where tasks find the columns of a result."""
        return tuple(
            Output(tuple((table, self.inputs[table].column(name)) for table, name in column.sources), column.tick)
            for column in columns
        )

    @cached_property
    def arrivals(self) -> Arrivals:
        """How tasks read the rows."""
        tables = tuple(map(self._table, range(len(self.inputs))))
        return Arrivals(self.verb, tables, self.inputs[0].policy, self.slicing.slices > 1)

    def _table(self, number: int) -> ChainTable:
        side, names = self.inputs[number], self._names(number)
        arrow = arrow_schema(T.StructType([side.schema[name] for name in names]), side.side)
        schema = arrow.empty_table().rename_columns([side.column(name) for name in names]).schema
        return ChainTable(side.side, side.period, schema, tuple(map(side.column, self.keys[number])))

    def _names(self, number: int) -> list[str]:
        """The columns of a table that are sent."""
        return list(dict.fromkeys([*self.keys[number], *self.wanted[number]]))

    def result(self, columns: Sequence[Output], schema: T.StructType, writer: PeriodWriter) -> DataFrame:
        """The plan of the result, with these columns."""
        task = ChainTask(self.arrivals, self.how, self.algorithm, tuple(columns), schema, writer)
        rows = self.sent()
        if self.arrivals.sliced and self.how != "inner":
            require_one_reading(self.inputs)
            rows = self._with_first_starts(rows)
        return mapped(rows, task, schema)

    def sent(self) -> DataFrame:
        """The rows of all tables, shuffled: whole, a copy for each slice."""
        return Exchange(tuple(map(self._source, range(len(self.inputs)))), self.slicing).rows()

    def _source(self, number: int) -> Source:
        side = self.inputs[number]
        faults = [f"{fault(side)} AS {FAULT}"] if side.policy.judges else []
        rows = self._ticked(number, [*faults, *(side.column(name) for name in self._names(number))])
        timed = self._ticked(number, []).where(f"{START} < {END}")
        reader = TickColumns(PeriodRange(with_end=self.how != "inner"))
        return Source(rows if self.keys[number] else rows.drop(KEY), timed, (START, END), KEY, reader)

    def _with_first_starts(self, rows: DataFrame) -> DataFrame:
        """Tell each partition when the tables begin in each slice. Spark shuffles the rows once for both uses."""
        found = mapped(rows, FirstStarts(self.arrivals), f"{BLOCK} binary")
        together = f"aggregate(collect_list({BLOCK}), X'', (a, b) -> concat(a, b))"
        gathered = found.agg(F.expr(together).alias(FIRSTS))
        joined = rows.join(F.broadcast(gathered), F.lit(True))
        return joined.withColumn(FIRSTS, in_first_row(F.col(FIRSTS)))

    @cached_property
    def _hashes(self) -> list[str]:
        return shared_hashes(self.inputs, self.keys)

    def _ticked(self, number: int, columns: list[str]) -> DataFrame:
        """Rows with key and ticks; invalid ones have none."""
        side, names = self.inputs[number], self.keys[number]
        kept = KEPT.get(self.how)
        rows, valid = side.rows, f"{side.verdict} = {VALID}"
        if names and kept is not None and number not in [at % len(self.inputs) for at in kept]:
            rows = rows.where(f"NOT {no_key(side, names)} OR NOT {valid}")
        return rows.selectExpr(
            f"CAST({self._hashes[number]} AS BIGINT) AS {KEY}",
            f"CASE WHEN {valid} THEN {side.columns.start} END AS {START}",
            f"CASE WHEN {valid} THEN {side.columns.end} END AS {END}",
            *columns,
        )
