"""`coalesce`: merge the periods of equal rows."""

from collections.abc import Sequence
from typing import Any

from timeloom.model.neighbours import read_distance
from timeloom.model.period import Period, PeriodLike
from timeloom.model.policy import OnEmpty, OnInvalid, Policy
from timeloom.model.sequenced import CoalesceRequest
from timeloom.model.ticks import Span
from timeloom.operators.call import PlannedCall
from timeloom.operators.engine import engine_of
from timeloom.operators.options import names_or_all
from timeloom.operators.registry import verb


@verb(inputs=("df",))
def coalesce(
    df: Any,
    *,
    by: "str | Sequence[str] | None" = None,
    max_gap: "Span | str | None" = None,
    period: PeriodLike = ("start", "end"),
    on_invalid: OnInvalid = "error",
    empty: "OnEmpty | None" = None,
) -> PlannedCall:
    """Merge the periods of rows with equal values where they overlap or touch.

    Parameters
    ----------
    df
        A Spark DataFrame, or a local table of any kind that exports Arrow. The result is of the same kind.
    by
        The columns whose values must be equal, nulls being equal to each other; by default all but the period. Other
        columns do not appear in the result.
    max_gap
        Also merge periods that are this far apart, at the most: ticks, a timedelta, or ``"30 minutes"``. What belongs
        together then is a session.
    period
        The period columns, as ``(start, end)``, `Period`, or a mapping of its options.
    on_invalid, empty
        What to do with rows whose period is invalid (``"error"``, ``"quarantine"``, ``"drop"``), and with empty periods
        (``"error"``, ``"drop"``, ``"point"``; by default as invalid ones).

    Returns
    -------
    The compared columns and the merged periods, in the order of the input's columns.

    Examples
    --------
    >>> import pyarrow as pa, timeloom as tl
    >>> stays = pa.table({"room": [1, 1, 1, 2], "start": [0, 3, 6, 5], "end": [3, 5, 8, 6]})
    >>> [tuple(row.values()) for row in tl.coalesce(stays).to_pylist()]
    [(1, 0, 5), (1, 6, 8), (2, 5, 6)]
    >>> [tuple(row.values()) for row in tl.coalesce(stays, max_gap=1).to_pylist()]
    [(1, 0, 8), (2, 5, 6)]
    """
    gap = read_distance("max_gap", max_gap)
    request = CoalesceRequest(names_or_all("by", by), Period.of(period), Policy(on_invalid, empty), gap)
    engine = engine_of({"input": df})
    return PlannedCall(lambda: engine.coalesce(df, request), lambda: engine.explain_coalesce(df, request))
