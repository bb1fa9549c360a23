"""As-of joins on Spark: a task takes the rows of a key, or of a slice of time of a large key, of both sides."""

from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from timeloom.engines.joins.as_of import as_of_tables
from timeloom.engines.spark.sequenced.key_pairs import explained, paired
from timeloom.engines.spark.sequenced.whole_groups import inner_policy
from timeloom.engines.spark.stab import stab
from timeloom.engines.tables.validity import Quarantined
from timeloom.model.explanation import Explanation
from timeloom.model.neighbours import AsOfRequest, BitemporalAsOfRequest
from timeloom.model.stab import StabRequest


def as_of(left: DataFrame, right: DataFrame, request: AsOfRequest, slices: int | None = None) -> Any:
    """Give each left row the right row in force at its instant. Nothing runs before an action."""
    work = partial(_as_of, replace(request, policy=inner_policy(request.policy)))
    return paired(left, right, request, work, slices)


def _as_of(request: AsOfRequest, left: pa.Table, right: pa.Table) -> pa.Table:
    return as_of_tables(left, right, request, 1).result


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
    return explained("as_of", (left, right), request, {"algorithm": "merge", "direction": request.direction})
