"""What is wrong with a DataFrame of periods: a task takes groups whole."""

from functools import partial
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import types as T

from timeloom.engines.spark.cluster.pipelines import known_schema
from timeloom.engines.spark.columns.arrow_types import numbered
from timeloom.engines.spark.sequenced.whole_groups import by_group
from timeloom.engines.tables.frames import refuse_repeated, require_columns
from timeloom.engines.timelines.faults import faults_of
from timeloom.model.sequenced import CheckRequest


def check(df: DataFrame, request: CheckRequest) -> Any:
    """List the faults of a DataFrame. Nothing runs before an action."""
    schema = known_schema(df, "input")
    refuse_repeated(schema.names, "input")
    require_columns(schema.names, [*request.by, *request.period.columns], "input")
    needed = schema.names if request.duplicates else [*request.by, *request.period.columns]
    rows, names = df.toDF(*numbered(len(schema))), dict(zip(schema.names, numbered(len(schema)), strict=True))
    others = [name for column, name in names.items() if column not in needed]
    kept = [name for column, name in names.items() if column in needed]
    fields = T.StructType([field for field in schema if field.name in needed])
    rows = rows.drop(*others) if others else rows
    return by_group(rows, request.by, fields, partial(faults_of, request), (), kept)
