"""`sliding_windows`: windows that slide over system time and application time."""

from collections.abc import Mapping
from typing import Any

from timeloom.model.period import Period, PeriodLike
from timeloom.model.policy import OnInvalid, Policy
from timeloom.model.slide import Meanings, Slide
from timeloom.model.sliding_windows import WindowRequest, read_select
from timeloom.operators.call import PlannedCall
from timeloom.operators.engine import engine_of
from timeloom.operators.registry import verb


@verb(inputs=("df",))
def sliding_windows(
    df: Any,
    sys: Slide,
    app: Slide,
    *,
    steps: int,
    ratio: tuple[int, int] = (1, 1),
    meaning: Meanings = "snapshot",
    select: "Mapping[str, Any] | None" = None,
    deltas: bool = False,
    rows: bool = False,
    bounds: bool = False,
    sys_period: PeriodLike = ("sys_start", "sys_end"),
    app_period: PeriodLike = ("app_start", "app_end"),
    on_invalid: OnInvalid = "error",
) -> PlannedCall:
    """Slide windows over the system time and the application time of a bitemporal table.

    Parameters
    ----------
    df
        A table with two periods: a Spark DataFrame, or a local table of any kind that exports Arrow. An empty period
        is legal and never inside a window.
    sys, app
        The initial window on each axis, both ends included, and how it moves.
    steps
        How many slides follow the initial window; the result has ``steps + 1`` steps, from 0.
    ratio
        So many slides of system time, then so many of application time, in turn; 0 keeps an axis still.
    meaning
        Which rows a window holds. ``"snapshot"``: those valid at the last instant of both windows. ``"visible"``: those
        valid at any instant within. ``"began"``: those whose system start and application start lie within. A pair
        such as ``("began", "snapshot")`` gives system time and application time one each.
    select
        Results by name: ``"count"``, ``(column, function)`` with a function of `temporal_aggregate`,
        ``(column, "top", k)``, or ``(column, callable)``; by default ``{"n": "count"}``.
    deltas
        Instead of aggregates, return the rows that enter (``change`` is 1) and leave (-1) at each ``step``.
    rows
        Instead of aggregates, return the rows inside each step, under a column ``step``.
    bounds
        Add the windows as ``sys_first``, ``sys_last``, ``app_first`` and ``app_last``.
    sys_period, app_period
        The period columns, as ``(start, end)``, `Period`, or a mapping of its options.
    on_invalid
        What to do with rows whose period is invalid: ``"error"``, ``"quarantine"`` or ``"drop"``.

    Returns
    -------
    A table of the input's kind, one row a step, ordered by ``step``; with ``deltas`` one row a change.

    Examples
    --------
    >>> import pyarrow as pa, timeloom as tl
    >>> plans = pa.table({"plan": ["a", "b", "c"], "fee": [5, 7, 9],
    ...                   "sys_start": [1, 2, 4], "sys_end": [4, None, None],
    ...                   "app_start": [10, 12, 11], "app_end": [20, 14, 13]})
    >>> windows = {"sys": tl.Slide(1, 2, 1), "app": tl.Slide(10, 2, 1), "steps": 2}
    >>> tl.sliding_windows(plans, **windows, select={"n": "count", "fees": ("fee", "sum")}).to_pylist()
    [{'step': 0, 'n': 2, 'fees': 12}, {'step': 1, 'n': 2, 'fees': 16}, {'step': 2, 'n': 1, 'fees': 7}]

    Plan c ends at 13: periods are half-open, so the last window, which ends at 13, no longer holds it.

    >>> tl.sliding_windows(plans, **windows, deltas=True).select(["step", "change", "plan"]).to_pylist()[2:]
    ... # doctest: +NORMALIZE_WHITESPACE
    [{'step': 1, 'change': -1, 'plan': 'a'}, {'step': 1, 'change': 1, 'plan': 'c'},
     {'step': 2, 'change': -1, 'plan': 'c'}]
    """
    request = WindowRequest(
        sys=sys,
        app=app,
        steps=steps,
        ratio=ratio,
        meaning=meaning,
        measures=read_select(select),
        sys_period=Period.of(sys_period),
        app_period=Period.of(app_period),
        policy=Policy(on_invalid),
        deltas=deltas,
        rows=rows,
        bounds=bounds,
    )
    engine = engine_of({"input": df})
    return PlannedCall(lambda: engine.sliding_windows(df, request), lambda: engine.explain_sliding_windows(df, request))
