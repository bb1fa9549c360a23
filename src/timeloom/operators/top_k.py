"""`top_k`: the left rows that are in a relation with the most right rows."""

from collections.abc import Mapping, Sequence
from typing import Any

from timeloom.model.count_join import CountRequest, Ties, TopRequest
from timeloom.model.join import Strategy
from timeloom.model.measures import read_measures
from timeloom.model.names import RelationLike
from timeloom.model.names import relation as find_relation
from timeloom.model.naming import column_names
from timeloom.model.period import PeriodLike
from timeloom.model.policy import OnEmpty, OnInvalid
from timeloom.model.ticks import Span
from timeloom.operators.call import PlannedCall
from timeloom.operators.engine import engine_of
from timeloom.operators.options import two_sides
from timeloom.operators.registry import verb


@verb(inputs=("left", "right"))
def top_k(
    left: Any,
    right: Any,
    k: int,
    relation: RelationLike = "intersects",
    *,
    on: "str | Sequence[str] | None" = None,
    by: "str | Sequence[str] | None" = None,
    ties: Ties = "first",
    name: str = "count",
    aggregates: "Mapping[str, Any] | None" = None,
    highest: str | None = None,
    delta: "Span | str | None" = None,
    epsilon: "Span | str | None" = None,
    period: PeriodLike = ("start", "end"),
    left_period: "PeriodLike | None" = None,
    right_period: "PeriodLike | None" = None,
    left_on: "str | Sequence[str] | None" = None,
    right_on: "str | Sequence[str] | None" = None,
    on_invalid: OnInvalid = "error",
    empty: "OnEmpty | None" = None,
    strategy: Strategy = "auto",
) -> PlannedCall:
    """Find the k left rows with the most right rows in a relation, or with the highest aggregate of these.

    The k highest are those of all left rows, or of each group.

    Parameters
    ----------
    left, right
        Spark DataFrames, or local tables of any kind that exports Arrow. The result is of the left one's kind.
    k
        How many rows to keep; of each group with ``by``.
    relation, on, left_on, right_on, delta, epsilon
        Which right rows count, as in `count_join`.
    by
        Columns of the left table: the k highest of each combination of their values. Nulls form a group of their own.
    ties
        Which of the rows that equal the k-th to keep: ``"first"`` those that come first in the left table, ``"all"``
        every one, so that there may be more than k rows.
    name, aggregates
        The column for the counts, and further columns, as in `count_join`.
    highest
        The one of these columns by which rows are ranked; by default the count. Rows without a value come last.
    period, left_period, right_period, on_invalid, empty, strategy
        As in `count_join`.

    Returns
    -------
    Left rows with their counts, highest first, equal counts in the order of the left table; groups in the order of
    their first rows. With ``on_invalid="quarantine"`` a `Quarantined` with ``result`` and ``rejected``.

    Examples
    --------
    >>> import pyarrow as pa, timeloom as tl
    >>> shifts = pa.table({"who": ["Ann", "Bob", "Cem"], "start": [1, 4, 5], "end": [5, 6, 9]})
    >>> calls = pa.table({"start": [4, 5, 9], "end": [6, 6, 10]})
    >>> tl.top_k(shifts, calls, 1).select(["who", "count"]).to_pylist()
    [{'who': 'Bob', 'count': 2}]
    >>> tl.top_k(shifts, calls, 1, ties="all").select(["who", "count"]).to_pylist()
    [{'who': 'Bob', 'count': 2}, {'who': 'Cem', 'count': 2}]
    >>> calls = calls.append_column("cost", pa.array([1, 2, 9]))
    >>> found = tl.top_k(shifts, calls, 1, aggregates={"most": ("cost", "max")}, highest="most")
    >>> found.select(["who", "most"]).to_pylist()
    [{'who': 'Bob', 'most': 2}]
    """
    count = CountRequest(
        relation=find_relation(relation, delta=delta, epsilon=epsilon),
        **two_sides(on, left_on, right_on, period, left_period, right_period, on_invalid, empty),
        name=name,
        aggregates=read_measures(aggregates or {}),
        strategy=strategy,
    )
    request = TopRequest(count, k, column_names("by", by), ties, highest)
    engine = engine_of({"left": left, "right": right})
    return PlannedCall(
        lambda: engine.top_k(left, right, request), lambda: engine.explain_count_join(left, right, count)
    )
