"""The queries of ``sql:`` steps: which tables they read, and which language they are in."""

import re
from itertools import accumulate

from timeloom.errors import UsageError
from timeloom.pipeline.definition.statements import parse_statements, refuse_commands

_TEMPORAL = re.compile(
    r"\[\s*(?:SYS|APP|RATIO)\b"  # windows
    r"|\b(?:TEMPORAL|ASOF)\s+(?:\w+\s+){0,2}JOIN\b"  # sequenced joins, latest rows
    r"|\.period\b|\bPERIOD\b|\bCOALESCE\s+PERIODS\b"  # periods
    r"|\bFOR\s+(?:SYSTEM_TIME|VALID_TIME|APPLICATION_TIME|PORTION)\b",  # versions
    re.I,
)
_CHANCE = {"RANDOM", "RAND", "RANDN", "UUID", "GEN_RANDOM_UUID", "LIMIT", "FETCH", "FIRST", "LAST", "NOW", "ANY_VALUE"}

MOST_LETTERS = 50_000
MOST_DEPTH = 100


def is_temporal(text: str) -> bool:
    """Tell a query in Timeloom's own syntax from plain SQL.

    >>> is_temporal("select count(*) from t [SYS, START 1, RANGE 4, SLIDE 1]"), is_temporal("select a[0] from t")
    (True, False)
    >>> is_temporal("select * from a temporal left join b using (k)")
    True
    """
    from timeloom.query.parse import parse

    if _TEMPORAL.search(text) is None:
        return False
    try:
        return parse(text)[1].temporal
    except UsageError:
        return True


def tables_of(text: str, *, commands: bool = False) -> list[str]:
    """The tables that a query reads, without those that it defines itself; ``commands`` lets it do more than ask.

    >>> tables_of("with a as (select * from b) select * from a join c.d using (k)")
    ['b', 'c.d']
    >>> tables_of("select * from a temporal left join b using (k)")
    ['a', 'b']
    """
    if len(text) > MOST_LETTERS:
        raise UsageError(f"the query has {len(text):,} letters, more than {MOST_LETTERS:,}; divide it into steps")
    depth = list(accumulate({"(": 1, ")": -1}.get(letter, 0) for letter in text))
    if max(depth, default=0) - min(depth, default=0) > MOST_DEPTH:
        raise UsageError(f"the query has more than {MOST_DEPTH} parentheses within each other; divide it into steps")
    try:
        if is_temporal(text):
            return _temporal_tables(text)
        if not commands:
            refuse_commands(text)
        return _plain_tables(text)
    except RecursionError as error:
        raise UsageError("the query has too many parts within parts; divide it into steps") from error


def _plain_tables(text: str) -> list[str]:
    from sqlglot import exp

    found: set[str] = set()
    for parsed in parse_statements(text):
        defined = {table.alias_or_name for table in parsed.find_all(exp.CTE)}
        names = (".".join(part.name for part in table.parts) for table in parsed.find_all(exp.Table))
        found.update(name for name in names if name not in defined)
    return sorted(found)


def _temporal_tables(text: str) -> list[str]:
    from timeloom.query.parse import parse, table_names

    return table_names(*parse(text))


def may_vary(text: str) -> bool:
    """Tell a query that may give other rows when it is run again: chance, limits, catalog tables, unknown functions.

    >>> may_vary("select rand() as r from t"), may_vary("select a from t limit 5"), may_vary("select upper(a) from t")
    (True, True, False)
    """
    from sqlglot import exp

    if is_temporal(text):
        from timeloom.query.parse import parse

        return any(token.word in _CHANCE for token in parse(text)[0])
    chance = (exp.Rand, exp.Randn, exp.Uuid, exp.TableSample, exp.Limit, exp.Anonymous, exp.First, exp.Last)
    found = [parsed for parsed in parse_statements(text) if parsed.find(*chance) is not None]
    return bool(found) or any("." in name for name in _plain_tables(text))
