"""Two DataFrames as sets or bags of values at every instant: all rows of a value go to one task."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from timeloom.engines.spark.cluster.versions import from_arrow_schema
from timeloom.engines.spark.columns.packing import named_in_sql
from timeloom.engines.spark.columns.validity import JudgedFrame, judge_frame
from timeloom.engines.spark.sequenced.whole_groups import (
    by_group,
    empty_table,
    handed_out,
    inner_policy,
)
from timeloom.engines.tables.arrays import from_numpy, to_numpy
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
        sides, tags = [], to_numpy(table[self.tag])
        for side, (names, period) in enumerate(
            zip(self.names, (self.request.left_period, self.request.right_period), strict=True)
        ):
            rows = table.filter(from_numpy(tags == side))
            sides.append(pa.table({name: rows[_alias(name, side, period)] for name in names}))
        found = ValueSets(sides[0], sides[1], self.request)
        return found.table(self.mode)


@dataclass(frozen=True)
class StackedSides:
    """The rows of two tables in one DataFrame: what both call a value stands in one column, the periods beside it."""

    sides: tuple[JudgedFrame, JudgedFrame]
    request: TemporalSetRequest

    @classmethod
    def of(cls, left: DataFrame, right: DataFrame, request: TemporalSetRequest) -> "StackedSides":
        """Judge both tables."""
        judged = (
            judge_frame(left, request.left_period, "left", request.policy),
            judge_frame(right, request.right_period, "right", request.policy),
        )
        return cls(judged, replace(request, policy=inner_policy(request.policy)))

    @cached_property
    def _plan(self) -> ValueSets:
        return ValueSets(empty_table(self.sides[0].schema), empty_table(self.sides[1].schema), self.request)

    @property
    def values(self) -> tuple[str, ...]:
        """The columns that are compared."""
        return tuple(self._plan.values)

    @property
    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The columns of each table."""
        return tuple(self.sides[0].schema.names), tuple(self.sides[1].schema.names)

    @property
    def tag(self) -> str:
        """The column that tells the tables apart."""
        return free_name("side", [name for names in self.names for name in names])

    @cached_property
    def schema(self) -> T.StructType:
        """All columns."""
        kinds = from_arrow_schema(self._plan.stacked().schema)
        periods = [field for number, side in enumerate(self.sides) for field in _periods(side, number)]
        return T.StructType([T.StructField(self.tag, T.IntegerType()), *kinds, *periods])

    def rows(self) -> DataFrame:
        """The rows of both, with columns named by position."""
        left, right = (_stacked(side, list(self.schema), number) for number, side in enumerate(self.sides))
        return left.unionAll(right)


def combined(left: DataFrame, right: DataFrame, request: TemporalSetRequest, mode: int) -> Any:
    """The plan of a set operation."""
    stacked = StackedSides.of(left, right, request)
    work = Combining(stacked.request, mode, stacked.tag, stacked.names, stacked.values)
    result = by_group(stacked.rows(), stacked.values, stacked.schema, work, ())
    return handed_out(result, stacked.sides, request.policy)


def _alias(name: str, side: int, period: Period) -> str:
    """The column in which a period column of a side travels; values travel under their own names."""
    return f"{side} {name}" if name in period.columns else name


def _periods(side: JudgedFrame, number: int) -> list[T.StructField]:
    return [T.StructField(f"{number} {name}", side.schema[name].dataType) for name in side.period.columns]


def _stacked(side: JudgedFrame, fields: list[T.StructField], number: int) -> DataFrame:
    """The rows of a side with the columns of both, named by position."""
    own = {_alias(name, number, side.period): name for name in side.schema.names}
    columns: list[str | Column] = [f"{number} AS c0"]
    for at, field in enumerate(fields[1:], 1):
        name = own.get(field.name)
        value, kind = ("NULL", None) if name is None else (side.column(name), side.schema[name].dataType)
        if kind == field.dataType:
            columns.append(f"{value} AS c{at}")
        elif named_in_sql(field.dataType):
            columns.append(f"CAST({value} AS {field.dataType.simpleString()}) AS c{at}")
        else:
            columns.append(F.expr(value).cast(field.dataType).alias(f"c{at}"))
    texts = [column for column in columns if isinstance(column, str)]
    if len(texts) == len(columns):
        return side.rows.selectExpr(*texts)
    return side.rows.select(*(F.expr(column) if isinstance(column, str) else column for column in columns))
