"""``GROUP BY PERIOD``: aggregates over time."""

from timeloom.errors import TimeloomError
from timeloom.operators.temporal_aggregate import temporal_aggregate
from timeloom.query.aggregated import (
    SINGLE,
    clauses_after,
    extract,
    outer_scope,
    prepared,
    refuse_single,
    shown_results,
)
from timeloom.query.chains import read_chain
from timeloom.query.items import alias_of, select_scope, without_alias
from timeloom.query.pieces import Sql, listed
from timeloom.query.scope import Named, Scope
from timeloom.query.structure import USUAL, Columns, PeriodOf, Range, Select
from timeloom.query.writing import Run, write


def grouped_by_period(run: Run, select: Select, scope: Scope) -> Sql:
    """Aggregates over time: one row for each period in which the same rows are valid."""
    sources = [read_chain(run, chain, scope) for chain in select.chains]
    inner = select_scope(run, sources, scope)
    if not sources:
        raise run.fail(select.tokens[0], "GROUP BY PERIOD needs a table")
    start, end = _period_words(run, select.by_period, inner, select)
    found = extract(run, select, inner, {}, "by periods")
    keys, outer_keys, labels = _keys(run, select, inner)
    words = listed([source.sql for source in sources])
    quote = run.session.quote
    names = _period_names(run, select, inner)
    chosen = [f"{start} AS {quote(names[0])}", f"{end} AS {quote(names[1])}"]
    chosen += [f"{value} AS {quote(name)}" for name, value in keys.items()]
    frame = prepared(run, select, inner, words, chosen, found)
    run.notes.append({"verb": "temporal_aggregate", "aggregates": found.measures, "by": list(keys)})
    try:
        result = temporal_aggregate(frame, found.measures, by=list(keys) or None, period=names)
    except TimeloomError as error:
        raise run.located(select.clauses["GROUP BY"].tokens[0], error) from error
    own = {name.lower(): (name, quote(name)) for name in names}
    tables = {}
    for alias, named in inner.tables.items():
        tables[alias] = Named(named.alias, columns={**own, **labels.get(alias, {}), **labels[""]}, missing=SINGLE)
    outer = outer_scope(run, scope, found, tables)
    outer.overrides |= {at: (stop, Sql(quote(name))) for at, (stop, name) in outer_keys.items()}
    known = {*names, *(name for each in labels.values() for name in each)}
    refuse_single(run, select, outer, {name for named in inner.tables.values() for name in named.names()}, known)
    return shown_results(run, select, outer, run.session.add(result), list(names), names)


def _period_words(run: Run, period: "Columns | PeriodOf | None", scope: Scope, select: Select) -> tuple[str, str]:
    if isinstance(period, PeriodOf):
        alias = run.tokens[period.alias].text
        named = scope.find(alias)
        if named is None:
            raise run.fail(period.alias, f"there is no table {alias!r} here")
    elif len(scope.tables) == 1 and period == USUAL:
        named = next(iter(scope.tables.values()))
    else:
        named = None
    if named is None:
        assert not isinstance(period, PeriodOf)
        assert period is not None
        return run.session.quote(period[0]), run.session.quote(period[1])
    run.used.add(named.declared)
    if named.columns is None:
        first, second = (f"{run.session.quote(named.alias)}.{run.session.quote(name)}" for name in named.period)
        return first, second
    return named.columns[named.period[0].lower()][1], named.columns[named.period[1].lower()][1]


def _period_names(run: Run, select: Select, scope: Scope) -> Columns:
    period = select.by_period
    if isinstance(period, PeriodOf):
        named = scope.find(run.tokens[period.alias].text)
        return named.period if named is not None else USUAL
    alone = next(iter(scope.tables.values())) if len(scope.tables) == 1 else None
    return alone.period if alone is not None and period == USUAL else period or USUAL


def _keys(
    run: Run, select: Select, scope: Scope
) -> tuple[dict[str, str], dict[int, tuple[int, str]], dict[str, dict[str, tuple[str, str]]]]:
    """Keys by their column: the expression of each, where else it stands in the query, and columns by their alias."""
    keys: dict[str, str] = {}
    spans: dict[int, tuple[int, str]] = {}
    labels: dict[str, dict[str, tuple[str, str]]] = {"": {}}
    aliases = {name.lower(): item for item in select.items if (name := alias_of(run, item)) is not None}
    for key in select.keys:
        tokens = run.tokens[slice(*key)]
        if len(tokens) == 1 and tokens[0].kind == "NUMBER":
            key = _ordinal(run, select, key)
        elif len(tokens) == 1 and tokens[0].text.lower() in aliases and not _is_column(scope, tokens[0].text):
            key = without_alias(run, aliases[tokens[0].text.lower()])
        words = str(write(run, key, scope))
        last = run.tokens[key[1] - 1]
        column = last.is_name and key[1] - key[0] in (1, 3)
        name = last.text if column and last.text not in keys else run.fresh()
        keys[name] = words
        if column:
            alias = run.tokens[key[0]].text.lower() if key[1] - key[0] == 3 else ""
            labels.setdefault(alias, {})[last.text.lower()] = (last.text, run.session.quote(name))
        else:
            for item in [*select.items, *clauses_after(select)]:
                spans |= {at: (at + key[1] - key[0], name) for at in _same(run, key, item)}
    return keys, spans, labels


def _is_column(scope: Scope, name: str) -> bool:
    return any(name.lower() in (label.lower() for label in named.names()) for named in scope.tables.values())


def _ordinal(run: Run, select: Select, key: Range) -> Range:
    number = int(run.tokens[key[0]].text) if run.tokens[key[0]].text.isdigit() else 0
    if not 1 <= number <= len(select.items):
        raise run.fail(key[0], f"there is no column {number} in the select list of {len(select.items)}")
    return without_alias(run, select.items[number - 1])


def _same(run: Run, key: Range, item: Range) -> list[int]:
    """Where the words of a key stand in an item."""
    words = [(token.kind, token.text.lower()) for token in run.tokens[slice(*key)]]
    size = len(words)
    return [
        at
        for at in range(item[0], item[1] - size + 1)
        if [(token.kind, token.text.lower()) for token in run.tokens[at : at + size]] == words
    ]
