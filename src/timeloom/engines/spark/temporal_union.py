"""`temporal_union` on Spark: a task takes all rows of a value."""

from typing import Any

from pyspark.sql import DataFrame

from timeloom.engines.spark.sequenced.value_sets import combined
from timeloom.kernels.sequenced.multiplicities import UNION
from timeloom.model.sequenced import TemporalSetRequest


def temporal_union(left: DataFrame, right: DataFrame, request: TemporalSetRequest) -> Any:
    """Combine two DataFrames at every instant. Nothing runs before an action."""
    return combined(left, right, request, UNION)
