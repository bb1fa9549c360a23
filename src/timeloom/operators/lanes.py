"""`lanes`: rows laid out so that none overlaps another."""

from collections.abc import Sequence
from typing import Any

from timeloom.model.naming import column_names
from timeloom.model.period import Period, PeriodLike
from timeloom.model.policy import OnEmpty, OnInvalid, Policy
from timeloom.model.sequenced import LanesRequest
from timeloom.operators.call import PlannedCall
from timeloom.operators.engine import engine_of
from timeloom.operators.registry import verb


@verb(inputs=("df",))
def lanes(
    df: Any,
    *,
    by: "str | Sequence[str] | None" = None,
    name: str = "lane",
    period: PeriodLike = ("start", "end"),
    on_invalid: OnInvalid = "error",
    empty: "OnEmpty | None" = None,
) -> PlannedCall:
    """Give each row a lane in which it overlaps no other row; there are as few lanes as possible.

    Rooms for meetings, tracks of a chart, connections of a pool: whatever holds one row at a time.

    Parameters
    ----------
    df
        A Spark DataFrame, or a local table of any kind that exports Arrow. The result is of the same kind.
    by
        Columns that group the rows: each group has lanes of its own. Nulls form a group.
    name
        The column for the lanes, which are numbered from 0.
    period
        The period columns, as ``(start, end)``, `Period`, a mapping of its options, or one column of instants.
    on_invalid, empty
        What to do with rows whose period is invalid (``"error"``, ``"quarantine"``, ``"drop"``), and with empty periods
        (``"error"``, ``"drop"``, ``"point"``; by default as invalid ones).

    Returns
    -------
    The rows with their lanes; of a local table in their order. A row gets the lane that has been free the longest, a
    new one if none is free. The number of lanes is the largest number of rows that are active at one time.

    Examples
    --------
    >>> import pyarrow as pa, timeloom as tl
    >>> talks = pa.table({"talk": ["a", "b", "c", "d"], "start": [9, 9, 10, 11], "end": [10, 12, 11, 12]})
    >>> tl.lanes(talks, name="room")["room"].to_pylist()
    [0, 1, 0, 0]
    """
    request = LanesRequest(column_names("by", by), name, Period.of(period), Policy(on_invalid, empty))
    engine = engine_of({"input": df})
    return PlannedCall(lambda: engine.lanes(df, request), lambda: engine.explain_one_way("lanes", [df], request))
