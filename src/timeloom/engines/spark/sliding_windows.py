"""Bitemporal sliding windows on Spark. No step is a query of its own; counts of few steps Spark makes itself.

What tasks need is loaded if there are tasks.
"""

from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from timeloom.engines.spark.columns.step_counts import counted_in_sql, step_counts
from timeloom.engines.spark.columns.validity import judge_frame
from timeloom.engines.spark.columns.windowed_frames import WindowedFrame
from timeloom.engines.tables.validity import Quarantined
from timeloom.model.explanation import Explanation
from timeloom.model.policy import Policy
from timeloom.model.sliding_windows import STEP, WindowRequest

if TYPE_CHECKING:
    from timeloom.engines.spark.windows.plan import Plan


def sliding_windows(df: DataFrame, request: WindowRequest) -> "DataFrame | Quarantined[DataFrame]":
    """Evaluate all steps of a query at once. Nothing runs before an action."""
    asked = WindowedFrame.of(df, request)
    quarantines = request.policy.on_invalid == "quarantine"
    if counted_in_sql(request):
        counted = step_counts(asked).toDF(STEP, *(measure.name for measure in request.measures))
        return Quarantined(counted, _by_tasks(asked).rejected()) if quarantines else counted
    plan = _by_tasks(asked)
    if request.deltas:
        result = plan.changes()
    elif request.rows:
        names = list(asked.sample.column_names)
        result = plan.members(names, names).toDF(STEP, *names)
    else:
        result = plan.aggregates()
    return Quarantined(result, plan.rejected()) if quarantines else result


def explain_sliding_windows(df: DataFrame, request: WindowRequest) -> Explanation:
    """Say how a query would run."""
    from timeloom.engines.spark.sequenced.group_forecasts import rows_alone
    from timeloom.engines.spark.windows.plan import combines

    whole = [one.name for one in request.measures if not combines(one)]
    facts = {"meaning": request.meaning, "steps": request.steps, "from the rows of each step": whole or "none"}
    why = "each row is inside for one run of steps, so every task aggregates its rows over all steps in one pass"
    if counted_in_sql(request):
        why = "steps are few and counted: Spark itself compares each row with all of them, so none goes to Python"
    side = judge_frame(df, request.sys_period, "input", Policy("drop"))
    return Explanation("sliding_windows", "spark", facts, (why,), rows_alone(side))


def _by_tasks(asked: WindowedFrame) -> "Plan":
    from timeloom.engines.spark.windows.plan import Plan

    return Plan(asked)
