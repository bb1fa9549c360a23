"""Results of verbs as parts of FROM, and what is done to them: a filter, the rows without a partner."""

from collections import Counter
from typing import Any

from timeloom.query.matching import Sides
from timeloom.query.pieces import Sql, listed
from timeloom.query.scope import Named, Scope
from timeloom.query.sources import Source, Table, with_definitions
from timeloom.query.structure import JoinKind, Range
from timeloom.query.writing import Run, write


def result_source(run: Run, frame: Any, table: Table, scope: Scope, *, final: bool = True) -> Source:
    """The result of a verb as a source: its columns are known by the aliases of before."""
    frame, table = _plainly_named(run, frame, table) if final else (frame, table)
    name = run.session.add(frame)
    table.frame = frame
    return known_source(run, Sql(name), table, scope, lambda: table)


def _plainly_named(run: Run, frame: Any, table: Table) -> tuple[Any, Table]:
    """Give columns that only one table has left their own names back, so that they need no alias."""
    names = run.session.names(frame)
    taken = {name.lower() for name in names}
    owners = Counter(name for cells in table.cells.values() for name in cells.columns)
    renames = {
        column: label
        for cells in table.cells.values()
        for name, (label, column) in cells.columns.items()
        if column != label and owners[name] == 1 and name not in taken
    }
    if not renames:
        return frame, table
    cells = {alias: own.renamed(renames) for alias, own in table.cells.items()}
    stars = [(label, renames.get(column, column)) for label, column in table.stars]
    shaped = run.session.shaped(frame, [(name, renames.get(name, name)) for name in names])
    return shaped, Table(shaped, cells, table.shared, stars)


def known_source(run: Run, words: Sql, table: Table, scope: Scope, evaluate: Any) -> Source:
    """A source whose columns are known by aliases that the engine does not know."""
    quote = run.session.quote
    run.aliases += 1
    alias = quote(f"{run.prefix}source_{run.aliases}")
    tables = {}
    for key, cells in table.cells.items():
        columns = {name: (label, f"{alias}.{quote(column)}") for name, (label, column) in cells.columns.items()}
        tables[key] = Named(cells.alias, cells.period, columns, cells.declared, shared=frozenset(table.shared))
    stars = [Sql(f"{alias}.{quote(column)} AS {quote(name)}") for name, column in table.stars]
    source = Source(Sql(words, f" AS {alias}"), tables, evaluate, plain=False, ready=True, stars=stars)
    source.nullable = {key for key, cells in table.cells.items() if cells.nullable}
    return source


def narrowed(run: Run, source: Source, rest: tuple[Range, ...], scope: Scope) -> Source:
    """Keep the pairs for which the other conditions hold."""
    table = source.table()
    inner = Scope(scope.definitions, scope, source.tables)
    conditions = listed([Sql("(", write(run, part, inner), ")") for part in rest], " AND ")
    query = with_definitions(run, scope, Sql("SELECT * FROM ", source.sql, " WHERE ", conditions))
    table.frame = run.evaluate(query)
    return known_source(run, Sql(run.session.add(table.frame)), table, scope, lambda: table)


def with_unmatched(run: Run, kind: JoinKind, sides: Sides, matched: Source, scope: Scope) -> Source:
    """Add the rows without a partner. Rows that are equal have equal partners, so they are known by their values."""
    quote, pairs = run.session.quote, matched.table()
    name = run.session.add(pairs.frame)
    columns = run.session.names(pairs.frame)

    def alone(side: str, frame: Any, words: str = "NOT EXISTS") -> str:
        own = [column for column in run.session.names(frame) if column not in sides.keys]
        same = " AND ".join(f"p.{quote(c)} IS NOT DISTINCT FROM r.{quote(c)}" for c in own)
        held = {*own, *sides.keys} if side else set(own)
        shown = ", ".join(f"r.{quote(c)}" if c in held else f"NULL AS {quote(c)}" for c in (columns if side else own))
        return (
            f"SELECT {shown} FROM {run.session.add(frame)} AS r WHERE {words} (SELECT 1 FROM {name} AS p WHERE {same})"
        )

    if kind in ("semi", "anti"):
        words = "EXISTS" if kind == "semi" else "NOT EXISTS"
        query = alone("", sides.left, words)
    else:
        parts = [f"SELECT {', '.join(map(quote, columns))} FROM {name}"]
        parts += [alone("left", sides.left)] if kind in ("left", "full") else []
        parts += [alone("right", sides.right)] if kind in ("right", "full") else []
        query = " UNION ALL ".join(parts)
    return result_source(run, run.evaluate(Sql(query)), sides.result(kind), scope)
