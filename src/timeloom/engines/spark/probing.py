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
from pyspark.sql.pandas.types import from_arrow_type

from timeloom.engines.admission import REMEDY
from timeloom.engines.spark.admission import Admitted
from timeloom.engines.spark.cell_index import INDEX, REACHES, IndexedSide, value_names
from timeloom.engines.spark.distribution import Sent
from timeloom.engines.spark.packing import Packing
from timeloom.engines.spark.pieces import Piece
from timeloom.engines.spark.presence import presence
from timeloom.engines.spark.workers import mapped
from timeloom.model.naming import OutputColumn
from timeloom.model.policy import Policy

LARGE_BYTES = 1 << 24
"""A side of fewer bytes goes to tasks: they cost little then, and tell of all invalid rows at once."""

TIMES_LARGER = 32
"""It must have so many times the bytes of the other side, whose index takes time to make and to send."""

MOST_PIECES = 4


def suits(policy: Policy, pieces: Sequence[Piece], small: int | None, streamed: int | None) -> bool:
    """Tell whether sides of these sizes suit, if the relation does; only tasks can report which rows they drop."""
    return (
        policy.on_invalid != "drop"
        and policy.empty != "drop"
        and 0 < len(pieces) <= MOST_PIECES
        and small is not None
        and streamed is not None
        and streamed >= max(LARGE_BYTES, TIMES_LARGER * small)
    )


@dataclass(frozen=True)
class Probing:
    """A plan that finds the partners of each streamed row in an index of the small side."""

    streamed: Sent
    small: Sent
    pieces: tuple[Piece, ...]
    packing: Packing
    columns: tuple[OutputColumn, ...]
    fields: tuple[T.StructField, ...]

    @property
    def side(self) -> DataFrame:
        """One row with the small side; nulls if it has no rows."""
        rows = self.small.rows.select(*self.packing.own(self.small.admitted)).coalesce(1)
        places, names = self.packing.places(self.small.admitted), self._values
        columns = tuple(f"p{places[name]}" for name in names)
        task = IndexedSide(self.small.layout, self.pieces, self.small.admitted.policy, columns)
        schema = T.StructType([T.StructField(name, _without_nulls(kind)) for name, kind in INDEX.items()])
        schema = schema.add(REACHES, T.ArrayType(T.LongType(), containsNull=False))
        for name, value in zip(value_names(len(names)), names, strict=True):
            schema = schema.add(name, T.ArrayType(self.small.admitted.schema[value].dataType))
        made = mapped(rows, task, schema)
        return F.broadcast(made.agg(*(F.first(name).alias(name) for name in schema.names)))

    @property
    def _values(self) -> list[str]:
        """The columns of the result that the small side has."""
        return [self._name(column) for column in self.columns if self._is_small(column)]

    def _is_small(self, column: OutputColumn) -> bool:
        return (column.origin == "right") == (self.small.admitted.side == "right")

    @staticmethod
    def _name(column: OutputColumn) -> str:
        return column.right if column.origin == "right" else column.left

    def result(self) -> DataFrame:
        """The pairs."""
        admitted = self.streamed.admitted
        carried = [admitted.column(self._name(column)) for column in self.columns if not self._is_small(column)]
        reaches = [text for piece in self.pieces for text in presence(admitted.side, [piece])]
        asked = {f"reach_{number}": text for number, text in enumerate(reaches)}
        located = {"begin": _offset("first"), "own": _offset("first", 1), "stop": _offset("last", 1)}
        cells = {f"{tick}_cell": F.expr(_cell(tick)) for tick in ("first", "last")}
        rows = self._touching().withColumns(cells)
        rows = rows.withColumns({name: F.expr(text) for name, text in (located | asked).items()})
        kept = [*dict.fromkeys(carried), *asked, REACHES, *value_names(len(self._values))]
        entries = F.posexplode(F.expr("slice(entries, begin + 1, greatest(0, stop - begin))")).alias("at", "entry")
        found = rows.select(*kept, F.expr("own - begin").alias("own"), entries)
        counted = found.where("at < own OR entry & 1 = 1")
        return counted.where(_meets(len(self.pieces))).select(*self._output())

    def _touching(self) -> DataFrame:
        """The streamed rows that touch a cell with entries, beside the small side."""
        admitted = self.streamed.admitted
        ticks = {"start": F.expr(admitted.columns.start), "end": F.expr(admitted.columns.end)}
        ends = zip(("first", "last"), presence(admitted.side, self.pieces), strict=True)
        rows = self.streamed.rows.withColumns(ticks).withColumns({name: F.expr(text) for name, text in ends})
        touched = f"get(before, {_cell('last')} + 1) > get(before, {_cell('first')})"
        if admitted.policy.on_invalid == "quarantine":
            return rows.join(self.side, F.expr(touched))
        joined = rows.join(self.side, F.expr(f"start IS NULL OR end <= start OR {touched}"))
        return joined.withColumn("first", F.when(F.expr("start < end"), F.col("first")).otherwise(_refused(admitted)))

    def _output(self) -> list[Column]:
        values = iter(value_names(len(self._values)))
        found = []
        for column, field in zip(self.columns, self.fields, strict=True):
            if self._is_small(column):
                value = F.expr(f"get({next(values)}, shiftright(entry, 1))")
            else:
                value = F.col(self.streamed.admitted.column(self._name(column)))
            found.append(value.alias(field.name, metadata=field.metadata or {}))
        return found


def _without_nulls(kind: pa.DataType) -> T.DataType:
    """A type of the index; whoever knows that there are no nulls need not look for them."""
    found = from_arrow_type(kind)
    return T.ArrayType(found.elementType, containsNull=False) if isinstance(found, T.ArrayType) else found


def _cell(tick: str) -> str:
    """The number of the cell in which a tick lies."""
    return f"CAST(shiftright({_since(tick)}, shift) AS INT)"


def _offset(tick: str, further: int = 0) -> str:
    """Where the entries of the cell begin in which a tick lies, or of the next one; the same for parts of cells."""
    cell = f"{tick}_cell"
    last = f"get(parts, {cell} + 1) - get(parts, {cell}) - 1"
    within = f"shiftright({_since(tick)} - get(froms, {cell}), get(widths, {cell}))"
    part = f"get(parts, {cell}) + CAST(least(greatest({within}, 0), {last}) AS INT)"
    return f"CASE WHEN parts IS NULL THEN get(before, {cell} + {further}) ELSE get(offsets, {part} + {further}) END"


def _since(tick: str) -> str:
    return f"(least(greatest({tick}, base), top) - base)"


def _meets(pieces: int) -> str:
    """Whether a row and its partner are where some piece wants them to be; one of them is a point."""
    ours, theirs = "reach_{}".format, f"get({REACHES}, shiftright(entry, 1) * {2 * pieces} + {{}})".format
    return " OR ".join(
        f"({ours(low)} <= {theirs(high)} AND {theirs(low)} <= {ours(high)})"
        for low, high in ((2 * piece, 2 * piece + 1) for piece in range(pieces))
    )


def _refused(admitted: Admitted) -> Column:
    """An error for an invalid row. It is the first of its task: nobody has seen the others."""
    written = [
        F.coalesce(F.col(admitted.column(name)).cast("string"), F.lit("null"))
        for name in (admitted.period.start, admitted.period.end)
    ]
    words = F.lit(f"at least 1 row of the {admitted.side} table has no usable period: 1 where ")
    text = F.concat(words, admitted.reason, F.lit(" (["), F.concat_ws(", ", *written), F.lit(f"]). {REMEDY}"))
    return F.raise_error(text).cast("bigint")
