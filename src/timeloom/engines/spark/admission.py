"""Which rows of a DataFrame have a usable period, as expressions: the same verdicts as on local tables."""

from dataclasses import dataclass, replace
from functools import cached_property

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from timeloom.engines.admission import EMPTY, NULL_START, REVERSED, VALID
from timeloom.engines.frames import require_columns
from timeloom.engines.spark.ticks import PeriodColumns, period_columns, shifted
from timeloom.errors import InvalidInputError
from timeloom.model.period import Period
from timeloom.model.policy import Policy


@dataclass(frozen=True)
class Admitted:
    """A DataFrame whose columns are named by position, so that any name of the user's is safe, with its period.

    ``rows`` has the valid rows only, unless invalid ones are an error: then it has all of them, and whoever reads the
    rows in a task must judge them there. ``verdict`` tells the rows apart.
    """

    side: str
    all_rows: DataFrame
    schema: T.StructType
    period: Period
    policy: Policy
    columns: PeriodColumns
    verdict: Column

    @property
    def names(self) -> dict[str, str]:
        """The name under which each of the user's columns stands in the rows."""
        return {name: f"c{position}" for position, name in enumerate(self.schema.names)}

    def column(self, name: str) -> Column:
        """One of the user's columns."""
        return F.col(self.names[name])

    @cached_property
    def rows(self) -> DataFrame:
        """The rows that take part."""
        if self.policy.on_invalid != "error":
            return self.all_rows.where(self.verdict == F.lit(VALID))
        if self.policy.empty == "drop":
            return self.all_rows.where(self.verdict != F.lit(EMPTY))
        return self.all_rows


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
        point = verdict == F.lit(EMPTY)
        columns = replace(columns, end=F.when(point, shifted(columns.start, 1)).otherwise(columns.end))
        verdict = F.when(point, F.lit(VALID)).otherwise(verdict)
    return Admitted(side, frame.toDF(*names.values()), schema, period, policy, columns, verdict)


def _verdict(columns: PeriodColumns) -> Column:
    return (
        F.when(columns.start.isNull(), F.lit(NULL_START))
        .when(columns.raw_end < columns.raw_start, F.lit(REVERSED))
        .when(columns.end <= columns.start, F.lit(EMPTY))
        .otherwise(F.lit(VALID))
    )
