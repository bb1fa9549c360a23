"""`check`: what is wrong with a table of periods."""

from collections.abc import Sequence
from typing import Any

from timeloom.model.naming import column_names
from timeloom.model.period import Period, PeriodLike
from timeloom.model.sequenced import CheckRequest, read_within
from timeloom.operators.call import PlannedCall
from timeloom.operators.engine import engine_of
from timeloom.operators.registry import verb


@verb(inputs=("df",), finds_faults=True)
def check(
    df: Any,
    *,
    by: "str | Sequence[str] | None" = None,
    overlaps: bool = True,
    gaps: bool = False,
    duplicates: bool = False,
    within: "tuple[Any, Any] | None" = None,
    period: PeriodLike = ("start", "end"),
) -> PlannedCall:
    """List what is wrong with a table of periods: an empty result means that all is well.

    Parameters
    ----------
    df
        A Spark DataFrame, or a local table of any kind that exports Arrow. The result is of the same kind.
    by
        Columns that group the rows: overlaps and gaps are those of each group. Nulls form a group.
    overlaps
        Tell the maximal periods in which more than one row of a group is active.
    gaps
        Tell the time of each group that no row covers.
    duplicates
        Tell rows that are equal in all columns.
    within
        With ``gaps``: the window ``(start, end)`` to be covered, in the form of the period columns; by default from the
        first start to the last end of each group.
    period
        The period columns, as ``(start, end)``, `Period`, a mapping of its options, or one column of instants.

    Returns
    -------
    A table of faults: the columns of ``by``; ``fault``, which is ``"invalid"`` (a row without a usable period),
    ``"overlap"``, ``"gap"`` or ``"duplicate"``; ``start`` and ``end`` of the time that is wrong, half-open; ``rows``,
    how many rows are to blame. By group, then in order of time.

    Examples
    --------
    >>> import pyarrow as pa, timeloom as tl
    >>> prices = pa.table({"item": ["a", "a", "b"], "start": [0, 3, 7], "end": [4, 5, 7]})
    >>> [tuple(row.values()) for row in tl.check(prices, by="item").to_pylist()]
    [('a', 'overlap', 3, 4, 2), ('b', 'invalid', 7, 7, 1)]
    """
    request = CheckRequest(column_names("by", by), Period.of(period), overlaps, gaps, duplicates, read_within(within))
    engine = engine_of({"input": df})
    return PlannedCall(lambda: engine.check(df, request), lambda: engine.explain_one_way("check", [df], request))
