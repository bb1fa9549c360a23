"""`stab`: the rows that are active at an instant, or at any of many."""

from typing import Any

from timeloom.model.explanation import Explanation
from timeloom.model.period import Period, PeriodLike
from timeloom.model.policy import OnEmpty, OnInvalid, Policy
from timeloom.model.stab import StabRequest
from timeloom.operators.call import PlannedCall
from timeloom.operators.engine import engine_of
from timeloom.operators.registry import verb


@verb(inputs=("df",), varying=("at",))
def stab(
    df: Any,
    at: Any,
    *,
    period: PeriodLike = ("start", "end"),
    on_invalid: OnInvalid = "error",
    empty: "OnEmpty | None" = None,
) -> PlannedCall:
    """Keep the rows that are active at an instant, or at any of many instants, each row once.

    Parameters
    ----------
    df
        A Spark DataFrame, or a local table of any kind that exports Arrow. The result is of the same kind.
    at
        The instant, or a list of instants, in the type of the period columns: an integer, a date, a datetime, or ISO
        text for dates and timestamps.
    period
        The period columns, as ``(start, end)``, `Period`, or a mapping of its options.
    on_invalid, empty
        What to do with rows whose period is invalid (``"error"``, ``"quarantine"``, ``"drop"``), and with empty periods
        (``"error"``, ``"drop"``, ``"point"``; by default as invalid ones).

    Returns
    -------
    Whole rows; of a local table in their order.

    Notes
    -----
    For many queries against the same events, or events that still arrive, build a `StabForest`.

    Examples
    --------
    >>> import pyarrow as pa, timeloom as tl
    >>> stays = pa.table({"guest": ["Ann", "Bob", "Cy"], "start": [1, 3, 8], "end": [3, 9, None]})
    >>> tl.stab(stays, at=3)["guest"].to_pylist()
    ['Bob']
    >>> tl.stab(stays, at=[1, 8, 100])["guest"].to_pylist()
    ['Ann', 'Bob', 'Cy']
    """
    columns, policy = Period.of(period), Policy(on_invalid, empty)
    engine = engine_of({"input": df})

    def run(df: Any, at: Any) -> Any:
        return engine.stab(df, StabRequest.of(at, columns, policy))

    def explain() -> Explanation:
        return engine.explain_one_way("stab", [df], StabRequest.of(at, columns, policy))

    return PlannedCall(lambda: run(df, at), explain, again=run)
