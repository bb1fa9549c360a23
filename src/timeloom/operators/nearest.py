"""`nearest`: the rows of another table that are nearest in time."""

from collections.abc import Sequence
from typing import Any

from timeloom.model.count_join import Ties
from timeloom.model.neighbours import KeptHow, NearestDirection, NearestRequest, read_distance
from timeloom.model.period import PeriodLike
from timeloom.model.policy import OnEmpty, OnInvalid
from timeloom.model.ticks import Span
from timeloom.operators.call import PlannedCall
from timeloom.operators.engine import engine_of
from timeloom.operators.options import names_or_all, two_sides
from timeloom.operators.registry import verb


@verb(inputs=("left", "right"))
def nearest(
    left: Any,
    right: Any,
    k: int = 1,
    *,
    on: "str | Sequence[str] | None" = None,
    direction: NearestDirection = "both",
    max_distance: "Span | str | None" = None,
    ties: Ties = "first",
    how: KeptHow = "inner",
    name: str = "distance",
    columns: "Sequence[str] | None" = None,
    suffixes: tuple[str, str] = ("", "_right"),
    period: PeriodLike = ("start", "end"),
    left_period: "PeriodLike | None" = None,
    right_period: "PeriodLike | None" = None,
    left_on: "str | Sequence[str] | None" = None,
    right_on: "str | Sequence[str] | None" = None,
    on_invalid: OnInvalid = "error",
    empty: "OnEmpty | None" = None,
) -> PlannedCall:
    """Find the k right rows that are nearest to each left row in time.

    Parameters
    ----------
    left, right
        Spark DataFrames, or local tables of any kind that exports Arrow. The result is of the left one's kind.
    k
        How many right rows each left row gets at the most.
    on, left_on, right_on
        Equality keys. A null key matches nothing.
    direction
        ``"backward"``: right rows that end at or before the left start. ``"forward"``: those that start at or after the
        left end. ``"both"``: these, and before them those that share an instant with the left row.
    max_distance
        The largest distance: ticks, a timedelta, or ``"5 minutes"``.
    ties
        ``"first"``: at most k. ``"all"``: also every row that is as far as the k-th; rows that share an instant are
        nearer than adjacent ones, though the distance of both is 0.
    how
        ``"inner"``, or ``"left"`` to keep left rows without any neighbour.
    name
        The column for the distance: the ticks between the two periods; 0 if they share an instant or are adjacent.
        Days for dates, durations for timestamps.
    columns
        The output columns wanted, by their output names; nothing else is read.
    suffixes
        What to append to left and right columns of equal names.
    period, left_period, right_period
        The period columns, as ``(start, end)``, `Period`, a mapping of its options, or one column of instants.
    on_invalid, empty
        What to do with rows whose period is invalid (``"error"``, ``"quarantine"``, ``"drop"``), and with empty periods
        (``"error"``, ``"drop"``, ``"point"``; by default as invalid ones).

    Returns
    -------
    The columns of both tables and the distance: left rows in their order, the neighbours of each nearest first; at
    equal distance by right start, then right end, then place in the right table.

    Examples
    --------
    >>> import pyarrow as pa, timeloom as tl
    >>> alarms = pa.table({"alarm": ["a", "b"], "start": [10, 30], "end": [12, 31]})
    >>> visits = pa.table({"visit": [1, 2, 3], "start": [0, 11, 40], "end": [10, 20, 41]})
    >>> found = tl.nearest(alarms, visits, k=2, columns=["alarm", "visit", "distance"])
    >>> [tuple(row.values()) for row in found.to_pylist()]
    [('a', 2, 0), ('a', 1, 0), ('b', 3, 9), ('b', 2, 10)]

    Visit 1 ends when alarm a begins: they are adjacent, so the visit that shares an instant comes first.
    """
    request = NearestRequest(
        **two_sides(on, left_on, right_on, period, left_period, right_period, on_invalid, empty),
        k=k,
        direction=direction,
        max_distance=read_distance("max_distance", max_distance),
        ties=ties,
        how=how,
        name=name,
        suffixes=suffixes,
        columns=names_or_all("columns", columns),
    )
    engine = engine_of({"left": left, "right": right})
    return PlannedCall(
        lambda: engine.nearest(left, right, request), lambda: engine.explain_nearest(left, right, request)
    )
