"""`temporal_antijoin`: when a row has no partner."""

from collections.abc import Sequence
from typing import Any

from timeloom.model.conditions import Condition
from timeloom.model.period import PeriodLike
from timeloom.model.policy import OnEmpty, OnInvalid
from timeloom.model.sequenced import AntijoinAlgorithm, AntijoinRequest
from timeloom.operators.call import PlannedCall
from timeloom.operators.engine import engine_of
from timeloom.operators.options import names_or_all, two_sides
from timeloom.operators.registry import verb


@verb(inputs=("left", "right"))
def temporal_antijoin(
    left: Any,
    right: Any,
    *,
    on: "str | Sequence[str] | None" = None,
    where: str | None = None,
    columns: "Sequence[str] | None" = None,
    suffixes: tuple[str, str] = ("", "_right"),
    period: PeriodLike = ("start", "end"),
    left_period: "PeriodLike | None" = None,
    right_period: "PeriodLike | None" = None,
    left_on: "str | Sequence[str] | None" = None,
    right_on: "str | Sequence[str] | None" = None,
    on_invalid: OnInvalid = "error",
    empty: "OnEmpty | None" = None,
    algorithm: AntijoinAlgorithm = "auto",
    m: int | None = None,
) -> PlannedCall:
    """Keep, of each left row, the maximal sub-periods in which no right row (with an equal key) is valid.

    Parameters
    ----------
    left, right
        Spark DataFrames, or local tables of any kind that exports Arrow. The result is of the left one's kind.
    on, left_on, right_on
        Equality keys. A null key matches nothing, so such a left row is kept whole.
    where
        A condition of SQL over columns of both tables: only right rows for which it holds count. Columns have the names
        that `temporal_join` gives them, so right ones of a name that both tables have get ``suffixes``.
    columns
        The left columns wanted; nothing else is read.
    suffixes
        What ``where`` appends to left and right columns of equal names.
    period, left_period, right_period
        The period columns, as ``(start, end)``, `Period`, or a mapping of its options.
    on_invalid, empty
        What to do with rows whose period is invalid (``"error"``, ``"quarantine"``, ``"drop"``), and with empty periods
        (``"error"``, ``"drop"``, ``"point"``; by default as invalid ones).
    algorithm
        ``"auto"``, ``"cover"`` or ``"dip"``; all return the same rows.
    m
        With ``algorithm="dip"``: how many disjoint partitions are merged at once, 1 or more. By default as many as the
        processor's cache is good for.

    Returns
    -------
    The left columns, the sub-period in the period columns. A local result keeps the order of the left rows.

    Examples
    --------
    >>> import pyarrow as pa, timeloom as tl
    >>> shifts = pa.table({"who": ["Ann", "Bob"], "start": [0, 6], "end": [6, 9]})
    >>> breaks = pa.table({"start": [2, 6], "end": [3, 9]})
    >>> tl.temporal_antijoin(shifts, breaks).to_pylist()
    [{'who': 'Ann', 'start': 0, 'end': 2}, {'who': 'Ann', 'start': 3, 'end': 6}]

    Bob's shift is covered from its first to its last instant, so nothing is left of it. With a condition, only some
    breaks count:

    >>> breaks = breaks.append_column("of", pa.array(["Ann", "Ann"]))
    >>> tl.temporal_antijoin(shifts, breaks, where="who = of")["start"].to_pylist()
    [0, 3, 6]
    """
    request = AntijoinRequest(
        **two_sides(on, left_on, right_on, period, left_period, right_period, on_invalid, empty),
        columns=names_or_all("columns", columns),
        algorithm=algorithm,
        m=m,
        where=None if where is None else Condition(where),
        suffixes=suffixes,
    )
    engine = engine_of({"left": left, "right": right})
    return PlannedCall(
        lambda: engine.temporal_antijoin(left, right, request),
        lambda: engine.explain_temporal_antijoin(left, right, request),
    )
