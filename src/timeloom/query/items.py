"""The select list: what its items are called, and which tables they may name."""

from timeloom.query.cursor import ends_operand
from timeloom.query.pieces import Sql, listed
from timeloom.query.scope import Scope
from timeloom.query.sources import Source
from timeloom.query.structure import Clause, Range
from timeloom.query.text import whole_number
from timeloom.query.writing import Run, is_reference, write


def select_scope(run: Run, sources: list[Source], scope: Scope) -> Scope:
    """The scope of the tables of a SELECT."""
    inner = Scope(scope.definitions, scope)
    for source in sources:
        for alias, named in source.tables.items():
            if alias in inner.tables:
                raise run.fail(0, f"two tables are called {named.alias!r}; give one of them an alias")
            inner.tables[alias] = named
    known = [named for named in inner.tables.values() if named.columns is not None]
    for named in known:
        for name in named.columns or {}:
            several = sum(name in (other.columns or {}) for other in known) > 1
            if several and not any(name in other.shared for other in known):
                inner.ambiguous.add(name)
    return inner


def shifted(run: Run, clause: Clause, scope: Scope, by: int) -> Scope:
    """A scope in which numbers of results count those of the query only, though others are shown before them."""
    overrides = dict(scope.overrides)
    for begin, end in clause.parts if by and clause.name in ("ORDER BY", "GROUP BY") else ():
        token = run.tokens[begin]
        alone = end - begin == 1 or run.tokens[begin + 1].word in ("ASC", "DESC", "NULLS")
        number = whole_number(token.text) if token.kind == "NUMBER" and alone else None
        if number is not None:
            overrides[begin] = (begin + 1, Sql(str(number + by)))
    return Scope(scope.definitions, scope.parent, scope.tables, overrides, scope.ambiguous)


def alias_of(run: Run, item: Range) -> str | None:
    """The name that an item is given, with AS or without."""
    begin, end = item
    tokens = run.tokens
    if end - begin < 2 or not tokens[end - 1].is_name:
        return None
    before = tokens[end - 2]
    if before.kind == "ALIAS":
        return tokens[end - 1].text
    plain = tokens[end - 1].kind in ("VAR", "IDENTIFIER") or (
        tokens[end - 1].kind == "END" and not _has_case(run, item)
    )
    return tokens[end - 1].text if plain and ends_operand(before) and tokens[end - 1].word not in ("NULL",) else None


def _has_case(run: Run, item: Range) -> bool:
    return any(token.word == "CASE" for token in run.tokens[slice(*item)])


def without_alias(run: Run, item: Range) -> Range:
    """The expression of an item."""
    if alias_of(run, item) is None:
        return item
    return item[0], item[1] - (2 if run.tokens[item[1] - 2].kind == "ALIAS" else 1)


def output_name(run: Run, item: Range) -> str:
    """The name of a result: its alias, its column, or its words."""
    alias = alias_of(run, item)
    if alias is not None:
        return alias
    last = run.tokens[item[1] - 1]
    if last.is_name and (item[1] - item[0] == 1 or (item[1] - item[0] == 3 and is_reference(run.tokens, item[0]))):
        return last.text
    return " ".join(run.text[run.tokens[item[0]].start : last.end].split()).lower()


def write_item(run: Run, item: Range, sources: list[Source], scope: Scope) -> Sql:
    """Write an item of the select list; one that we had to change keeps the name that it would have had."""
    first = run.tokens[item[0]]
    if first.kind == "STAR" and any(not source.plain for source in sources):
        stars = [star for source in sources for star in (source.stars or [])]
        if item[1] - item[0] > 1 or any(source.stars is None for source in sources):
            raise run.fail(item[0], "found a star that cannot be written out here; name the columns")
        return listed(stars)
    sql = write(run, item, scope)
    star = run.tokens[item[1] - 1].kind == "STAR" and is_reference(run.tokens, item[0])
    if sql.own and alias_of(run, item) is None and not star:
        sql.add(f" AS {run.session.quote(output_name(run, item))}")
    return sql
