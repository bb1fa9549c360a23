"""Two DataFrames as sets or bags of values at every instant: all rows of a value go to one task."""

from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from timeloom.engines.spark.cluster.versions import from_arrow_schema
from timeloom.engines.spark.columns.validity import JudgedFrame, judge_frame
from timeloom.engines.spark.sequenced.whole_groups import (
    admitted_rows,
    by_group,
    empty_table,
    handed_out,
    inner_policy,
)
from timeloom.engines.tables.validity import free_name
from timeloom.engines.timelines.value_sets import ValueSets
from timeloom.model.period import Period
from timeloom.model.sequenced import TemporalSetRequest


@dataclass(frozen=True)
class Combining:
    """Combines the rows of one value, of both tables, which a column tells apart."""

    request: TemporalSetRequest
    mode: int
    tag: str
    names: tuple[tuple[str, ...], tuple[str, ...]]
    values: tuple[str, ...]

    def __call__(self, table: pa.Table) -> pa.Table:
        """The result for a value."""
        sides = []
        for side, (names, period) in enumerate(
            zip(self.names, (self.request.left_period, self.request.right_period), strict=True)
        ):
            rows = table.filter(pc.equal(table[self.tag], side))
            sides.append(pa.table({name: rows[_alias(name, side, period)] for name in names}))
        found = ValueSets(sides[0], sides[1], self.request)
        return found.table(self.mode)


def combined(left: DataFrame, right: DataFrame, request: TemporalSetRequest, mode: int) -> Any:
    """The plan of a set operation."""
    sides = (
        judge_frame(left, request.left_period, "left", request.policy),
        judge_frame(right, request.right_period, "right", request.policy),
    )
    inner = replace(request, policy=inner_policy(request.policy))
    plan = ValueSets(empty_table(sides[0].schema), empty_table(sides[1].schema), inner)
    kinds = from_arrow_schema(plan.stacked().schema)
    values = tuple(plan.values)
    tag = free_name("side", [*sides[0].schema.names, *sides[1].schema.names])
    periods = [_periods(side, number) for number, side in enumerate(sides)]
    fields = [T.StructField(tag, T.IntegerType()), *kinds, *periods[0], *periods[1]]
    stacked = _stacked(sides[0], fields, 0).unionAll(_stacked(sides[1], fields, 1))
    names = tuple(sides[0].schema.names), tuple(sides[1].schema.names)
    work = Combining(inner, mode, tag, names, values)
    result = by_group(stacked, values, T.StructType(fields), work, ())
    return handed_out(result, sides, request.policy)


def _alias(name: str, side: int, period: Period) -> str:
    """The column in which a period column of a side travels; values travel under their own names."""
    return f"{side} {name}" if name in period.columns else name


def _periods(side: JudgedFrame, number: int) -> list[T.StructField]:
    return [T.StructField(f"{number} {name}", side.schema[name].dataType) for name in side.period.columns]


def _stacked(side: JudgedFrame, fields: list[T.StructField], number: int) -> DataFrame:
    """The rows of a side with the columns of both."""
    rows = admitted_rows(side)
    aliases = {_alias(name, number, side.period): f"c{at}" for at, name in enumerate(side.schema.names)}
    rows = rows.toDF(*(f"c{at}" for at in range(len(side.schema))))
    columns = [F.lit(number).cast("int")]
    for field in fields[1:]:
        known = aliases.get(field.name)
        columns.append((F.lit(None) if known is None else F.col(known)).cast(field.dataType))
    return rows.select(*columns).toDF(*(field.name for field in fields))
