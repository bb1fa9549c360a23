"""`temporal_intersect`: what two tables have in common, at every instant."""

from typing import Any

from timeloom.model.period import Period, PeriodLike
from timeloom.model.policy import OnEmpty, OnInvalid, Policy
from timeloom.model.sequenced import TemporalSetRequest
from timeloom.operators.call import PlannedCall
from timeloom.operators.engine import engine_of
from timeloom.operators.registry import verb


@verb(inputs=("left", "right"))
def temporal_intersect(
    left: Any,
    right: Any,
    *,
    all: bool = False,
    period: PeriodLike = ("start", "end"),
    left_period: "PeriodLike | None" = None,
    right_period: "PeriodLike | None" = None,
    on_invalid: OnInvalid = "error",
    empty: "OnEmpty | None" = None,
) -> PlannedCall:
    """Keep what both tables have at an instant, by value.

    Parameters
    ----------
    left, right
        Spark DataFrames, or local tables of any kind that exports Arrow, with the same columns beside their periods.
        The result is of the left one's kind.
    all
        False: a set; each value that both tables have, once. True: a bag; a value as often as both tables have it.
    period, left_period, right_period
        The period columns, as ``(start, end)``, `Period`, a mapping of its options, or one column of instants.
    on_invalid, empty
        What to do with rows whose period is invalid (``"error"``, ``"quarantine"``, ``"drop"``), and with empty periods
        (``"error"``, ``"drop"``, ``"point"``; by default as invalid ones).

    Returns
    -------
    The columns of the left table. Values are equal if all columns but the period are; nulls are equal to each other.

    Examples
    --------
    >>> import pyarrow as pa, timeloom as tl
    >>> first = pa.table({"room": ["a", "a"], "start": [0, 2], "end": [3, 5]})
    >>> second = pa.table({"room": ["a", "b"], "start": [1, 1], "end": [4, 2]})
    >>> [tuple(row.values()) for row in tl.temporal_intersect(first, second).to_pylist()]
    [('a', 1, 4)]
    """
    request = TemporalSetRequest(
        Period.of(period if left_period is None else left_period),
        Period.of(period if right_period is None else right_period),
        Policy(on_invalid, empty),
        all,
    )
    engine = engine_of({"left": left, "right": right})
    return PlannedCall(
        lambda: engine.temporal_intersect(left, right, request),
        lambda: engine.explain_one_way("temporal_intersect", [left, right], request),
    )
