"""`gaps`: the time that no row covers."""

from collections.abc import Sequence
from typing import Any

from timeloom.model.naming import column_names
from timeloom.model.period import Period, PeriodLike
from timeloom.model.policy import OnEmpty, OnInvalid, Policy
from timeloom.model.sequenced import GapsRequest, read_within
from timeloom.operators.call import PlannedCall
from timeloom.operators.engine import engine_of
from timeloom.operators.registry import verb


@verb(inputs=("df",))
def gaps(
    df: Any,
    *,
    by: "str | Sequence[str] | None" = None,
    within: "tuple[Any, Any] | None" = None,
    period: PeriodLike = ("start", "end"),
    on_invalid: OnInvalid = "error",
    empty: "OnEmpty | None" = None,
) -> PlannedCall:
    """Find the maximal periods in which no row is valid.

    Parameters
    ----------
    df
        A Spark DataFrame, or a local table of any kind that exports Arrow. The result is of the same kind.
    by
        Columns that group the rows: the gaps of each group. Nulls form a group.
    within
        The window ``(start, end)`` to look at, in the form of the period columns; an end of None is open. By default
        each group is looked at from its first start to its last end.
    period
        The period columns, as ``(start, end)``, `Period`, or a mapping of its options.
    on_invalid, empty
        What to do with rows whose period is invalid (``"error"``, ``"quarantine"``, ``"drop"``), and with empty periods
        (``"error"``, ``"drop"``, ``"point"``; by default as invalid ones).

    Returns
    -------
    The grouping columns and the gaps, in the period columns.

    Examples
    --------
    >>> import pyarrow as pa, timeloom as tl
    >>> stays = pa.table({"room": [1, 1, 2], "start": [0, 6, 5], "end": [3, 8, 6]})
    >>> tl.gaps(stays, by="room").to_pylist()
    [{'room': 1, 'start': 3, 'end': 6}]
    >>> [tuple(row.values()) for row in tl.gaps(stays, by="room", within=(0, 8)).to_pylist()]
    [(1, 3, 6), (2, 0, 5), (2, 6, 8)]
    """
    request = GapsRequest(column_names("by", by), read_within(within), Period.of(period), Policy(on_invalid, empty))
    engine = engine_of({"input": df})
    return PlannedCall(lambda: engine.gaps(df, request), lambda: engine.explain_gaps(df, request))
