"""Counts of the rows inside each of few steps of a window query, as Spark itself can make them: one pass over the rows.

Whatever "inside" means, it is four comparisons of a row with the bounds of a step, and no row goes to Python. What
takes long in a first call is to compile them: Spark is told that ticks are not null, so that it compiles half as much.
"""

from pyspark.sql import DataFrame

from timeloom.engines.spark.columns.faults import told_in_sql
from timeloom.engines.spark.columns.ticks import literal, period_columns
from timeloom.engines.spark.columns.validity import JudgedFrame, judge_numbered
from timeloom.engines.spark.columns.windowed_frames import WindowedFrame
from timeloom.engines.tables.verdicts import never_point_in_sql
from timeloom.engines.windows.slides import meaning_code
from timeloom.kernels.bitemporal.windows import BEGAN, bounds_of, per_axis
from timeloom.model.policy import Policy
from timeloom.model.sliding_windows import WindowRequest

FEW = 32
"""Up to so many counts, of all steps together, Spark makes itself; tasks find the runs of steps of each row instead."""


def counted_in_sql(request: WindowRequest) -> bool:
    """Whether Spark itself counts: only tasks can report which rows they drop, list rows, or measure anything else."""
    if request.deltas or request.rows or request.bounds or request.policy.on_invalid == "drop":
        return False
    counts = bool(request.measures) and all(measure.function == "count" for measure in request.measures)
    return counts and (request.steps + 1) * len(request.measures) <= FEW


def step_counts(asked: WindowedFrame) -> DataFrame:
    """One row a step, in order: its number, and its counts."""
    rows, schema, request = asked.rows, asked.schema, asked.request
    policy = Policy(request.policy.on_invalid, "point")
    judged = [
        judge_numbered(rows, schema, period, "input", policy) for period in (request.sys_period, request.app_period)
    ]
    names = judged[0].names
    ticks = [period_columns(names, schema, one.period, "input") for one in judged]
    covers = " AND ".join(f"{period.start} < {period.end}" for period in ticks)
    meanings = per_axis(meaning_code(request.meaning))
    keys = [period.start if meaning == BEGAN else period.end for period, meaning in zip(ticks, meanings, strict=True)]
    compared = {"s": ticks[0].start, "t": keys[0], "a": ticks[1].start, "b": keys[1]}
    counted = dict.fromkeys(names[measure.column] for measure in request.measures if measure.column is not None)
    ticked = rows.where(_valid(judged, covers)).selectExpr(
        *(f"coalesce({text}, 0L) AS {name}" for name, text in compared.items()), *counted
    )
    present = ["1" if one.column is None else names[one.column] for one in request.measures]
    counts, steps = [], []
    for step, bounds in enumerate(bounds_of(asked.windows, meaning_code(request.meaning)).T.tolist()):
        s, t, a, b = map(literal, bounds)
        inside = f"s <= {s} AND t > {t} AND a <= {a} AND b > {b}"
        counts += [f"count(CASE WHEN {inside} THEN {value} END) AS n{step}_{at}" for at, value in enumerate(present)]
        steps += [f"{step}L", *(f"n{step}_{at}" for at in range(len(present)))]
    return ticked.selectExpr(*counts).selectExpr(f"stack({request.steps + 1}, {', '.join(steps)})")


def _valid(judged: list[JudgedFrame], covers: str) -> str:
    """The rows that cover time on both axes; invalid ones are refused, or left out where they are handed out.

    Rows that cover time are valid. Rows of which nothing is told are empty.
    """
    if judged[0].policy.on_invalid == "quarantine":
        return covers
    told = " ".join(
        f"WHEN {never_point_in_sql(ticks.start, ticks.raw_start, ticks.raw_end)} THEN raise_error({told_in_sql(one)})"
        for one in judged
        for ticks in (one.columns,)
    )
    return f"CASE WHEN {covers} THEN true {told} ELSE false END"
