"""The queries of ``sql:`` steps: which tables they read, and which language they are in."""

import re

from timeloom.errors import UsageError

_TEMPORAL = re.compile(
    r"\[\s*(?:SYS|APP|RATIO)\b"  # windows
    r"|\bTEMPORAL\s+(?:\w+\s+){0,2}JOIN\b"  # sequenced joins
    r"|\.period\s+[\w.~]+\s+\w+\.period\b",  # relations between periods
    re.I,
)


def is_temporal(text: str) -> bool:
    """Tell a query in Timeloom's own syntax from plain SQL.

    >>> is_temporal("select count(*) from t [SYS, START 1, RANGE 4, SLIDE 1]"), is_temporal("select a[0] from t")
    (True, False)
    >>> is_temporal("select * from a temporal left join b using (k)")
    True
    """
    return _TEMPORAL.search(text) is not None


def tables_of(text: str) -> list[str]:
    """The tables that a query reads, without those that it defines itself.

    >>> tables_of("with a as (select * from b) select * from a join c.d using (k)")
    ['b', 'c.d']
    >>> tables_of("select * from a temporal left join b using (k)")
    ['a', 'b']
    """
    return _temporal_tables(text) if is_temporal(text) else _plain_tables(text)


def _plain_tables(text: str) -> list[str]:
    import sqlglot
    from sqlglot import exp

    try:
        parsed = sqlglot.parse_one(text, read="spark")
    except sqlglot.errors.SqlglotError as error:
        raise UsageError(f"no valid SQL: {' '.join(str(error).split())}") from error
    defined = {table.alias_or_name for table in parsed.find_all(exp.CTE)}
    found = [".".join(part.name for part in table.parts) for table in parsed.find_all(exp.Table)]
    return sorted({name for name in found if name not in defined})


def _temporal_tables(text: str) -> list[str]:
    from timeloom.query.parse import parse
    from timeloom.query.statement import JoinSource, WindowSource

    source = parse(text).source
    if isinstance(source, JoinSource):
        return list(dict.fromkeys((source.left.name, source.right.name)))
    return [source.table.name if isinstance(source, WindowSource) else source.name]
