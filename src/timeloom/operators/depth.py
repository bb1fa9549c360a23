"""`depth`: how many rows are active over time."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from timeloom.model.measures import read_measures
from timeloom.model.naming import column_names
from timeloom.model.period import Period, PeriodLike
from timeloom.model.policy import OnEmpty, OnInvalid, Policy
from timeloom.model.sequenced import AggregateRequest, read_within
from timeloom.operators.call import PlannedCall
from timeloom.operators.engine import engine_of
from timeloom.operators.registry import verb


@verb(inputs=("df",))
def depth(
    df: Any,
    *,
    by: "str | Sequence[str] | None" = None,
    name: str = "depth",
    fill: bool = False,
    within: "tuple[Any, Any] | None" = None,
    period: PeriodLike = ("start", "end"),
    on_invalid: OnInvalid = "error",
    empty: "OnEmpty | None" = None,
) -> PlannedCall:
    """Tell how many rows are active over time: one row for each stretch from an endpoint to the next.

    Parameters
    ----------
    df
        A Spark DataFrame, or a local table of any kind that exports Arrow. The result is of the same kind.
    by
        Columns that group the rows: a profile for each combination of their values.
    name
        The column for the number of active rows.
    fill
        Also return the stretches where no row is active, with depth 0: between the first start and the last end of each
        group, or, with ``within``, in the whole window.
    within
        A window ``(start, end)`` to which the result is cut, in the form of the period columns.
    period
        The period columns, as ``(start, end)``, `Period`, or a mapping of its options.
    on_invalid, empty
        What to do with rows whose period is invalid (``"error"``, ``"quarantine"``, ``"drop"``), and with empty periods
        (``"error"``, ``"drop"``, ``"point"``; by default as invalid ones).

    Returns
    -------
    The grouping columns, the stretch in the period columns, and the depth. Time is cut at every endpoint, also where
    the number stays the same because one row ends when another starts. This is `temporal_aggregate` with a count.

    Examples
    --------
    >>> import pyarrow as pa, timeloom as tl
    >>> tl.depth(pa.table({"start": [1, 3, 9], "end": [5, 7, 10]})).to_pylist()  # doctest: +NORMALIZE_WHITESPACE
    [{'start': 1, 'end': 3, 'depth': 1}, {'start': 3, 'end': 5, 'depth': 2}, {'start': 5, 'end': 7, 'depth': 1},
     {'start': 9, 'end': 10, 'depth': 1}]
    """
    request = AggregateRequest(
        measures=read_measures({name: "count"}),
        by=column_names("by", by),
        period=Period.of(period),
        policy=Policy(on_invalid, empty),
        fill=fill,
        within=read_within(within),
    )
    engine = engine_of({"input": df})
    return PlannedCall(
        lambda: engine.temporal_aggregate(df, request),
        lambda: replace(engine.explain_temporal_aggregate(df, request), verb="depth"),
    )
