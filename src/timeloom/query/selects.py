"""Queries and SELECTs for the engine; what is about time in them has become results of verbs before."""

from timeloom.model.sliding_windows import STEP
from timeloom.query.aggregated import aggregates_in, through_steps
from timeloom.query.by_period import grouped_by_period
from timeloom.query.chains import read_chain
from timeloom.query.coalescing import coalesced
from timeloom.query.items import output_name, select_scope, shifted, write_item
from timeloom.query.picking import picked
from timeloom.query.pieces import Sql, listed
from timeloom.query.scope import Definitions, Scope
from timeloom.query.sources import Source
from timeloom.query.structure import Query, Range, Select
from timeloom.query.writing import Run, write


def write_query(run: Run, query: Query, scope: Scope) -> Sql:
    """Write a query: its definitions first, so that what they need exists, then its parts."""
    definitions = Definitions(scope.definitions, recursive=query.recursive)
    for definition in query.definitions:
        name = definition.name.lower()
        if name in definitions.known:
            raise run.fail(definition.tokens[0], f"{definition.name!r} was defined before; expected each name once")
        if query.recursive:
            definitions.pending.add(name)
        words = write(run, definition.tokens, scope.within(definitions))
        definitions.pending.discard(name)
        definitions.known[name] = words
    inner = scope.within(definitions)
    parts = [
        write_select(run, part, inner, query)
        if isinstance(part, Select)
        else write(run, part, inner, inside=query.tokens[0])
        for part in query.parts
    ]
    if not definitions.known:
        return listed(parts, " ")
    return Sql(
        "WITH RECURSIVE " if query.recursive else "WITH ", listed(definitions.known.values()), " ", listed(parts, " ")
    )


def write_select(run: Run, select: Select, scope: Scope, query: Query, more: "tuple[str, ...]" = ()) -> Sql:
    """Write one SELECT; ``more`` are columns to show besides."""
    if select.coalesced is not None:
        return coalesced(run, select, scope, query, write_select)
    if select.by_period is not None:
        return grouped_by_period(run, select, scope)
    windowed = select.windowed
    if windowed is not None and not select.keys and aggregates_in(run, select):
        return through_steps(run, select, windowed, scope)
    if windowed is not None and select.keys and all(names_step(run, key) for key in select.keys):
        return through_steps(run, select, windowed, scope)
    sources = [read_chain(run, chain, scope) for chain in select.chains]
    inner = select_scope(run, sources, scope)
    step = windowed is not None and query.as_table
    if query is run.statement.body and not query.definitions and len(query.parts) == 1 and not more:
        run.picked = picked(run, select, sources, step=step)
    return _plain_select(run, select, sources, inner, step=step, more=more)


def names_step(run: Run, item: Range) -> bool:
    """Tell the column of steps."""
    return run.tokens[item[1] - 1].text.lower() == STEP and item[1] - item[0] in (1, 3)


def _plain_select(
    run: Run, select: Select, sources: list[Source], scope: Scope, *, step: bool, more: "tuple[str, ...]" = ()
) -> Sql:
    sql = Sql(write(run, select.head, scope, inside=select.head[0]), " ")
    items = [write_item(run, item, sources, scope) for item in select.items]
    added = step and not any(names_step(run, item) or run.tokens[item[0]].kind == "STAR" for item in select.items)
    if added:
        items.insert(0, Sql(run.session.quote(STEP)))
    sql.add(listed([*items, *(run.session.quote(name) for name in more)]))
    if sources:
        sql.add(" FROM ")
        sql.add(listed([source.sql for source in sources]))
    for clause in select.clauses.values():
        sql.add(" ")
        after = _after_items(run, select, scope, clause.name)
        sql.add(write(run, clause.tokens, shifted(run, clause, after, int(added))))
        if clause.name == "GROUP BY" and step:
            sql.add(f", {run.session.quote(STEP)}")
    return sql


def _after_items(run: Run, select: Select, scope: Scope, clause: str) -> Scope:
    """Where results may be named, a name that is one is not ambiguous."""
    if clause not in ("ORDER BY", "GROUP BY", "HAVING", "QUALIFY"):
        return scope
    names = {output_name(run, item).lower() for item in select.items}
    return Scope(scope.definitions, scope.parent, scope.tables, scope.overrides, scope.ambiguous - names)
