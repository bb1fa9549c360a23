"""`temporal_aggregate`: aggregates over time."""

from collections.abc import Mapping, Sequence
from typing import Any

from timeloom.errors import UsageError
from timeloom.model.grids import Every, GridRequest
from timeloom.model.measures import read_timed
from timeloom.model.naming import column_names
from timeloom.model.period import Period, PeriodLike
from timeloom.model.policy import OnEmpty, OnInvalid, Policy
from timeloom.model.sequenced import AggregateAlgorithm, AggregateRequest, read_within
from timeloom.model.ticks import Span
from timeloom.operators.call import PlannedCall
from timeloom.operators.engine import engine_of
from timeloom.operators.registry import verb


@verb(inputs=("df",))
def temporal_aggregate(
    df: Any,
    aggregates: "Mapping[str, Any]",
    *,
    by: "str | Sequence[str] | None" = None,
    every: "Span | str | None" = None,
    origin: Any = None,
    zone: str | None = None,
    fill: bool = False,
    within: "tuple[Any, Any] | None" = None,
    period: PeriodLike = ("start", "end"),
    on_invalid: OnInvalid = "error",
    empty: "OnEmpty | None" = None,
    algorithm: AggregateAlgorithm = "auto",
) -> PlannedCall:
    """Aggregate over time: one row for each maximal period in which the same rows are valid.

    Parameters
    ----------
    df
        A Spark DataFrame, or a local table of any kind that exports Arrow. The result is of the same kind.
    aggregates
        Result names, and what they hold: ``"count"`` for the number of valid rows, or a column and a function:
        ``count``, ``sum``, ``avg``, ``min``, ``max``, ``any`` and ``every`` (of truth values), ``var`` and ``stddev``
        (of a sample), ``first`` and ``last`` (by start, then by place in the table), ``count_distinct``, ``collect``,
        or any callable on a NumPy array.
    by
        Columns that group the rows; nulls form a group.
    every
        Buckets of time instead of periods of constant lineage: ticks, a timedelta, ``"15 minutes"``, or calendar units
        (``"1 day"``, ``"week"``, ``"3 months"``, ``"quarter"``, ``"year"``). Each bucket that any row touches gives a
        row. The aggregates are then of the rows that touch it, each row once: ``"count"``, ``("load", "max")``, ``sum``
        and all others that do not mind the order of rows. Beside them there are ``"covered"``, the time in it that any
        row covers, and ``("load", "time_avg")``, the mean of a column weighted by the time within the bucket: exact,
        rounded once, of the type that ``avg`` has.
    origin, zone
        With ``every``: an instant at which a bucket begins, and the zone in which calendar units are meant; by default
        that of the period columns. A day with a change of the clock has 23 or 25 hours.
    fill
        Also return the periods without valid rows, with counts of 0 and nulls: between the first start and the last
        end of each group, or, with ``within``, in the whole window.
    within
        A window ``(start, end)`` to which the result is cut, in the form of the period columns; an end of None is open.
    period
        The period columns, as ``(start, end)``, `Period`, or a mapping of its options.
    on_invalid, empty
        What to do with rows whose period is invalid (``"error"``, ``"quarantine"``, ``"drop"``), and with empty periods
        (``"error"``, ``"drop"``, ``"point"``; by default as invalid ones).
    algorithm
        ``"auto"``, ``"sweep"`` or ``"dip"``; all return the same rows.

    Returns
    -------
    The grouping columns, the period columns and the aggregates. Neighbouring periods with equal values stay apart when
    they stem from different rows. Null values take no part, as in SQL, except in ``first``, ``last`` and ``collect``.
    Sums of integers and decimals are exact, and an overflow is an error; sums of doubles are exact and rounded once, so
    a value that is no longer valid leaves no trace.

    Examples
    --------
    >>> import pyarrow as pa, timeloom as tl
    >>> rooms = pa.table({"price": [80, 60, 75], "start": [1, 6, 7], "end": [5, 8, 10]})
    >>> found = tl.temporal_aggregate(rooms, {"n": "count", "total": ("price", "sum")})
    >>> [tuple(row.values()) for row in found.to_pylist()]
    [(1, 5, 1, 80), (6, 7, 1, 60), (7, 8, 2, 135), (8, 10, 1, 75)]

    Nothing is booked from 5 to 6; on request such time is shown:

    >>> tl.temporal_aggregate(rooms, {"n": "count"}, fill=True, within=(0, 6))["n"].to_pylist()
    [0, 1, 0]

    With ``every``, time comes in buckets:

    >>> found = tl.temporal_aggregate(rooms, {"n": "count", "busy": "covered", "mean": ("price", "time_avg")}, every=5)
    >>> [tuple(row.values()) for row in found.to_pylist()]
    [(0, 5, 1, 4, 80.0), (5, 10, 2, 4, 69.0)]
    """
    request = AggregateRequest(
        measures=read_timed(aggregates),
        by=column_names("by", by),
        period=Period.of(period),
        policy=Policy(on_invalid, empty),
        fill=fill,
        within=read_within(within),
        algorithm=algorithm,
        grid=_grid(every, origin, zone),
    )
    engine = engine_of({"input": df})
    return PlannedCall(
        lambda: engine.temporal_aggregate(df, request), lambda: engine.explain_temporal_aggregate(df, request)
    )


def _grid(every: "Span | str | None", origin: Any, zone: str | None) -> GridRequest | None:
    if every is None and origin is None and zone is None:
        return None
    if every is None:
        raise UsageError("origin= and zone= place buckets of time; give every=, too")
    return GridRequest(Every.of(every), origin, zone)
