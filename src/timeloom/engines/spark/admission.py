"""Which rows of a DataFrame have a usable period, as expressions: the same verdicts as on local tables."""

from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from timeloom.engines.admission import EMPTY, LAST, NULL_START, REVERSED, VALID, names_apart, reason_texts
from timeloom.engines.frames import require_columns
from timeloom.engines.spark.ticks import PeriodColumns, literal, period_columns, shifted
from timeloom.errors import InvalidInputError
from timeloom.model.period import Period
from timeloom.model.policy import Policy
from timeloom.model.ticks import MAX_TICK


@dataclass(frozen=True)
class Admitted:
    """A DataFrame whose columns are named by position, so that any name of the user's is safe, with its period.

    ``rows`` has all rows but those that are quarantined: the tasks that read the rows must raise an error for invalid
    ones, or drop and report them. ``verdict`` tells the rows apart.
    """

    side: str
    all_rows: DataFrame
    schema: T.StructType
    period: Period
    policy: Policy
    columns: PeriodColumns
    verdict: str

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
            return self.all_rows.where(f"NOT {self._quarantined}")
        return self.all_rows

    @property
    def _quarantined(self) -> str:
        """Whether a row is handed out beside the result, in SQL."""
        others = [VALID] if self.policy.for_empty == "quarantine" else [VALID, EMPTY]
        return f"{self.verdict} NOT IN ({', '.join(map(str, others))})"

    @property
    def reason(self) -> Column:
        """What speaks against a row; null if it is valid."""
        reasons = F.lit(None).cast("string")
        for verdict, text in reason_texts(self.period).items():
            reasons = F.when(F.expr(f"{self.verdict} = {verdict}"), F.lit(text)).otherwise(reasons)
        return reasons

    @property
    def rejected(self) -> DataFrame:
        """The quarantined rows: a column ``side``, the user's columns, and the reason."""
        name = "reason"
        while name in self.schema.names:
            name += "_"
        rows = self.all_rows.where(self._quarantined).select(F.lit(self.side), "*", self.reason)
        return rows.toDF("side", *self.schema.names, name)


def admit(frame: DataFrame, period: Period, side: str, policy: Policy) -> Admitted:
    """Read a DataFrame's period and give each row its verdict. Asks for the schema once."""
    schema = frame.schema
    repeated = sorted({name for name in schema.names if schema.names.count(name) > 1})
    if repeated:
        raise InvalidInputError(
            f"the {side} table has more than one column named {', '.join(map(repr, repeated))}; rename them first"
        )
    require_columns(schema.names, [period.start, period.end], side)
    names = {name: f"c{position}" for position, name in enumerate(schema.names)}
    columns = period_columns(names, schema, period, side)
    verdict = _verdict(columns)
    if policy.empty == "point":
        point = f"{verdict} = {EMPTY}"
        found = f"CASE WHEN {columns.start} < {literal(MAX_TICK)} THEN {VALID} ELSE {LAST} END"
        verdict = f"(CASE WHEN {point} THEN {found} ELSE {verdict} END)"
        columns = replace(columns, end=f"CASE WHEN {point} THEN {shifted(columns.start, 1)} ELSE {columns.end} END")
    return Admitted(side, frame.toDF(*names.values()), schema, period, policy, columns, verdict)


def merge_rejected(left: Admitted, right: Admitted) -> DataFrame:
    """One DataFrame of the rejected rows of two inputs."""
    taken: dict[str, Any] = {field.name: field.dataType for field in left.schema}
    renamed = names_apart(((field.name, field.dataType) for field in right.schema), taken, "right")
    others = right.rejected
    return left.rejected.unionByName(others.toDF("side", *renamed, others.columns[-1]), allowMissingColumns=True)


def merge_numbered(inputs: list[Admitted]) -> DataFrame:
    """One DataFrame of the rejected rows of several inputs, told apart by a first column ``side`` with their number."""
    taken: dict[str, Any] = {}
    parts = []
    for number, admitted in enumerate(inputs, start=1):
        renamed = names_apart(((field.name, field.dataType) for field in admitted.schema), taken, number)
        rows = admitted.rejected
        parts.append(rows.toDF("side", *renamed, rows.columns[-1]).withColumn("side", F.lit(number).cast("long")))
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)


def _verdict(columns: PeriodColumns) -> str:
    return (
        f"(CASE WHEN {columns.start} IS NULL THEN {NULL_START} WHEN {columns.raw_end} < {columns.raw_start} "
        f"THEN {REVERSED} WHEN {columns.end} <= {columns.start} THEN {EMPTY} ELSE {VALID} END)"
    )
