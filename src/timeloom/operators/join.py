"""`join`: pairs of rows whose periods are in a relation."""

from collections.abc import Sequence
from typing import Any, Literal

from timeloom.errors import UsageError
from timeloom.model.allen import intersects
from timeloom.model.conditions import Condition
from timeloom.model.join import How, JoinAlgorithm, JoinRequest, MinOverlap, Strategy, near
from timeloom.model.names import RelationLike
from timeloom.model.names import relation as find_relation
from timeloom.model.neighbours import read_distance
from timeloom.model.period import PeriodLike
from timeloom.model.policy import OnEmpty, OnInvalid
from timeloom.model.relation import Relation
from timeloom.model.ticks import Span
from timeloom.operators.call import PlannedCall
from timeloom.operators.engine import engine_of
from timeloom.operators.options import names_or_all, two_sides
from timeloom.operators.registry import verb


@verb(inputs=("left", "right"))
def join(
    left: Any,
    right: Any,
    relation: RelationLike = "intersects",
    *,
    on: "str | Sequence[str] | None" = None,
    how: How = "inner",
    delta: "Span | str | None" = None,
    epsilon: "Span | str | None" = None,
    overlap: "bool | Literal['length']" = False,
    where: str | None = None,
    max_gap: "Span | str | None" = None,
    min_overlap: Any = None,
    columns: "Sequence[str] | None" = None,
    suffixes: tuple[str, str] = ("", "_right"),
    period: PeriodLike = ("start", "end"),
    left_period: "PeriodLike | None" = None,
    right_period: "PeriodLike | None" = None,
    left_on: "str | Sequence[str] | None" = None,
    right_on: "str | Sequence[str] | None" = None,
    on_invalid: OnInvalid = "error",
    empty: "OnEmpty | None" = None,
    algorithm: JoinAlgorithm = "auto",
    strategy: Strategy = "auto",
    batches: bool = False,
    batch_rows: int = 1_000_000,
    max_rows: int | None = None,
    window: "tuple[Any, Any] | None" = None,
) -> PlannedCall:
    """Join two tables on a relation between their periods.

    Parameters
    ----------
    left, right
        Spark DataFrames, or local tables of any kind that exports Arrow. The result is of the left one's kind.
        Either may be a `StabForest`, also beside a Spark DataFrame: it is sent to every worker.
    relation
        A name (``"during"``, ``"iseql.before"``, ``"meets | met_by"``), a `Relation`, or a list of these.
    on, left_on, right_on
        Equality keys. A null key matches nothing.
    how
        ``"inner"``, ``"left"``, ``"right"``, ``"full"``, ``"semi"`` or ``"anti"``.
    delta, epsilon
        The largest distance of starts and of ends, for ISEQL relations: ticks, a timedelta, or ``"5 minutes"``.
    overlap
        Add ``overlap_start`` and ``overlap_end``, the time that both periods share; null where they share none.
        ``"length"`` adds ``overlap_length`` instead: integer, days for dates, a duration for timestamps.
    where
        A condition of SQL over output columns, by their output names: ``"price < limit_right"``. It is part of the
        match: it decides outer, semi and anti joins, too.
    max_gap
        Pairs that share an instant or have at most this much time between them; instead of a relation.
    min_overlap
        Pairs that share at least this much time: ticks, a timedelta, ``"5 minutes"``; or a fraction of a period:
        ``("left", 0.5)``, ``("right", 0.5)`` or ``("shorter", 0.5)``. With ``"intersects"`` only.
    columns
        The output columns wanted, by their output names; nothing else is read.
    suffixes
        What to append to left and right columns of equal names.
    period, left_period, right_period
        The period columns, as ``(start, end)``, `Period`, or a mapping of its options.
    on_invalid, empty
        What to do with rows whose period is invalid (``"error"``, ``"quarantine"``, ``"drop"``), and with empty periods
        (``"error"``, ``"drop"``, ``"point"``; by default as invalid ones).
    algorithm
        ``"auto"``, ``"forward_scan"``, ``"sweep"``, ``"range_tree"`` or ``"skip"``; all return the same rows.
    strategy
        On Spark: ``"auto"``, ``"broadcast"``, ``"slices"`` or ``"keys"``.
    batches, batch_rows
        On local tables: yield Arrow record batches of at most ``batch_rows`` rows, one at least, instead of one table.
        With ``on_invalid="quarantine"`` these are the ``result``, beside the ``rejected`` rows.
    max_rows
        On local tables: refuse a result of more rows than this. By default results that do not fit into free memory
        are refused.
    window
        For relations whose pairs share time: only pairs that share time within ``[begin, end)``; None
        as the end means no limit.

    Returns
    -------
    A table of the left input's kind; with ``on_invalid="quarantine"`` a `Quarantined` with ``result`` and ``rejected``.
    The order of rows is not promised, except that semi and anti joins keep the order of a local left table.

    Examples
    --------
    >>> import pyarrow as pa, timeloom as tl
    >>> shifts = pa.table({"who": ["Ann", "Bob"], "start": [1, 5], "end": [5, 9]})
    >>> calls = pa.table({"call": [1, 2, 3], "start": [4, 5, 9], "end": [6, 6, 10]})
    >>> tl.join(shifts, calls, columns=["who", "call"]).sort_by("call").to_pylist()
    [{'who': 'Ann', 'call': 1}, {'who': 'Bob', 'call': 1}, {'who': 'Bob', 'call': 2}]

    Bob's shift ends at 9, when call 3 begins: periods are half-open, so they meet without sharing an instant.

    >>> tl.join(shifts, calls, "meets", columns=["who", "call"]).to_pylist()
    [{'who': 'Ann', 'call': 2}, {'who': 'Bob', 'call': 3}]

    With a condition, and with time between:

    >>> tl.join(shifts, calls, where="call > 1", how="left", columns=["who", "call"]).sort_by("who").to_pylist()
    [{'who': 'Ann', 'call': None}, {'who': 'Bob', 'call': 2}]
    >>> tl.join(shifts, calls, max_gap=4, columns=["who", "call"]).num_rows
    6
    """
    found = find_relation(relation, delta=delta, epsilon=epsilon)
    least = None if min_overlap is None else MinOverlap.read(min_overlap)
    request = JoinRequest(
        relation=_narrowed(found, read_distance("max_gap", max_gap), least),
        **two_sides(on, left_on, right_on, period, left_period, right_period, on_invalid, empty),
        how=how,
        overlap=overlap,
        suffixes=suffixes,
        columns=names_or_all("columns", columns),
        algorithm=algorithm,
        strategy=strategy,
        max_rows=max_rows,
        window=window,
        where=None if where is None else Condition(where),
        min_overlap=least,
    )
    engine = engine_of({"left": left, "right": right})
    return PlannedCall(
        lambda: engine.join_batches(left, right, request, batch_rows) if batches else engine.join(left, right, request),
        lambda: engine.explain_join(left, right, request),
        again=None if batches else lambda left, right: engine.join(left, right, request),
    )


def _narrowed(relation: Relation, max_gap: Span | None, least: MinOverlap | None) -> Relation:
    """The relation with the bounds of ``max_gap`` or ``min_overlap``, which stand for a relation of their own."""
    given = "max_gap" if max_gap is not None else "min_overlap"
    if max_gap is not None and least is not None:
        raise UsageError("max_gap= lets periods lie apart, min_overlap= asks for time that they share; give one")
    if (max_gap is not None or least is not None) and relation != intersects:
        raise UsageError(f"{given}= is for relation='intersects', not for {relation.name!r}; leave one of them out")
    if max_gap is not None:
        return near(max_gap)
    return relation if least is None else least.relation
