"""Sequenced joins of two tables or more on Spark: all rows go to tasks in one shuffle, by key and slice of time.

The plan has one branch for each table, so it grows with their number and no faster, and each is read once, but for the
sample that says where groups are cut. `chain_parts` says why no row needs an identity.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from timeloom.engines.spark.cluster.readings import require_one_reading
from timeloom.engines.spark.cluster.workers import mapped
from timeloom.engines.spark.columns.faults import fault
from timeloom.engines.spark.columns.keys import no_key, shared_hashes
from timeloom.engines.spark.columns.packing import packed_columns, shared_places
from timeloom.engines.spark.columns.ticks import literal
from timeloom.engines.spark.columns.validity import Admitted
from timeloom.engines.spark.sequenced.chain_columns import Traced
from timeloom.engines.spark.sequenced.chain_parts import FIRSTS, Arrivals
from timeloom.engines.spark.sequenced.chain_task import ChainTask, FirstStarts, Output
from timeloom.engines.spark.slicing.group_slices import GroupSlicing
from timeloom.engines.spark.slicing.slices import in_first_row, sample_rank
from timeloom.engines.tables.period_writer import PeriodWriter
from timeloom.engines.tables.validity import VALID
from timeloom.model.ticks import FOREVER, MIN_TICK

KEPT = {"inner": (), "left": (0,), "right": (-1,), "anti": (0,)}
"""The tables whose rows without a partner are in the result, by their places in the chain; with ``full`` all are."""


@dataclass(frozen=True)
class Chain:
    """Tables to be joined one after the other; ``keys`` and ``wanted`` are columns of each."""

    verb: str
    how: str
    inputs: tuple[Admitted, ...]
    keys: tuple[tuple[str, ...], ...]
    wanted: tuple[tuple[str, ...], ...]
    slicing: GroupSlicing
    algorithm: str = "auto"

    @cached_property
    def packing(self) -> tuple[tuple[T.DataType, ...], list[dict[str, int]]]:
        """The types of the places of a packed row, and where the columns of each table stand."""
        wanted = [(*keys, *names) for keys, names in zip(self.keys, self.wanted, strict=True)]
        return shared_places([side.schema for side in self.inputs], wanted)

    def place(self, table: int, name: str) -> str:
        """Where a column stands in a packed row."""
        return f"p{self.packing[1][table][name]}"

    def outputs(self, columns: Sequence[Traced]) -> tuple[Output, ...]:
        """Where tasks find the columns of a result."""
        return tuple(
            Output(tuple((table, self.place(table, name)) for table, name in column.sources), column.tick)
            for column in columns
        )

    @property
    def arrivals(self) -> Arrivals:
        """How tasks read the rows."""
        keys = tuple(tuple(self.place(table, name) for name in names) for table, names in enumerate(self.keys))
        sides = tuple((side.side, side.period) for side in self.inputs)
        policy, count = self.inputs[0].policy, self.slicing.partitions
        return Arrivals(self.verb, sides, policy, keys, count, self.slicing.slices > 1)

    def result(self, columns: Sequence[Output], schema: T.StructType, writer: PeriodWriter) -> DataFrame:
        """The plan of the result, with these columns."""
        task = ChainTask(self.arrivals, self.how, self.algorithm, tuple(columns), schema, writer)
        rows = self.sent()
        if self.arrivals.sliced and self.how != "inner":
            require_one_reading(self.inputs)
            rows = self._with_first_starts(rows)
        return mapped(rows, task, schema)

    def sent(self) -> DataFrame:
        """The rows of all tables, shuffled: a copy for each slice."""
        packed = [self._ticked(table, self._packed(table)) for table in range(len(self.inputs))]
        ranked = [self._ticked(table, [self._rank(table)]) for table in range(len(self.inputs))]
        placed = self.slicing.placed(_union(packed), _union(ranked))
        count = self.slicing.partitions
        number = f"CASE WHEN bounds IS NULL THEN 0 ELSE slice + 1 END * {len(self.inputs)} + source"
        place = f"pmod(pmod(key, {count}) + slice, {count})"
        since = f"CASE WHEN slice > 0 THEN get(bounds, slice - 1) ELSE {literal(MIN_TICK)} END AS since"
        until = f"coalesce(get(bounds, slice), {literal(FOREVER)}) AS until"
        cut = self.slicing.copied(placed).selectExpr(
            f"CAST({number} AS BIGINT) * {count} + {place} AS tag",
            "start",
            "end",
            *([since, until] if self.arrivals.sliced else []),
            *(["fault"] if self._judging else []),
            *(f"p{at}" for at in range(len(self.packing[0]))),
        )
        return cut.repartitionById(count, F.expr(f"CAST(pmod(tag, {count}) AS INT)"))

    def _with_first_starts(self, rows: DataFrame) -> DataFrame:
        """Tell each partition when the tables begin in each slice. Spark shuffles the rows once for both uses."""
        found = mapped(rows, FirstStarts(self.arrivals), "parcel binary")
        gathered = found.agg(F.expr("aggregate(collect_list(parcel), X'', (a, b) -> concat(a, b))").alias(FIRSTS))
        joined = rows.join(F.broadcast(gathered), F.lit(True))
        return joined.withColumn(FIRSTS, in_first_row(F.col(FIRSTS)))

    @property
    def _judging(self) -> bool:
        return self.inputs[0].policy.judges

    @cached_property
    def _hashes(self) -> list[str]:
        return shared_hashes(self.inputs, self.keys)

    def _packed(self, table: int) -> list[Column]:
        side = self.inputs[table]
        faults = [F.expr(f"{fault(side)} AS fault")] if self._judging else []
        return [*faults, *packed_columns(side, self.packing[1][table], self.packing[0])]

    def _rank(self, table: int) -> Column:
        return F.expr(f"{sample_rank(self.inputs[table], self._hashes[table])} AS rank")

    def _ticked(self, table: int, columns: list[Column]) -> DataFrame:
        """Rows with key and ticks, and the ticks from ``low`` to ``high`` at which they must be present."""
        side, names = self.inputs[table], self.keys[table]
        kept = KEPT.get(self.how)
        rows, valid = side.rows, f"{side.verdict} = {VALID}"
        if names and kept is not None and table not in [at % len(self.inputs) for at in kept]:
            rows = rows.where(f"NOT {no_key(side, names)} OR NOT {valid}")
        ticked = rows.select(
            F.lit(table).alias("source"),
            F.expr(f"CAST({self._hashes[table]} AS BIGINT) AS key"),
            F.expr(f"CASE WHEN {valid} THEN {side.columns.start} END AS start"),
            F.expr(f"CASE WHEN {valid} THEN {side.columns.end} END AS end"),
            *columns,
        )
        return ticked.withColumns({"low": F.col("start"), "high": F.expr("end - 1" if self.how == "inner" else "end")})


def _union(frames: list[DataFrame]) -> DataFrame:
    whole = frames[0]
    for frame in frames[1:]:
        whole = whole.unionAll(frame)
    return whole
