"""What follows FROM: factors, and the joins between them, by a verb or by the engine."""

from collections.abc import Callable
from typing import Any

from timeloom.query.joins import join_by_time
from timeloom.query.latest import join_latest
from timeloom.query.pieces import Sql
from timeloom.query.scope import Scope
from timeloom.query.sources import Source, Table, aliased_source, evaluated, frame_of, given_frame, whole_table
from timeloom.query.structure import Chain, Factor, Join
from timeloom.query.times import at_times
from timeloom.query.windows import window_rows
from timeloom.query.writing import Run, write

_ENGINE_KINDS = {"semi": "SEMI JOIN", "anti": "ANTI JOIN"}


def read_chain(run: Run, chain: Chain, scope: Scope) -> Source:
    """A factor and its joins."""
    source = read_factor(run, chain.first, scope)
    for join in chain.joins:
        right = read_factor(run, join.right, scope)
        for alias in right.tables:
            if alias in source.tables and alias:
                named = right.tables[alias].alias
                raise run.fail(join.right.tokens[0], f"two tables are called {named!r}; give one of them an alias")
        by_time = join_by_time(run, source, join, right, scope) or join_latest(run, source, join, right, scope)
        source = by_time or _plain_join(run, source, join, right, scope)
    return source


def read_factor(run: Run, factor: Factor, scope: Scope) -> Source:
    """A table, with its windows or versions; a query; joins in parentheses."""
    if factor.chain is not None:
        inner = read_chain(run, factor.chain, scope)
        inner.sql = Sql("(", inner.sql, ")")
        if factor.alias_tokens[0] != factor.alias_tokens[1] or factor.period:
            raise run.fail(factor.alias_tokens[0], "joins in parentheses take no name here; name the tables within")
        return inner
    if factor.windows is not None:
        return _source(run, factor, scope, lambda: window_rows(run, factor, frame_of(run, factor, scope)))
    if factor.times:
        return at_times(run, factor, scope)
    if factor.kind == "table" and not scope.definitions.holder(run.tokens[factor.tokens[0]].text):
        return _source(run, factor, scope, lambda: given_frame(run, factor))
    source = aliased_source(run, factor, scope, write(run, factor.tokens, scope))
    if factor.kind == "table" and _keeps_columns(run, factor):
        source.table = lambda: _defined_table(run, factor, scope)
        holder = scope.definitions.holder(run.tokens[factor.tokens[0]].text)
        if holder is not None and run.tokens[factor.tokens[0]].text.lower() in holder.pending:
            source.tables[factor.alias.lower()].labels = lambda: run.session.names(frame_of(run, factor, scope))
    return source


def _defined_table(run: Run, factor: Factor, scope: Scope) -> Table:
    frame = frame_of(run, factor, scope)
    return whole_table(frame, run.session.names(frame), factor)


def _keeps_columns(run: Run, factor: Factor) -> bool:
    """Tell whether an alias renames no columns."""
    begin, end = factor.alias_tokens
    return begin == end or run.tokens[end - 1].kind != "R_PAREN"


def _source(run: Run, factor: Factor, scope: Scope, frame: Callable[[], Any]) -> Source:
    """The source of a factor that is a frame."""
    found = frame()
    name = run.registered.setdefault(_identity(run, factor), "") if factor.windows is None else ""
    if not name:
        name = run.session.add(found)
        if factor.windows is None:
            run.registered[_identity(run, factor)] = name
    source = aliased_source(run, factor, scope, Sql(name))
    if _keeps_columns(run, factor):
        labels = run.session.names(found)
        source.tables[factor.alias.lower()].labels = lambda: labels
        source.table = lambda: whole_table(found, labels, factor)
        source.ready = True
    return source


def _identity(run: Run, factor: Factor) -> str:
    return run.tokens[factor.tokens[0]].text.lower()


def _plain_join(run: Run, left: Source, join: Join, right: Source, scope: Scope) -> Source:
    """A join that the engine makes."""
    if join.style == "temporal":
        raise run.fail(join.tokens[0], "a TEMPORAL join has keys only: USING (…), or ON with columns that are equal")
    tables = {**left.tables, **right.tables}
    inner = Scope(scope.definitions, scope, tables)
    words = write(run, join.tokens, scope)
    if join.kind in _ENGINE_KINDS:
        words = Sql(f"LEFT {_ENGINE_KINDS[join.kind]}" if run.session.engine == "spark" else _ENGINE_KINDS[join.kind])
    sql = Sql(left.sql, " ", words, " ", right.sql)
    if join.on is not None:
        sql.add(" ON ")
        sql.add(write(run, join.on, inner))
    if join.using is not None:
        sql.add(" USING ")
        sql.add(write(run, join.using, scope))
    keeps = join.kind in ("semi", "anti")
    merged = join.using is not None or join.style == "natural"
    stars = None if merged or left.stars is None or right.stars is None else [*left.stars, *right.stars]
    source = Source(sql, left.tables if keeps else tables, left.table, left.plain and right.plain)
    source.stars = left.stars if keeps else stars
    source.nullable = _nullable(left, join, right)
    source.table = lambda: evaluated(run, source, scope)
    return source


def _nullable(left: Source, join: Join, right: Source) -> set[str]:
    missing = set(left.nullable) | set(right.nullable)
    missing |= set(right.tables) if join.kind in ("left", "full") else set()
    return missing | (set(left.tables) if join.kind in ("right", "full") else set())
