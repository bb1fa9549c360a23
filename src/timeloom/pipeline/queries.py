"""The queries of ``sql:`` steps: which tables they read, and which language they are in."""

import re

from timeloom.errors import UsageError

_WINDOW = re.compile(r"\[\s*(SYS|APP|RATIO)\b", re.I)
_FROM = re.compile(r"\b(?:from|join)\s+([A-Za-z_][A-Za-z0-9_.]*)", re.I)


def has_windows(text: str) -> bool:
    """Tell a query in the window syntax from plain SQL.

    >>> has_windows("select count(*) from t [SYS, START 1, RANGE 4, SLIDE 1]"), has_windows("select a[0] from t")
    (True, False)
    """
    return _WINDOW.search(text) is not None


def tables_of(text: str) -> list[str]:
    """The tables that a query reads, without those that it defines itself.

    >>> tables_of("with a as (select * from b) select * from a join c.d using (k)")
    ['b', 'c.d']
    """
    if has_windows(text):
        return list(dict.fromkeys(_FROM.findall(text)))
    import sqlglot
    from sqlglot import exp

    try:
        parsed = sqlglot.parse_one(text, read="spark")
    except sqlglot.errors.SqlglotError as error:
        raise UsageError(f"no valid SQL: {' '.join(str(error).split())}") from error
    defined = {table.alias_or_name for table in parsed.find_all(exp.CTE)}
    found = [".".join(part.name for part in table.parts) for table in parsed.find_all(exp.Table)]
    return sorted({name for name in found if name not in defined})
