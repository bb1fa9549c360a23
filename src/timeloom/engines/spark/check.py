"""What is wrong with a DataFrame of periods: a task takes a group whole."""

from functools import partial
from typing import Any

from pyspark.sql import DataFrame

from timeloom.engines.spark.cluster.pipelines import known_schema
from timeloom.engines.spark.sequenced.whole_groups import by_group
from timeloom.engines.tables.frames import refuse_repeated, require_columns
from timeloom.engines.timelines.faults import faults_of
from timeloom.model.sequenced import CheckRequest


def check(df: DataFrame, request: CheckRequest) -> Any:
    """List the faults of a DataFrame. Nothing runs before an action."""
    schema = known_schema(df, "input")
    refuse_repeated(schema.names, "input")
    require_columns(schema.names, [*request.by, *request.period.columns], "input")
    return by_group(df, request.by, schema, partial(faults_of, request), ())
