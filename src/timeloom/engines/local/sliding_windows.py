"""Bitemporal sliding windows on local tables: one pass over the rows, one aggregation over the steps."""

from typing import Any

import numpy as np
import pyarrow as pa

from timeloom.engines.resources.threads import aside, cores
from timeloom.engines.tables.frames import require_columns, to_arrow
from timeloom.engines.tables.validity import answer
from timeloom.engines.windows.history import History, read_history
from timeloom.engines.windows.slides import lay_out, meaning_code, step_runs
from timeloom.engines.windows.steps import admit_history, changes, members, step_measures, window_columns
from timeloom.kernels.bitemporal.windows import Ticks, Windows
from timeloom.model.explanation import Explanation
from timeloom.model.sliding_windows import STEP, WindowRequest


def sliding_windows(df: object, request: WindowRequest) -> Any:
    """Evaluate all steps of a query at once."""
    table, restore = to_arrow(df, "input")
    require_columns(table.column_names, [m.column for m in request.measures if m.column is not None], "input")
    table, rejected = admit_history(table, request)
    history = read_history(table, request.sys_period, request.app_period)
    windows = lay_out(request.sys, request.app, request.ratio, request.steps, *history.types)
    enter, leave = aside(step_runs, history, windows, meaning_code(request.meaning), cores())
    if request.deltas:
        result = aside(changes, table, enter, leave, request.steps)
    elif request.rows:
        result = aside(members, table, enter, leave)
    else:
        result = aggregates(table, enter, leave, request, history, windows)
    return answer(result, rejected, request.policy, restore)


def explain_sliding_windows(df: object, request: WindowRequest) -> Explanation:
    """Say how a query would run."""
    table, _ = to_arrow(df, "input")
    facts = {
        "meaning": request.meaning,
        "steps": request.steps,
        "rows": table.num_rows,
        "result": _result(request),
    }
    why = "each row is inside for one run of steps, so one pass finds all runs and one aggregation answers all steps"
    return Explanation("sliding_windows", "local", facts, (why,))


def _result(request: WindowRequest) -> Any:
    if request.deltas or request.rows:
        return "the rows that enter and leave at each step" if request.deltas else "the rows inside each step"
    return [measure.name for measure in request.measures]


def aggregates(
    table: pa.Table, enter: Ticks, leave: Ticks, request: WindowRequest, history: History, windows: Windows
) -> pa.Table:
    """One row a step."""
    columns: dict[str, pa.Array] = {STEP: pa.array(np.arange(request.steps + 1, dtype=np.int64))}
    if request.bounds:
        columns |= window_columns(windows, history)
    return pa.table(columns | step_measures(table, enter, leave, request.steps, request.measures, cores()))
