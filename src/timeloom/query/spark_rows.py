"""Rows of a query as a Spark DataFrame: expressions are handed to Spark as they are written."""

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812
from sqlglot import ErrorLevel, exp
from sqlglot.errors import SqlglotError

from timeloom.engines.spark.columns.measure_fields import measure_fields
from timeloom.errors import UsageError
from timeloom.model.measures import Measure
from timeloom.query.clauses import Item, Node
from timeloom.query.scope import Scope

MOST_ROWS = 2**31 - 1


class SparkRows:
    """A Spark DataFrame, and the operations of SQL on it. Nothing runs before the result is used."""

    def __init__(self, frame: DataFrame) -> None:
        self.frame = frame

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.frame.columns)

    def of(self, frame: DataFrame) -> "SparkRows":
        """Another DataFrame."""
        return SparkRows(frame)

    def filter(self, condition: Node, scope: Scope) -> "SparkRows":
        """Keep the rows for which a condition is true."""
        return SparkRows(self.frame.filter(_column(condition, scope)))

    def extended(self, items: list[Item], scope: Scope) -> "SparkRows":
        """Add columns."""
        return (
            SparkRows(self.frame.withColumns({name: _column(node, scope) for name, node in items})) if items else self
        )

    def projected(self, items: list[Item], scope: Scope) -> "SparkRows":
        """Compute columns; nothing else stays."""
        return SparkRows(self.frame.select(*(_column(node, scope).alias(name) for name, node in items)))

    def grouped(self, keys: list[str], measures: tuple[Measure, ...]) -> "SparkRows":
        """Aggregate by keys; without keys there is one group."""
        schema = self.frame.schema
        fields = measure_fields(schema, measures)
        columns = [
            _measured(measure, schema).cast(field.dataType).alias(measure.name)
            for measure, field in zip(measures, fields, strict=True)
        ]
        return SparkRows(self.frame.groupBy(*keys).agg(*columns) if columns else self.frame.select(*keys).distinct())

    def sorted(self, keys: list[tuple[str, bool, bool]]) -> "SparkRows":
        """Sort by columns, each (name, descending, nulls first)."""
        return SparkRows(self.frame.orderBy(*(_direction(*key) for key in keys)))

    def distinct(self) -> "SparkRows":
        """Keep one of equal rows."""
        return SparkRows(self.frame.distinct())

    def sliced(self, offset: int, limit: int | None) -> "SparkRows":
        """Skip rows, and keep at most so many."""
        for clause, count in (("OFFSET", offset), ("LIMIT", limit)):
            if count is not None and count > MOST_ROWS:
                raise UsageError(f"{clause} {count} is above {MOST_ROWS}, the most that Spark takes; leave it out")
        frame = self.frame.offset(offset) if offset else self.frame
        return SparkRows(frame if limit is None else frame.limit(limit))


def _column(node: Node, scope: Scope) -> Any:
    def resolved(part: Any) -> Any:
        return exp.column(scope.resolve(part), quoted=True) if isinstance(part, exp.Column) else part

    try:
        written = node.copy().transform(resolved).sql(dialect="spark", unsupported_level=ErrorLevel.RAISE)
    except SqlglotError as error:
        raise scope.error(node, f"{node.sql()} cannot be written for Spark: {error}") from error
    return F.expr(written)


def _measured(measure: Measure, schema: T.StructType) -> Any:
    if measure.column is None:
        return F.count(F.lit(1))
    record = measure.aggregate
    if record is None or record.spark is None:
        raise UsageError(
            f"{measure.function} has no meaning for groups on Spark, whose rows have no order; use min or max"
        )
    name = measure.column.replace("`", "``")
    truths = record.takes == "summable" and isinstance(schema[measure.column].dataType, T.BooleanType)
    return F.expr(record.spark.format(f"cast(`{name}` as int)" if truths else f"`{name}`"))


def _direction(name: str, descending: bool, nulls_first: bool) -> Any:
    column = F.col(name)
    if descending:
        return column.desc_nulls_first() if nulls_first else column.desc_nulls_last()
    return column.asc_nulls_first() if nulls_first else column.asc_nulls_last()
