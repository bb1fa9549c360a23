"""`pattern`: rows of several tables whose periods are in given relations with each other."""

from collections.abc import Mapping, Sequence
from typing import Any

from timeloom.errors import UsageError, did_you_mean, shown
from timeloom.model.explanation import Explanation
from timeloom.model.naming import column_names
from timeloom.model.options import bind, checked
from timeloom.model.pattern import Pattern, PatternRequest
from timeloom.model.period import Period, PeriodLike
from timeloom.model.policy import OnEmpty, OnInvalid, Policy
from timeloom.operators.options import names_or_all


@checked
def pattern(
    tables: "Mapping[str, Any]",
    relations: "Sequence[Any]",
    *,
    on: "str | Sequence[str] | None" = None,
    columns: "Sequence[str] | None" = None,
    period: PeriodLike = ("start", "end"),
    periods: "Mapping[str, Any] | None" = None,
    on_invalid: OnInvalid = "error",
    empty: "OnEmpty | None" = None,
) -> Any:
    """Find rows of two, three or more tables whose periods are in given relations with each other.

    Parameters
    ----------
    tables
        The tables by the names that they have in the pattern: Spark DataFrames, or local tables of any kind that
        exports Arrow. A table may have several names.
    relations
        What must hold, as triples of a name, a relation and a name: ``[("a", "before", "b"), ("b", "overlaps", "c")]``.
        Relations are those of `join`, with limits where they have some: ``tl.iseql.before(delta=5)``. Any pair of names
        may have one, or several, which must then hold together; every table must be reached.
    on
        Equality keys, which all tables have, and in which all rows of a match are equal.
    columns
        The output columns wanted, by their output names; nothing else is gathered.
    period, periods
        The period columns, as ``(start, end)``, `Period`, or a mapping of its options; ``periods`` has those of single
        tables by name.
    on_invalid, empty
        What to do with rows whose period is invalid (``"error"``, ``"drop"``), and with empty periods (``"error"``,
        ``"drop"``, ``"point"``; by default as invalid ones).

    Returns
    -------
    One row for each match, of the first table's kind: the keys, and the other columns of each table, named by the table
    and the column: ``a_start``, ``b_price``.

    Examples
    --------
    A pump is serviced, an alarm follows within ten minutes, and the pump stands still while the alarm goes on:

    >>> import pyarrow as pa, timeloom as tl
    >>> services = pa.table({"pump": [1, 2], "start": [0, 5], "end": [20, 15]})
    >>> codes = ["hot", "dry", "hot"]
    >>> alarms = pa.table({"pump": [1, 2, 2], "code": codes, "start": [28, 40, 18], "end": [50, 60, 24]})
    >>> stops = pa.table({"pump": [1, 2], "start": [30, 20], "end": [45, 30]})
    >>> found = tl.pattern(
    ...     {"service": services, "alarm": alarms, "stop": stops},
    ...     [("service", tl.iseql.before(delta=10), "alarm"), ("stop", "during", "alarm")],
    ...     on="pump",
    ...     columns=["pump", "alarm_code", "stop_start"],
    ... )
    >>> found.to_pylist()
    [{'pump': 1, 'alarm_code': 'hot', 'stop_start': 30}]

    The second pump's alarm is over before it stands still: that would be ``("alarm", "overlaps", "stop")``.
    """
    engine, request = _request(tables, relations, on, columns, period, periods, on_invalid, empty)
    return engine.pattern(tables, request)


def _explained(*args: Any, **options: Any) -> Explanation:
    given = bind(pattern, *args, **options)
    given.apply_defaults()
    engine, request = _request(*given.args, **given.kwargs)
    answer: Explanation = engine.explain_pattern(given.arguments["tables"], request)
    return answer


pattern.explained = _explained  # type: ignore[attr-defined]


def _request(
    tables: Any,
    relations: Any,
    on: Any,
    columns: Any,
    period: Any,
    periods: Any,
    on_invalid: Any,
    empty: Any,
) -> tuple[Any, PatternRequest]:
    from timeloom.operators.engine import engine_of

    if not isinstance(tables, Mapping):
        raise UsageError(f"tables={shown(tables)} is no mapping; give tables by name: {{'a': …, 'b': …}}")
    wanted = Pattern.of(tables, relations)
    own = dict(periods or {})
    for name in own:
        if name not in wanted.names:
            raise UsageError(f"periods= speaks of {shown(name)}, which is no table. {did_you_mean(name, wanted.names)}")
    read = {name: Period.of(own.get(name, period)) for name in wanted.names}
    request = PatternRequest(
        wanted, column_names("on", on), read, Policy(on_invalid, empty), names_or_all("columns", columns)
    )
    return engine_of(dict(tables)), request
