"""As-of joins on Spark: a task takes the rows of a key, or of a slice of time of a large key, of both sides."""

from typing import Any

from pyspark.sql import DataFrame

from timeloom.engines.spark.matching.neighbour_plan import NeighbourPlan
from timeloom.engines.spark.stab import stab
from timeloom.engines.tables.validity import Quarantined
from timeloom.model.explanation import Explanation
from timeloom.model.neighbours import AsOfRequest, BitemporalAsOfRequest
from timeloom.model.stab import StabRequest


def as_of(left: DataFrame, right: DataFrame, request: AsOfRequest, slices: int | None = None) -> Any:
    """Give each left row the right row in force at its instant. Nothing runs before an action."""
    return NeighbourPlan.of(left, right, request, slices).result()


def believed(df: DataFrame, request: BitemporalAsOfRequest) -> Any:
    """Keep the rows whose periods hold the instants that were asked for. Nothing runs before an action."""
    rejected: DataFrame | None = None
    for at, period in request.instants:
        found = stab(df, StabRequest.of(at, period, request.policy))
        if isinstance(found, Quarantined):
            rejected = found.rejected if rejected is None else rejected.unionAll(found.rejected)
            found = found.result
        df = found
    return df if rejected is None else Quarantined(df, rejected)


def explain_as_of(left: DataFrame, right: DataFrame, request: AsOfRequest) -> Explanation:
    """Say how an as-of join would run."""
    plan = NeighbourPlan.of(left, right, request)
    return plan.explanation("as_of", {"algorithm": "merge", "direction": request.direction})
