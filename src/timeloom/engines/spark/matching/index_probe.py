"""A small side searched in SQL: rows of the large side reach no task at all, and are neither shuffled nor copied.

Each of them looks up the first and the last cell of an index that it must be present in, and meets the rows that are
entered from the one to the other. A row that is entered in several of these cells counts where it comes first.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from timeloom.engines.spark.cluster.versions import from_arrow_type
from timeloom.engines.spark.cluster.workers import mapped
from timeloom.engines.spark.columns.faults import refused_in_sql
from timeloom.engines.spark.exchange.broadcast import Broadcast, sent_to_all
from timeloom.engines.spark.matching.cell_index import INDEX, REACHES, IndexedSide, value_names
from timeloom.engines.spark.slicing.join_parts import JoinPart
from timeloom.engines.spark.slicing.range_columns import TOUCHED, cell, since_base, tick_range_columns
from timeloom.engines.tables.verdicts import unusable_in_sql
from timeloom.model.naming import OutputColumn
from timeloom.model.policy import Policy

LARGE_BYTES = 1 << 24
"""A side of fewer bytes goes to tasks: they cost little then, and tell of all invalid rows at once."""

TIMES_LARGER = 32
"""It must have so many times the bytes of the other side, whose index takes time to make and to send."""

MOST_PARTS = 4


def suits(policy: Policy, parts: Sequence[JoinPart], small: int | None, streamed: int | None) -> bool:
    """Tell whether sides of these sizes suit, if the relation does; only tasks can report which rows they drop."""
    return (
        not policy.drops
        and 0 < len(parts) <= MOST_PARTS
        and small is not None
        and streamed is not None
        and streamed >= max(LARGE_BYTES, TIMES_LARGER * small)
    )


@dataclass(frozen=True)
class Probing:
    """A broadcast whose streamed rows find their partners in an index of the small side."""

    plan: Broadcast
    columns: tuple[OutputColumn, ...]
    fields: tuple[T.StructField, ...]

    @property
    def side(self) -> DataFrame:
        """One row with the small side and its index."""
        small, parts = self.plan.small, self.plan.parts
        positions = self.plan.packing.positions(small.admitted)
        task = IndexedSide(
            small.layout, parts, small.admitted.policy, tuple(f"p{positions[name]}" for name in self._values)
        )
        schema = T.StructType([T.StructField(name, _without_nulls(kind)) for name, kind in INDEX.items()])
        schema = schema.add(REACHES, T.ArrayType(T.LongType(), containsNull=False))
        for name, value in zip(value_names(len(self._values)), self._values, strict=True):
            schema = schema.add(name, T.ArrayType(small.admitted.schema[value].dataType))
        return sent_to_all(mapped(self.plan.gathered, task, schema), schema.names)

    @property
    def _values(self) -> list[str]:
        """The columns of the result that the small side has."""
        return [self._name(column) for column in self.columns if self._is_small(column)]

    def _is_small(self, column: OutputColumn) -> bool:
        return (column.origin == "right") == (self.plan.small.admitted.side == "right")

    @staticmethod
    def _name(column: OutputColumn) -> str:
        return column.right if column.origin == "right" else column.left

    def result(self) -> DataFrame:
        """The pairs."""
        admitted, parts = self.plan.streamed.admitted, self.plan.parts
        carried = [admitted.column(self._name(column)) for column in self.columns if not self._is_small(column)]
        reaches = [text for part in parts for text in tick_range_columns(admitted.side, [part])]
        asked = {f"reach_{number}": text for number, text in enumerate(reaches)}
        located = {"begin": _offset("low"), "own": _offset("low", 1), "stop": _offset("high", 1)}
        rows = self._touching().withColumns({f"{tick}_cell": F.expr(cell(tick)) for tick in ("low", "high")})
        rows = rows.withColumns({name: F.expr(text) for name, text in (located | asked).items()})
        kept = [*dict.fromkeys(carried), *asked, REACHES, *value_names(len(self._values))]
        entries = F.posexplode(F.expr("slice(entries, begin + 1, greatest(0, stop - begin))")).alias("at", "entry")
        found = rows.select(*kept, F.expr("own - begin").alias("own"), entries)
        counted = found.where("at < own OR entry & 1 = 1")
        return counted.where(_meets(len(parts))).select(*self._output())

    def _touching(self) -> DataFrame:
        """The streamed rows that touch a cell with entries, beside the small side. Invalid rows are refused."""
        admitted = self.plan.streamed.admitted
        if not admitted.policy.judges:
            return self.plan.present.join(self.side, F.expr(TOUCHED))
        unusable = unusable_in_sql("start", "end")
        joined = self.plan.present.join(self.side, F.expr(f"{unusable} OR {TOUCHED}"))
        refused = f"CAST({refused_in_sql(admitted)} AS BIGINT)"
        return joined.withColumn("low", F.expr(f"CASE WHEN {unusable} THEN {refused} ELSE low END"))

    def _output(self) -> list[Column]:
        values = iter(value_names(len(self._values)))
        found = []
        for column, field in zip(self.columns, self.fields, strict=True):
            if self._is_small(column):
                value = F.expr(f"get({next(values)}, shiftright(entry, 1))")
            else:
                value = F.col(self.plan.streamed.admitted.column(self._name(column)))
            found.append(value.alias(field.name, metadata=field.metadata or {}))
        return found


def _without_nulls(kind: pa.DataType) -> T.DataType:
    """A type of the index; whoever knows that there are no nulls need not look for them."""
    found = from_arrow_type(kind)
    return T.ArrayType(found.elementType, containsNull=False) if isinstance(found, T.ArrayType) else found


def _offset(tick: str, further: int = 0) -> str:
    """Where the entries of the cell begin in which a tick lies, or of the next one; the same for parts of cells."""
    at = f"{tick}_cell"
    last = f"get(parts, {at} + 1) - get(parts, {at}) - 1"
    within = f"shiftright({since_base(tick)} - get(froms, {at}), get(widths, {at}))"
    part = f"get(parts, {at}) + CAST(least(greatest({within}, 0), {last}) AS INT)"
    return f"CASE WHEN parts IS NULL THEN get(before, {at} + {further}) ELSE get(offsets, {part} + {further}) END"


def _meets(parts: int) -> str:
    """Whether a row and its partner are where some part wants them to be; one of them is a point."""
    ours, theirs = "reach_{}".format, f"get({REACHES}, shiftright(entry, 1) * {2 * parts} + {{}})".format
    return " OR ".join(
        f"({ours(low)} <= {theirs(high)} AND {theirs(low)} <= {ours(high)})"
        for low, high in ((2 * part, 2 * part + 1) for part in range(parts))
    )
