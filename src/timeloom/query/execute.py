"""Running a query: the verbs do what follows FROM, and the rows' own operations do the ordinary SQL around it."""

from dataclasses import replace
from typing import Any

from sqlglot import exp

from timeloom.model.sliding_windows import BOUNDS, STEP
from timeloom.query.aggregates import extract
from timeloom.query.clauses import Clauses, Item, SortKey, is_star
from timeloom.query.rows import Rows
from timeloom.query.scope import OUTPUT, Scope, output_column, unused
from timeloom.query.sources import windowed
from timeloom.query.statement import WindowSource


def run(clauses: Clauses, rows: Rows, scope: Scope, windows: WindowSource | None, text: str) -> Rows:
    """Run all clauses in their order."""
    if clauses.where is not None:
        rows = rows.filter(clauses.where, scope)
    if windows is not None:
        rows, scope, clauses = _through_windows(clauses, rows, scope, windows, text)
    elif clauses.aggregated:
        rows, scope, clauses = _grouped(clauses, rows, scope, text)
    if clauses.having is not None:
        rows = rows.filter(clauses.having, scope)
    items = _without_stars(clauses.items, scope)
    if clauses.distinct:
        rows = rows.projected(items, scope).distinct()
        rows = _sorted(rows, [(_shown(key.node, items, scope), key) for key in clauses.order])
    else:
        prefix = unused("order_", rows.columns)
        keys = [(f"{prefix}{at}", key) for at, key in enumerate(clauses.order)]
        rows = _sorted(rows.extended([(name, key.node) for name, key in keys], scope), keys).projected(items, scope)
    return rows.sliced(clauses.offset, clauses.limit) if clauses.offset or clauses.limit is not None else rows


def _through_windows(
    clauses: Clauses, rows: Rows, scope: Scope, windows: WindowSource, text: str
) -> tuple[Rows, Scope, Clauses]:
    """Aggregate by step, in one pass; other groups, and single rows, need the rows of each step."""
    by_step = all(isinstance(key, exp.Column) and key.name.lower() == STEP for key in clauses.keys)
    if clauses.aggregated and by_step:
        clauses, aggregates = extract(clauses, scope, rows.columns)
        rows = rows.extended(aggregates.arguments, scope)
        seen = windowed(windows, rows.frame, aggregates.measures, text)
        _refuse_single_rows(clauses, {STEP, *BOUNDS}, scope)
        return rows.of(seen.frame), seen.scope, _with_step(clauses)
    seen = windowed(windows, rows.frame, None, text)
    rows, scope, clauses = rows.of(seen.frame), seen.scope, _with_step(clauses)
    if not clauses.aggregated:
        return rows, scope, clauses
    return _grouped(replace(clauses, keys=(exp.column(STEP), *clauses.keys)), rows, scope, text)


def _with_step(clauses: Clauses) -> Clauses:
    """Every result says which step it is of."""
    shown = any(
        is_star(node) or (isinstance(node, exp.Column) and node.name.lower() == STEP) for _, node in clauses.items
    )
    return clauses if shown else replace(clauses, items=((STEP, exp.column(STEP)), *clauses.items))


def _grouped(clauses: Clauses, rows: Rows, scope: Scope, text: str) -> tuple[Rows, Scope, Clauses]:
    """Aggregate by the keys; afterwards expressions see the keys and the results only."""

    def resolved(node: Any) -> str:
        """An expression with the output names of its columns, to compare it with a key."""

        def by_output(part: Any) -> Any:
            known = isinstance(part, exp.Column) and not is_star(part)
            return output_column(scope.resolve(part)) if known else part

        return str(node.copy().transform(by_output).sql())

    prefix = unused("key_", rows.columns)
    names = {written: f"{prefix}{at}" for at, written in enumerate(dict.fromkeys(map(resolved, clauses.keys)))}
    keys: list[Item] = [(name, next(k for k in clauses.keys if resolved(k) == at)) for at, name in names.items()]
    clauses, aggregates = extract(clauses, scope, rows.columns)
    rows = rows.extended([*aggregates.arguments, *keys], scope).grouped(list(names.values()), aggregates.measures)

    def as_key(node: Any) -> Any:
        written = resolved(node)
        return output_column(names[written]) if written in names else node

    clauses = clauses.transformed(as_key)
    _refuse_single_rows(clauses, set(), scope)
    return rows, Scope.of(text, "", rows.columns), clauses


def _refuse_single_rows(clauses: Clauses, known: set[str], scope: Scope) -> None:
    """After grouping there are keys and results, and no columns of single rows."""
    for node in clauses.nodes:
        for column in node.find_all(exp.Column, exp.Star):
            if not column.meta.get(OUTPUT) and column.name.lower() not in known:
                raise scope.error(
                    column, f"{column.sql()!r} is neither aggregated nor in GROUP BY; expected one of the two"
                )


def _sorted(rows: Rows, keys: "list[tuple[str, SortKey]]") -> Rows:
    return rows.sorted([(name, key.descending, key.nulls_first) for name, key in keys]) if keys else rows


def _shown(node: Any, items: list[Item], scope: Scope) -> str:
    """The result column that shows an expression."""
    for name, shown in items:
        if shown.sql() == node.sql() or (isinstance(node, exp.Column) and node.name == name):
            return name
    raise scope.error(node, f"with DISTINCT, ORDER BY needs a result; {node.sql()} is none")


def _without_stars(items: tuple[Item, ...], scope: Scope) -> list[Item]:
    expanded: list[Item] = []
    for name, node in items:
        if is_star(node):
            expanded += [(column, output_column(output)) for column, output in scope.starred(node)]
        else:
            expanded.append((name, node))
    names = [name for name, _ in expanded]
    for name, node in expanded:
        if names.count(name) > 1:
            raise scope.error(node, f"two results are called {name!r}; name the columns, and give one an alias with AS")
    return expanded
