"""Two DataFrames as sets or bags of values at every instant: all rows of a value go to one task."""

from dataclasses import dataclass, replace
from functools import cached_property
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
        """The rows of both."""
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
    """The rows of a side with the columns of both."""
    rows = admitted_rows(side)
    aliases = {_alias(name, number, side.period): f"c{at}" for at, name in enumerate(side.schema.names)}
    rows = rows.toDF(*(f"c{at}" for at in range(len(side.schema))))
    columns = [F.lit(number).cast("int")]
    for field in fields[1:]:
        known = aliases.get(field.name)
        columns.append((F.lit(None) if known is None else F.col(known)).cast(field.dataType))
    return rows.select(*columns).toDF(*(field.name for field in fields))
