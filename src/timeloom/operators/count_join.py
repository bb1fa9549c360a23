"""`count_join`: how many right rows each left row is in a relation with."""

from collections.abc import Mapping, Sequence
from typing import Any

from timeloom.model.count_join import CountAlgorithm, CountRequest
from timeloom.model.join import Strategy
from timeloom.model.measures import read_measures
from timeloom.model.names import RelationLike
from timeloom.model.names import relation as find_relation
from timeloom.model.period import PeriodLike
from timeloom.model.policy import OnEmpty, OnInvalid
from timeloom.model.ticks import Span
from timeloom.operators.call import PlannedCall
from timeloom.operators.engine import engine_of
from timeloom.operators.options import two_sides
from timeloom.operators.registry import verb


@verb(inputs=("left", "right"))
def count_join(
    left: Any,
    right: Any,
    relation: RelationLike = "intersects",
    *,
    on: "str | Sequence[str] | None" = None,
    name: str = "count",
    aggregates: "Mapping[str, Any] | None" = None,
    delta: "Span | str | None" = None,
    epsilon: "Span | str | None" = None,
    period: PeriodLike = ("start", "end"),
    left_period: "PeriodLike | None" = None,
    right_period: "PeriodLike | None" = None,
    left_on: "str | Sequence[str] | None" = None,
    right_on: "str | Sequence[str] | None" = None,
    on_invalid: OnInvalid = "error",
    empty: "OnEmpty | None" = None,
    algorithm: CountAlgorithm = "auto",
    strategy: Strategy = "auto",
) -> PlannedCall:
    """Count, for each left row, the right rows whose periods are in a relation with its own.

    Pairs are never listed, so the cost does not depend on how many there are.

    Parameters
    ----------
    left, right
        Spark DataFrames, or local tables of any kind that exports Arrow. The result is of the left one's kind.
    relation
        A name (``"during"``, ``"iseql.before"``, ``"meets | met_by"``), a `Relation`, or a list of these.
    on, left_on, right_on
        Equality keys. A null key matches nothing: its row counts 0.
    name
        The column for the counts.
    aggregates
        More columns, each from a column of the right rows: ``{"total": ("price", "sum")}``. The functions are ``sum``,
        ``avg``, ``min``, ``max``, ``any``, ``every``, ``count`` (of values that are not null), ``var`` and ``stddev``
        (of a sample), ``first``, ``last`` (by start; then by place in a local table, by end and value on Spark) and
        ``count_distinct``. Over no values they give null, counts 0. Sums and averages are exact and rounded once,
        whatever the magnitudes; names, types and treatment of nulls are those of `temporal_aggregate`.
    delta, epsilon
        The largest distance of starts and of ends, for ISEQL relations: ticks, a timedelta, or ``"5 minutes"``.
    period, left_period, right_period
        The period columns, as ``(start, end)``, `Period`, or a mapping of its options.
    on_invalid, empty
        What to do with rows whose period is invalid (``"error"``, ``"quarantine"``, ``"drop"``), and with empty periods
        (``"error"``, ``"drop"``, ``"point"``; by default as invalid ones).
    algorithm
        ``"auto"``; ``"dominance"``, for every relation; or, for ``"intersects"`` only, ``"ranks"`` and the sweeps of
        the count semi-join paper: ``"naive"``, ``"simple"`` and ``"smart"``. All give the same counts.
    strategy
        On Spark: how rows reach the tasks: ``"auto"``, ``"broadcast"`` (of the right side), ``"slices"``, ``"keys"``.

    Returns
    -------
    The left rows in their order (on local tables), with the new columns; with ``on_invalid="quarantine"`` a
    `Quarantined` with ``result`` and ``rejected``.

    Examples
    --------
    >>> import pyarrow as pa, timeloom as tl
    >>> shifts = pa.table({"who": ["Ann", "Bob", "Cem"], "start": [1, 5, 20], "end": [5, 9, 22]})
    >>> calls = pa.table({"cost": [3, 4, 9], "start": [4, 5, 9], "end": [6, 6, 10]})
    >>> counted = tl.count_join(shifts, calls, aggregates={"total": ("cost", "sum")})
    >>> counted.select(["who", "count", "total"]).to_pylist()  # doctest: +NORMALIZE_WHITESPACE
    [{'who': 'Ann', 'count': 1, 'total': 3}, {'who': 'Bob', 'count': 2, 'total': 7},
     {'who': 'Cem', 'count': 0, 'total': None}]

    Ann's shift ends at 5, when the second call begins: periods are half-open, so that call does not count.
    """
    request = CountRequest(
        relation=find_relation(relation, delta=delta, epsilon=epsilon),
        **two_sides(on, left_on, right_on, period, left_period, right_period, on_invalid, empty),
        name=name,
        aggregates=read_measures(aggregates or {}),
        algorithm=algorithm,
        strategy=strategy,
    )
    engine = engine_of({"left": left, "right": right})
    return PlannedCall(
        lambda: engine.count_join(left, right, request),
        lambda: engine.explain_count_join(left, right, request),
        again=lambda left, right: engine.count_join(left, right, request),
    )
