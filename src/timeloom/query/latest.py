"""``ASOF JOIN`` where the engine has none: each right row lasts until the next one with its keys."""

from timeloom.query.pieces import Sql
from timeloom.query.scope import Named, Scope
from timeloom.query.sources import Source, evaluated
from timeloom.query.structure import Join, Range
from timeloom.query.writing import Run, write

_MIRRORED = {">=": "<=", ">": "<", "<=": ">=", "<": ">"}
_NEXT = {">=": ("LEAD", "<"), ">": ("LEAD", "<="), "<=": ("LAG", ">"), "<": ("LAG", ">=")}
"""The neighbour that ends a right row's turn, and how the left instant compares with it."""


def join_latest(run: Run, left: Source, join: Join, right: Source, scope: Scope) -> Source | None:
    """An ASOF join in plain SQL, or None if the engine has it."""
    if join.style != "asof" or run.session.engine == "duckdb":
        return None
    if join.kind not in ("inner", "left") or len(right.tables) != 1:
        raise run.fail(join.tokens[0], "on Spark ASOF joins are INNER or LEFT, with one table on the right")
    named = next(iter(right.tables.values()))
    both = Scope(scope.definitions, scope, {**left.tables, **right.tables})
    keys, moment = _conditions(run, join, left, right, both)
    lookup, compared = _NEXT[moment[1]]
    quote, neighbour = run.session.quote, run.fresh()
    alias = quote(named.alias)
    parts = f" PARTITION BY {', '.join(other for _, other in keys)}" if keys else ""
    last = f"{lookup}({moment[2]}) OVER ({parts} ORDER BY {moment[2]}) AS {quote(neighbour)}"
    words = Sql(f"(SELECT {alias}.*, {last} FROM ", right.sql, f" WHERE {moment[2]} IS NOT NULL) AS {alias}")
    on = [f"{mine} = {other}" for mine, other in keys]
    turn = f"{alias}.{quote(neighbour)}"
    on += [f"{moment[0]} {moment[1]} {moment[2]}", f"({turn} IS NULL OR {moment[0]} {compared} {turn})"]
    kind = "LEFT JOIN" if join.kind == "left" else "JOIN"
    source = Source(Sql(left.sql, f" {kind} ", words, f" ON {' AND '.join(on)}"), both.tables, left.table, plain=False)
    shown = [Sql(f"{alias}.{quote(name)}") for name in _own(named, join, run)]
    source.stars = None if left.stars is None else [*left.stars, *shown]
    source.nullable = set(left.nullable) | (set(right.tables) if join.kind == "left" else set())
    source.table = lambda: evaluated(run, source, scope)
    run.notes.append({"verb": "asof join", "tables": [named.alias], "keys": len(keys)})
    return source


def _own(named: Named, join: Join, run: Run) -> list[str]:
    using = {token.text.lower() for token in run.tokens[slice(*(join.using or (0, 0)))]}
    return [name for name in named.names() if name.lower() not in using]


def _conditions(
    run: Run, join: Join, left: Source, right: Source, scope: Scope
) -> tuple[list[tuple[str, str]], tuple[str, str, str]]:
    """Pairs of equal columns, and the comparison of instants with the left one first."""
    if join.using is not None:
        names = [token.text for token in run.tokens[slice(*join.using)] if token.is_name]
        pairs = [(_reference(run, left, name), _reference(run, right, name)) for name in names]
        return pairs[:-1], (pairs[-1][0], ">=", pairs[-1][1])
    keys: list[tuple[str, str]] = []
    moments: list[tuple[str, str, str]] = []
    for part in join.conjuncts:
        operator, first, second = _compared(run, part)
        mine, other = str(write(run, first, scope)), str(write(run, second, scope))
        turned = run.tokens[first[0]].text.lower() in right.tables
        pair = (other, mine) if turned else (mine, other)
        if operator == "=":
            keys.append(pair)
        else:
            moments.append((pair[0], _MIRRORED[operator] if turned else operator, pair[1]))
    if len(moments) != 1:
        raise run.fail(
            join.tokens[0], "an ASOF join compares two instants once, with >=, >, <= or <, beside equal columns"
        )
    return keys, moments[0]


def _compared(run: Run, part: Range) -> tuple[str, Range, Range]:
    signs = [at for at in range(*part) if run.tokens[at].text in ("=", *_MIRRORED)]
    if len(signs) != 1:
        raise run.fail(part[0], "an ASOF join takes comparisons of columns; expected =, >=, >, <= or < between two")
    return run.tokens[signs[0]].text, (part[0], signs[0]), (signs[0] + 1, part[1])


def _reference(run: Run, source: Source, name: str) -> str:
    quote = run.session.quote
    for named in source.tables.values():
        if name.lower() in (label.lower() for label in named.names()):
            if named.columns is not None:
                return named.columns[name.lower()][1]
            return f"{quote(named.alias)}.{quote(name)}"
    return quote(name)
