"""`temporal_join`: the sequenced join, inner and outer."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from timeloom.errors import UsageError
from timeloom.model.conditions import Condition
from timeloom.model.period import PeriodLike
from timeloom.model.policy import OnEmpty, OnInvalid
from timeloom.model.sequenced import SequencedAlgorithm, SequencedHow, TemporalJoinRequest
from timeloom.operators.call import PlannedCall
from timeloom.operators.engine import engine_of
from timeloom.operators.options import names_or_all, two_sides
from timeloom.operators.registry import verb

SUFFIXES = ("", "_right")


@verb(inputs=("left", "right"))
def temporal_join(
    left: Any,
    right: Any = None,
    *,
    on: "str | Sequence[str] | None" = None,
    how: SequencedHow = "inner",
    where: str | None = None,
    columns: "Sequence[str] | None" = None,
    suffixes: Sequence[str] = SUFFIXES,
    period: PeriodLike = ("start", "end"),
    left_period: "PeriodLike | None" = None,
    right_period: "PeriodLike | None" = None,
    left_on: "str | Sequence[str] | None" = None,
    right_on: "str | Sequence[str] | None" = None,
    on_invalid: OnInvalid = "error",
    empty: "OnEmpty | None" = None,
    algorithm: SequencedAlgorithm = "auto",
    m: int | None = None,
    max_rows: int | None = None,
) -> PlannedCall:
    """Join tables instant by instant: at each instant the result is the ordinary join of the rows valid then.

    Parameters
    ----------
    left, right
        Spark DataFrames, or local tables of any kind that exports Arrow; or a list of two or more as the only
        argument, joined from left to right. The result is of the first one's kind.
    on, left_on, right_on
        Equality keys. A null key matches nothing.
    how
        ``"inner"``: each pair of rows over the time they share. ``"left"``, ``"right"`` and ``"full"`` also keep the
        maximal sub-periods in which a row has no partner, with nulls for the other side. ``"semi"``: the maximal
        sub-periods of left rows in which they have some partner, with the left columns only.
    where
        For two tables: a condition of SQL over output columns, by their output names: ``"price < limit_right"``. It is
        part of the match: without a row for which it holds, a row has no partner. The period is the shared one.
    columns
        The output columns wanted, by their output names; nothing else is read.
    suffixes
        What to append to columns of equal names, one text for each table; from three tables on by default their
        numbers.
    period, left_period, right_period
        The period columns, as ``(start, end)``, `Period`, or a mapping of its options.
    on_invalid, empty
        What to do with rows whose period is invalid (``"error"``, ``"quarantine"``, ``"drop"``), and with empty periods
        (``"error"``, ``"drop"``, ``"point"``; by default as invalid ones).
    algorithm
        ``"auto"``, ``"forward_scan"``, ``"sweep"`` or ``"dip"``; all return the same rows.
    m
        With ``algorithm="dip"``: how many disjoint partitions are merged at once, 1 or more. By default as many as the
        processor's cache is good for.
    max_rows
        On local tables: refuse a result of more rows than this. By default results that do not fit into free memory
        are refused.

    Returns
    -------
    The columns of both tables; the result period stands in the left one's period columns, the right one's are left out.
    Rows are not merged, even if they agree in all values. Their order is not promised.

    Examples
    --------
    >>> import pyarrow as pa, timeloom as tl
    >>> prices = pa.table({"price": [10, 12], "start": [0, 5], "end": [5, 9]})
    >>> stock = pa.table({"pieces": [3, 7], "start": [2, 5], "end": [5, 7]})
    >>> tl.temporal_join(prices, stock).to_pylist()
    [{'price': 10, 'start': 2, 'end': 5, 'pieces': 3}, {'price': 12, 'start': 5, 'end': 7, 'pieces': 7}]

    An outer join keeps the rest of each period:

    >>> rows = tl.temporal_join(prices, stock, how="left").sort_by("start").to_pylist()
    >>> [(row["price"], row["start"], row["end"], row["pieces"]) for row in rows]
    [(10, 0, 2, None), (10, 2, 5, 3), (12, 5, 7, 7), (12, 7, 9, None)]

    A condition decides what a partner is:

    >>> rows = tl.temporal_join(prices, stock, how="left", where="pieces > 5").sort_by("start").to_pylist()
    >>> [(row["price"], row["start"], row["end"], row["pieces"]) for row in rows]
    [(10, 0, 5, None), (12, 5, 7, 7), (12, 7, 9, None)]
    """
    tables = _tables(left, right)
    differing = (left_period, right_period, left_on, right_on)
    if len(tables) > 2 and any(option is not None for option in differing):
        raise UsageError("with more than two tables give period= and on=, which hold for all; rename what differs")
    if len(tables) > 2 and how == "semi":
        raise UsageError("how='semi' is for two tables; join the result with the next one")
    if len(tables) > 2 and where is not None:
        raise UsageError("where= is for two tables; join the result with the next one")
    endings = _suffixes(suffixes, len(tables))
    request = TemporalJoinRequest(
        **two_sides(on, left_on, right_on, period, left_period, right_period, on_invalid, empty),
        how=how,
        suffixes=(endings[0], endings[1]),
        algorithm=algorithm,
        m=m,
        max_rows=max_rows,
        where=None if where is None else Condition(where),
    )
    requests = [request, *(replace(request, suffixes=("", ending)) for ending in endings[2:])]
    requests[-1] = replace(requests[-1], columns=names_or_all("columns", columns))
    engine = engine_of({f"table {number}": table for number, table in enumerate(tables, start=1)})
    return PlannedCall(
        lambda: engine.temporal_join(tables, requests), lambda: engine.explain_temporal_join(tables, requests)
    )


def _tables(left: Any, right: Any) -> "list[Any]":
    if not isinstance(left, list | tuple):
        if right is None:
            raise UsageError("temporal_join needs two tables, or a list of them")
        return [left, right]
    tables = list(left) if right is None else [*left, right]
    if len(tables) < 2:
        raise UsageError(f"temporal_join was given a list of {len(tables)} tables; give two or more")
    return tables


def _suffixes(given: Sequence[str], tables: int) -> tuple[str, ...]:
    """What to append to the columns of each table; from three tables on by default their numbers."""
    if tables > 2 and tuple(given) == SUFFIXES:
        return ("", *(f"_{number}" for number in range(2, tables + 1)))
    if len(given) != tables or isinstance(given, str):
        raise UsageError(f"suffixes={given!r} is for {len(given)} tables, but {tables} are joined")
    return tuple(given)
