"""Relations between periods as plain comparisons. A null end is later than every instant; a null start is unknown."""

from dataclasses import dataclass
from datetime import timedelta

from timeloom.model.box import Range
from timeloom.model.relation import Relation
from timeloom.model.ticks import Span
from timeloom.query.pieces import Sql


@dataclass(frozen=True)
class Endpoint:
    """An end of a period, as SQL; ``open`` tells whether null means that it has none."""

    sql: str
    open: bool


def related(r: tuple[str, str], relation: Relation, s: tuple[str, str]) -> str:
    """SQL that is true if r is in a relation with s, null if a start is null."""
    terms = [_box(r, box.ranges, s) for box in relation.terms]
    known = " OR ".join(terms)
    return f"CASE WHEN {r[0]} IS NULL OR {s[0]} IS NULL THEN NULL ELSE ({known}) END"


def containing(r: tuple[str, str], at: Sql) -> Sql:
    """SQL that is true if r contains an instant."""
    start, end = r
    return Sql(f"({start} <= ", at, " AND (", at, f" < {end} OR ({end} IS NULL AND ", at, " IS NOT NULL)))")


def _box(r: tuple[str, str], ranges: tuple[Range, Range, Range, Range], s: tuple[str, str]) -> str:
    r_start, r_end = Endpoint(r[0], False), Endpoint(r[1], True)
    s_start, s_end = Endpoint(s[0], False), Endpoint(s[1], True)
    pairs = ((s_start, r_start), (s_start, r_end), (s_end, r_start), (s_end, r_end))
    parts = []
    for (x, y), (low, high) in zip(pairs, ranges, strict=True):
        if low is not None:
            parts.append(_at_least(x, y, low))
        if high is not None:
            parts.append(_at_least(y, x, -high))
    return f"({' AND '.join(parts) or 'TRUE'})"


def _at_least(x: Endpoint, y: Endpoint, least: Span) -> str:
    """``x - y >= least``, where an open end is at infinity, and two of them are level."""
    zero = timedelta(0) if isinstance(least, timedelta) else 0
    strict = least == 1 and not isinstance(least, timedelta)
    compared = f"{x.sql} > {y.sql}" if strict else f"{x.sql} >= {y.sql}{_shift(least)}"
    level = least <= zero  # type: ignore[operator]
    if x.open and y.open:
        later = "TRUE" if level else f"{y.sql} IS NOT NULL"
        return f"CASE WHEN {x.sql} IS NULL THEN {later} WHEN {y.sql} IS NULL THEN FALSE ELSE {compared} END"
    if x.open:
        return f"({x.sql} IS NULL OR {compared})"
    if y.open:
        return f"({y.sql} IS NOT NULL AND {compared})"
    return f"({compared})"


def _shift(span: Span) -> str:
    if isinstance(span, timedelta):
        micros = span // timedelta(microseconds=1)
        return "" if micros == 0 else f" + INTERVAL '{micros}' MICROSECOND"
    return "" if span == 0 else f" + ({span})"
