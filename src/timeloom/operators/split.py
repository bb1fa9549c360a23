"""`split`: periods cut at a grid of time."""

from typing import Any

from timeloom.model.grids import Every, GridRequest
from timeloom.model.period import Period, PeriodLike
from timeloom.model.policy import OnEmpty, OnInvalid, Policy
from timeloom.model.sequenced import SplitRequest
from timeloom.model.stab import StabRequest
from timeloom.model.ticks import Span
from timeloom.operators.call import PlannedCall
from timeloom.operators.engine import engine_of
from timeloom.operators.registry import verb


@verb(inputs=("df",))
def split(
    df: Any,
    *,
    every: "Span | str | None" = None,
    at: Any = None,
    origin: Any = None,
    zone: str | None = None,
    period: PeriodLike = ("start", "end"),
    on_invalid: OnInvalid = "error",
    empty: "OnEmpty | None" = None,
) -> PlannedCall:
    """Cut each row at the lines of a grid, or at instants; the other columns are repeated.

    Parameters
    ----------
    df
        A Spark DataFrame, or a local table of any kind that exports Arrow. The result is of the same kind.
    every
        The distance of the lines: ticks, a timedelta, ``"15 minutes"``, or calendar units: ``"1 day"``, ``"week"``
        (from Monday on), ``"3 months"``, ``"quarter"``, ``"year"``.
    at
        Instead of a grid: the instants at which to cut, in the type of the period columns.
    origin
        An instant at which there is a line; by default tick 0, and the beginning of 1970 for times, for weeks
        the Monday before it.
    zone
        The zone in which calendar units are meant, for timestamps with a zone; by default that of the column. A day
        with a change of the clock has 23 or 25 hours.
    period
        The period columns, as ``(start, end)``, `Period`, a mapping of its options, or one column of instants.
    on_invalid, empty
        What to do with rows whose period is invalid (``"error"``, ``"quarantine"``, ``"drop"``), and with empty periods
        (``"error"``, ``"drop"``, ``"point"``; by default as invalid ones).

    Returns
    -------
    The same columns. A local result keeps the order of rows; the pieces of a row ascend.

    Examples
    --------
    >>> import pyarrow as pa, timeloom as tl
    >>> stays = pa.table({"room": [1, 2], "start": [3, 5], "end": [12, 10]})
    >>> [tuple(row.values()) for row in tl.split(stays, every=5).to_pylist()]
    [(1, 3, 5), (1, 5, 10), (1, 10, 12), (2, 5, 10)]
    >>> [tuple(row.values()) for row in tl.split(stays, at=[7, 12]).to_pylist()]
    [(1, 3, 7), (1, 7, 12), (2, 5, 7), (2, 7, 10)]
    """
    instants = None if at is None else StabRequest.of(at, Period.of(period), Policy()).at
    grid = GridRequest(None if every is None else Every.of(every), origin, zone, instants)
    request = SplitRequest(grid, Period.of(period), Policy(on_invalid, empty))
    engine = engine_of({"input": df})
    return PlannedCall(lambda: engine.split(df, request), lambda: engine.explain_one_way("split", [df], request))
