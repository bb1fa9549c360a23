"""`as_of`: what was in force at an instant."""

from collections.abc import Sequence
from typing import Any

from timeloom.errors import UsageError
from timeloom.model.explanation import Explanation
from timeloom.model.naming import Keys
from timeloom.model.neighbours import (
    AsOfDirection,
    AsOfRequest,
    BitemporalAsOfRequest,
    KeptHow,
    read_distance,
)
from timeloom.model.period import Period, PeriodLike
from timeloom.model.policy import OnInvalid, Policy
from timeloom.model.ticks import Span
from timeloom.operators.call import PlannedCall
from timeloom.operators.engine import engine_of
from timeloom.operators.options import names_or_all
from timeloom.operators.registry import verb


@verb(inputs=("left", "right"))
def as_of(
    left: Any,
    right: Any = None,
    *,
    at: str = "at",
    right_at: str | None = None,
    on: "str | Sequence[str] | None" = None,
    left_on: "str | Sequence[str] | None" = None,
    right_on: "str | Sequence[str] | None" = None,
    direction: AsOfDirection = "backward",
    tolerance: "Span | str | None" = None,
    allow_exact: bool = True,
    how: KeptHow = "left",
    columns: "Sequence[str] | None" = None,
    suffixes: tuple[str, str] = ("", "_right"),
    on_invalid: OnInvalid = "error",
    sys: Any = None,
    app: Any = None,
    sys_period: PeriodLike = ("sys_start", "sys_end"),
    app_period: PeriodLike = ("app_start", "app_end"),
) -> PlannedCall:
    """Give each row the row of another table that was in force at its instant; or look at a table as it was believed.

    Parameters
    ----------
    left, right
        Spark DataFrames, or local tables of any kind that exports Arrow. The result is of the left one's kind. Without
        a right table the left one has two periods, and ``sys``, ``app`` or both say at which instants to look at it.
    at, right_at
        The columns of instants: integers, dates or timestamps. By default both sides' have one name.
    on, left_on, right_on
        Equality keys. A null key matches nothing.
    direction
        ``"backward"``: the last right row not after the left one. ``"forward"``: the first not before it.
        ``"nearest"``: the closer of the two, the earlier if both are equally far.
    tolerance
        The largest distance: ticks, a timedelta, or ``"5 minutes"``.
    allow_exact
        Whether a right row at the very instant of the left one counts.
    how
        ``"left"``: one row for each left row, with nulls where there is no partner. ``"inner"``: only those with one.
    columns
        The output columns wanted, by their output names; nothing else is read.
    suffixes
        What to append to left and right columns of equal names.
    on_invalid
        What to do with rows without an instant: ``"error"``, ``"quarantine"``, ``"drop"``.
    sys, app
        For a table with two periods: the instant at which something was believed, and the one that it is about.
    sys_period, app_period
        The two periods of such a table.

    Returns
    -------
    The columns of both tables; the left rows in their order, each once. Of right rows level in time, the last in the
    order of their columns' values is taken, nulls last, on both engines. Of a table with two periods its rows that were
    believed then about then.

    Examples
    --------
    >>> import pyarrow as pa, timeloom as tl
    >>> trades = pa.table({"at": [1, 5, 7], "pieces": [10, 20, 30]})
    >>> prices = pa.table({"at": [2, 5, 6], "price": [100, 101, 99]})
    >>> tl.as_of(trades, prices, columns=["at", "pieces", "price"]).to_pylist()  # doctest: +NORMALIZE_WHITESPACE
    [{'at': 1, 'pieces': 10, 'price': None}, {'at': 5, 'pieces': 20, 'price': 101},
     {'at': 7, 'pieces': 30, 'price': 99}]
    >>> tl.as_of(trades, prices, allow_exact=False, how="inner")["price"].to_pylist()
    [100, 99]
    """
    if right is None:
        return _believed(left, (("sys", sys, sys_period), ("app", app, app_period)), on_invalid)
    if sys is not None or app is not None:
        raise UsageError("sys= and app= are for one table with two periods; leave the right table out, or them")
    request = AsOfRequest(
        keys=Keys.of(on, left_on, right_on),
        left_period=Period(at),
        right_period=Period(at if right_at is None else right_at),
        policy=Policy(on_invalid),
        direction=direction,
        tolerance=read_distance("tolerance", tolerance),
        allow_exact=allow_exact,
        how=how,
        suffixes=suffixes,
        columns=names_or_all("columns", columns),
    )
    engine = engine_of({"left": left, "right": right})
    return PlannedCall(lambda: engine.as_of(left, right, request), lambda: engine.explain_as_of(left, right, request))


def _believed(df: Any, given: "tuple[tuple[str, Any, PeriodLike], ...]", on_invalid: OnInvalid) -> PlannedCall:
    """Read a call for one table."""
    from timeloom.bitemporal.index import BitemporalIndex
    from timeloom.bitemporal.table import BitemporalTable
    from timeloom.engines.tables.frames import family_of

    instants = tuple((at, Period.of(period)) for _, at, period in given if at is not None)
    if not instants:
        raise UsageError("as_of needs a right table, or for a table with two periods sys=, app= or both")
    wanted = {option: at for option, at, _ in given}
    if isinstance(df, BitemporalTable):
        return PlannedCall(lambda: df.as_of(**wanted), lambda: _explained("local", "index", wanted))
    if isinstance(df, BitemporalIndex):
        known = {option: at for option, at in wanted.items() if at is not None}
        return PlannedCall(lambda: df.rows(df.as_of(**known)), lambda: _explained("local", "index", wanted))
    request = BitemporalAsOfRequest(instants, Policy(on_invalid))
    engine, family = engine_of({"left": df}), family_of({"left": df})
    return PlannedCall(lambda: engine.believed(df, request), lambda: _explained(family, "stab", wanted))


def _explained(engine: str, algorithm: str, wanted: "dict[str, Any]") -> Explanation:
    """The plan for one table, which leaves nothing to choose."""
    why = {"index": "an index finds the rows of both times", "stab": "a table is stabbed in each of its periods"}
    facts = {"algorithm": algorithm, **{axis: at for axis, at in wanted.items() if at is not None}}
    return Explanation("as_of", engine, facts, (why[algorithm],))
