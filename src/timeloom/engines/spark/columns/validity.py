"""Which rows of a DataFrame have a usable period, as expressions: the same verdicts as on local tables."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from timeloom.engines.spark.cluster.pipelines import known_schema
from timeloom.engines.spark.columns.ticks import PeriodColumns, period_columns
from timeloom.engines.tables.frames import refuse_repeated, require_columns
from timeloom.engines.tables.validity import RejectedNames, free_name
from timeloom.engines.tables.verdicts import judge_in_sql, quarantined_in_sql, reason_texts
from timeloom.model.period import Period
from timeloom.model.policy import Policy


@dataclass(frozen=True)
class JudgedFrame:
    """A DataFrame whose columns are named by position, so that any name of the user's is safe, with its period.

    ``rows`` has all rows but those that are quarantined: the tasks that read the rows must raise an error for invalid
    ones, or drop and report them. ``verdict`` tells the rows apart. ``given`` has the types that the user gave; keys
    may have others in the rows.
    """

    side: str
    all_rows: DataFrame
    schema: T.StructType
    period: Period
    policy: Policy
    columns: PeriodColumns
    verdict: str
    given: T.StructType

    @property
    def names(self) -> dict[str, str]:
        """The name under which each of the user's columns stands in the rows."""
        return {name: f"c{position}" for position, name in enumerate(self.schema.names)}

    def column(self, name: str) -> str:
        """One of the user's columns, in SQL."""
        return self.names[name]

    @cached_property
    def rows(self) -> DataFrame:
        """The rows that are sent to tasks."""
        if self.policy.on_invalid == "quarantine":
            return self.all_rows.where(f"NOT {self.quarantined}")
        return self.all_rows

    def only(self, names: Collection[str]) -> DataFrame:
        """The rows with some of the user's columns only, in the order that they have.

        Columns are left out without a word of SQL: the first text that a session reads takes a tenth of a second.
        """
        others = [self.column(name) for name in self.schema.names if name not in names]
        return self.rows.drop(*others) if others else self.rows

    @property
    def quarantined(self) -> str:
        """Whether a row is handed out beside the result, in SQL."""
        return quarantined_in_sql(self.verdict, self.policy)

    @property
    def reason(self) -> Column:
        """What speaks against a row; null if it is valid."""
        reasons = F.lit(None).cast("string")
        for verdict, text in reason_texts(self.period).items():
            reasons = F.when(F.expr(f"{self.verdict} = {verdict}"), F.lit(text)).otherwise(reasons)
        return reasons

    @property
    def refused(self) -> list[Column]:
        """The user's columns, in the types that they were given."""
        pairs = zip(self.schema, self.given, strict=True)
        columns = [(F.col(self.column(given.name)), here.dataType, given.dataType) for here, given in pairs]
        return [column if here == given else cast_back(column, given) for column, here, given in columns]

    @property
    def rejected(self) -> DataFrame:
        """The quarantined rows: the user's columns, and the reason."""
        rows = self.all_rows.where(self.quarantined).select(*self.refused, self.reason)
        return rows.toDF(*self.given.names, free_name("reason", self.given.names))


def cast_back(column: Column, kind: T.DataType) -> Column:
    """A column in the type that the user gave it; one that has no type holds nulls only."""
    return F.lit(None) if isinstance(kind, T.NullType) else column.cast(kind)


def judge_frame(frame: DataFrame, period: Period, side: str, policy: Policy) -> JudgedFrame:
    """Read a DataFrame's period and give each row its verdict. Asks for the schema once."""
    schema = known_schema(frame, side)
    refuse_repeated(schema.names, side)
    return judge_numbered(
        frame.toDF(*(f"c{position}" for position in range(len(schema)))), schema, period, side, policy
    )


def judge_numbered(numbered: DataFrame, schema: T.StructType, period: Period, side: str, policy: Policy) -> JudgedFrame:
    """The same for a DataFrame whose columns, of this schema, are named by position."""
    require_columns(schema.names, list(period.columns), side)
    names = {name: f"c{position}" for position, name in enumerate(schema.names)}
    columns = period_columns(names, schema, period, side)
    end, verdict = judge_in_sql(
        columns.start, columns.end, columns.raw_start, columns.raw_end, policy, instants=period.is_instant
    )
    columns = replace(columns, end=end)
    return JudgedFrame(side, numbered, schema, period, policy, columns, verdict, schema)


def merge_rejected(left: JudgedFrame, right: JudgedFrame) -> DataFrame:
    """One DataFrame of the rejected rows of two inputs, told apart by a first column ``side``."""
    return _merged([left, right], ["left", "right"], T.StringType())


def merge_numbered(inputs: list[JudgedFrame]) -> DataFrame:
    """One DataFrame of the rejected rows of several inputs, told apart by a first column ``side`` with their number."""
    return _merged(inputs, list(range(1, len(inputs) + 1)), T.LongType())


def _merged(inputs: list[JudgedFrame], sides: list[Any], kind: T.DataType) -> DataFrame:
    """Rejected rows. Columns are put together by position, as Spark takes names for equal that differ in case only."""
    named = RejectedNames.of([[(field.name, field.dataType) for field in one.given] for one in inputs], sides)
    kinds: dict[str, T.DataType] = {named.side: kind}
    for one, names in zip(inputs, named.columns, strict=True):
        kinds |= {name: field.dataType for name, field in zip(names, one.given, strict=True) if name not in kinds}
        kinds.setdefault(named.reason, T.StringType())
    parts = []
    for one, names, side in zip(inputs, named.columns, sides, strict=True):
        values = dict(zip(names, one.refused, strict=True))
        values |= {named.side: F.lit(side).cast(kind), named.reason: one.reason}
        columns = [values[name] if name in values else F.lit(None).cast(found) for name, found in kinds.items()]
        invalid = one.all_rows.where(one.quarantined).select(*columns)
        parts.append(invalid.toDF(*(f"c{number}" for number in range(len(kinds)))))
    return reduce(lambda one, other: one.unionAll(other), parts).toDF(*kinds)
