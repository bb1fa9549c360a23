"""The nearest rows on Spark: a task takes all right rows of a key, and its left rows, or some if they are many."""

from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from timeloom.engines.joins.nearest import nearest_tables
from timeloom.engines.spark.sequenced.key_pairs import explained, paired
from timeloom.engines.spark.sequenced.whole_groups import inner_policy
from timeloom.model.explanation import Explanation
from timeloom.model.neighbours import NearestRequest


def nearest(left: DataFrame, right: DataFrame, request: NearestRequest, slices: int | None = None) -> Any:
    """Find the k nearest right rows of each left row. Nothing runs before an action."""
    work = partial(_nearest, replace(request, policy=inner_policy(request.policy)))
    return paired(left, right, request, work, slices)


def _nearest(request: NearestRequest, left: pa.Table, right: pa.Table) -> pa.Table:
    return nearest_tables(left, right, request, 1).result


def explain_nearest(left: DataFrame, right: DataFrame, request: NearestRequest) -> Explanation:
    """Say how neighbours would be found."""
    return explained(
        "nearest", (left, right), request, {"algorithm": "walk", "k": request.k, "direction": request.direction}
    )
