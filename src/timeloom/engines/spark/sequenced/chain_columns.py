"""The columns of sequenced joins of several tables: what each is called, its type, and where its values come from."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark.sql import types as T

from timeloom.engines.spark.columns.periods import period_type
from timeloom.engines.spark.columns.validity import JudgedFrame
from timeloom.engines.tables.frames import require_columns
from timeloom.engines.tables.period_writer import PeriodWriter
from timeloom.model.naming import OutputColumn, joined_columns
from timeloom.model.sequenced import TemporalJoinRequest

Sources = tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class Traced:
    """A column of a result: its field, and the columns of tables that it comes from, or the tick that it is."""

    field: T.StructField
    sources: Sources = ()
    tick: str = ""


def layout(request: TemporalJoinRequest, left: Sequence[str], right: Sequence[str]) -> list[OutputColumn]:
    """The columns of a join of two tables; the right period goes."""
    return joined_columns(
        left,
        right,
        request.keys,
        suffixes=request.suffixes,
        without_right=request.right_period.columns,
        columns=request.columns,
    )


def own_columns(side: JudgedFrame, writer: PeriodWriter) -> list[Traced]:
    """The columns of the first table; its period is that of the result."""
    names = side.schema.names if side.period == writer.period else side.period.placed(side.schema.names)
    return [_tick(name, writer) or Traced(side.schema[name], ((0, name),)) for name in names]


def chained_columns(
    inputs: Sequence[JudgedFrame], requests: Sequence[TemporalJoinRequest], writer: PeriodWriter
) -> list[Traced]:
    """The columns of a chain of joins, one request for each table after the first."""
    known = own_columns(inputs[0], writer)
    for number, (side, request) in enumerate(zip(inputs[1:], requests, strict=True), start=1):
        by_name = {column.field.name: column for column in known}
        require_columns(list(by_name), [*writer.period.columns, *request.keys.left], "left")
        known = [
            _joined(column, by_name, side, number, request.how)
            for column in layout(request, list(by_name), side.schema.names)
        ]
    return known


def read_columns(
    inputs: Sequence[JudgedFrame], request: TemporalJoinRequest, writer: PeriodWriter
) -> tuple[tuple[str, Traced], ...]:
    """The columns of a pair that a condition reads, by the names that it has for them; the period is the shared one."""
    if request.where is None:
        return ()
    known = chained_columns(inputs, [replace(request, columns=None, how="inner")], writer)
    by_name = {column.field.name: column for column in known}
    return tuple((name, by_name[output]) for name, output in request.where.resolve(list(by_name)).items())


def _tick(name: str, writer: PeriodWriter) -> Traced | None:
    for tick, known in (("start", writer.period.start), ("end", writer.period.end)):
        if name == known:
            return Traced(T.StructField(name, period_type(writer)), tick=tick)
    return None


def _joined(column: OutputColumn, known: dict[str, Traced], side: JudgedFrame, number: int, how: str) -> Traced:
    if column.origin == "right":
        field = side.schema[column.right]
        return Traced(_named(field, column.name, how in ("left", "full")), ((number, column.right),))
    found = known[column.left]
    sources = (*found.sources, (number, column.right)) if column.origin == "key" else found.sources
    outer = how in ("right", "full") and not found.tick
    return Traced(_named(found.field, column.name, outer), sources, found.tick)


def _named(field: T.StructField, name: str, outer: bool) -> T.StructField:
    return T.StructField(name, field.dataType, field.nullable or outer, field.metadata)
