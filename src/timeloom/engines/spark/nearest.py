"""The nearest rows on Spark: a task takes the rows of a key, or of a slice of time of a large key, of both sides."""

from typing import Any

from pyspark.sql import DataFrame

from timeloom.engines.spark.matching.neighbour_plan import NeighbourPlan
from timeloom.model.explanation import Explanation
from timeloom.model.neighbours import NearestRequest


def nearest(left: DataFrame, right: DataFrame, request: NearestRequest, slices: int | None = None) -> Any:
    """Find the k nearest right rows of each left row. Nothing runs before an action."""
    return NeighbourPlan.of(left, right, request, slices).result()


def explain_nearest(left: DataFrame, right: DataFrame, request: NearestRequest) -> Explanation:
    """Say how neighbours would be found."""
    plan = NeighbourPlan.of(left, right, request)
    return plan.explanation("nearest", {"algorithm": "walk", "k": request.k, "direction": request.direction})
