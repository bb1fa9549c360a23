"""`temporal_join`: the sequenced join, inner and outer."""

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

from timeloom.errors import UsageError
from timeloom.model.explanation import Explanation
from timeloom.model.join import refuse_max_rows
from timeloom.model.period import PeriodLike
from timeloom.model.policy import OnEmpty, OnInvalid
from timeloom.model.sequenced import SequencedAlgorithm, SequencedHow, TemporalJoinRequest
from timeloom.operators.options import two_sides, wanted_columns
from timeloom.operators.registry import verb

SUFFIXES = ("", "_right")


def _requests(tables: int, asked: Mapping[str, Any]) -> list[TemporalJoinRequest]:
    """One request for each table after the first; only the last one picks columns."""
    suffixes = asked["suffixes"]
    differing = ("left_period", "right_period", "left_on", "right_on")
    if tables > 2 and any(asked[option] is not None for option in differing):
        raise UsageError("with more than two tables give period= and on=, which hold for all; rename what differs")
    if tables > 2 and tuple(suffixes) == SUFFIXES:
        suffixes = ["", *(f"_{number}" for number in range(2, tables + 1))]
    if len(suffixes) != tables or isinstance(suffixes, str):
        raise UsageError(f"suffixes={suffixes!r} is for {len(suffixes)} tables, but {tables} are joined")
    return [
        TemporalJoinRequest(
            **two_sides(asked),
            how=asked["how"],
            suffixes=(suffixes[0] if number == 1 else "", suffixes[number]),
            columns=wanted_columns(asked) if number == tables - 1 else None,
            algorithm=asked["algorithm"],
            max_rows=asked["max_rows"],
        )
        for number in range(1, tables)
    ]


def _explain(asked: Mapping[str, Any]) -> Explanation:
    tables = _tables(asked["left"], asked["right"])
    engine = _engine(tables, asked["max_rows"])
    plan: Explanation = engine.explain_temporal_join_all(tables, _requests(len(tables), asked))
    return plan


@verb(inputs=("left", "right"), explain=_explain)
def temporal_join(
    left: Any,
    right: Any = None,
    *,
    on: "str | Sequence[str] | None" = None,
    how: SequencedHow = "inner",
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
    max_rows: int | None = None,
) -> Any:
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
        maximal sub-periods in which a row has no partner, with nulls for the other side.
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
    """
    asked = locals()
    tables = _tables(left, right)
    requests = _requests(len(tables), asked)
    engine = _engine(tables, max_rows)
    if len(tables) == 2:
        return engine.temporal_join(*tables, requests[0])
    return engine.temporal_join_all(tables, requests)


def _tables(left: Any, right: Any) -> "list[Any]":
    if not isinstance(left, list | tuple):
        if right is None:
            raise UsageError("temporal_join needs two tables, or a list of them")
        return [left, right]
    tables = list(left) if right is None else [*left, right]
    if len(tables) < 2:
        raise UsageError(f"temporal_join was given a list of {len(tables)} tables; give two or more")
    return tables


def _engine(tables: "list[Any]", max_rows: int | None) -> Any:
    from timeloom.engines.tables.frames import family_of

    family = family_of({f"table {number}": table for number, table in enumerate(tables, start=1)})
    if family == "spark":
        refuse_max_rows(max_rows)
    return importlib.import_module(f"timeloom.engines.{family}.temporal_join")
