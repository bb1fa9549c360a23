"""What follows FROM: tables, and the joins between them, as words for the engine or as results of verbs."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from timeloom.errors import UsageError, did_you_mean
from timeloom.query.inputs import Given
from timeloom.query.pieces import Sql, listed
from timeloom.query.scope import Named, Scope
from timeloom.query.structure import USUAL, Columns, Factor
from timeloom.query.writing import Run, write

Star = tuple[str, str]


@dataclass
class Cells:
    """The columns of one alias within a frame: by name in small letters, the name and the frame's column."""

    alias: str
    period: Columns
    columns: dict[str, tuple[str, str]]
    nullable: bool = False
    declared: int = -1

    def renamed(self, names: dict[str, str]) -> "Cells":
        """The same cells in a frame some of whose columns have other names."""
        columns = {name: (label, names.get(column, column)) for name, (label, column) in self.columns.items()}
        return replace(self, columns=columns)

    def column(self, name: str) -> str | None:
        """The frame's column for a column of the alias."""
        found = self.columns.get(name.lower())
        return None if found is None else found[1]


@dataclass
class Table:
    """A frame, and which of its columns belong to which alias. ``shared`` have a name without an alias."""

    frame: Any
    cells: dict[str, Cells]
    shared: dict[str, tuple[str, str]] = field(default_factory=dict)
    stars: list[Star] = field(default_factory=list)

    def names(self) -> set[str]:
        """All names that the query has for columns, in small letters."""
        return {name for cells in self.cells.values() for name in cells.columns} | set(self.shared)


@dataclass
class Source:
    """A part of FROM: its words, its tables, and the frame behind it if there is one."""

    sql: Sql
    tables: dict[str, Named]
    table: "Callable[[], Table]"
    plain: bool = True
    ready: bool = False
    """True if the frame exists, and nothing has to run for it."""
    stars: "list[Sql] | None" = field(default_factory=list)
    """What ``*`` stands for; None where it cannot be said."""
    nullable: set[str] = field(default_factory=set)
    """Aliases whose rows may be missing, after an outer join."""


def whole_table(frame: Any, labels: list[str], factor: Factor) -> Table:
    """A frame as the table of one alias."""
    columns = {label.lower(): (label, label) for label in labels}
    cells = Cells(factor.alias, factor.period or USUAL, columns, declared=factor.tokens[0])
    return Table(frame, {factor.alias.lower(): cells}, stars=[(label, label) for label in labels])


def aliased_source(run: Run, factor: Factor, scope: Scope, words: Sql) -> Source:
    """The source of a factor that the engine reads."""
    return written_source(run, factor, scope, Sql(words, " ", _alias_words(run, factor, scope)))


def written_source(run: Run, factor: Factor, scope: Scope, sql: Sql) -> Source:
    """A source whose words are given, alias and all."""
    alias = factor.alias.lower()

    def labels() -> list[str]:
        return run.session.columns(with_definitions(run, scope, Sql("SELECT * FROM ", sql)))

    named = Named(factor.alias, factor.period or USUAL, declared=factor.tokens[0], labels=labels)
    if factor.period is not None:
        run.declared.append(factor.tokens[0])
    source = Source(sql, {alias: named} if alias else {}, table=lambda: Table(None, {}))
    source.table = lambda: evaluated(run, source, scope)
    source.stars = [Sql(f"{run.session.quote(factor.alias)}.*")] if alias else None
    return source


def _alias_words(run: Run, factor: Factor, scope: Scope) -> Sql:
    begin, end = factor.alias_tokens
    if begin == end:
        return Sql("AS ", run.session.quote(factor.alias)) if factor.alias and factor.kind == "table" else Sql()
    return write(run, factor.alias_tokens, scope)


def given_frame(run: Run, factor: Factor) -> Any:
    """The frame that was passed under a name."""
    return given_table(run, factor).frame


def given_table(run: Run, factor: Factor) -> Given:
    """What was passed under a name."""
    name = run.tokens[factor.tokens[0]].text
    tables = run.tables
    found = [tables[name]] if name in tables else [tables[key] for key in tables if key.lower() == name.lower()]
    if len(found) == 1:
        return found[0]
    if not tables:
        raise UsageError("no table was given; pass each under its name, as in tl.sql(text, orders=table)")
    raise run.fail(factor.tokens[0], f"there is no table {name!r}. {did_you_mean(name, tables)}")


def frame_of(run: Run, factor: Factor, scope: Scope) -> Any:
    """The frame of a table, or of a query, without what follows it."""
    name = run.tokens[factor.tokens[0]].text
    holder = scope.definitions.holder(name) if factor.kind == "table" else None
    if factor.kind == "table" and holder is None:
        return given_frame(run, factor)
    if holder is not None:
        return defined_frame(run, name, scope, factor.tokens[0])
    inner = Sql("SELECT * FROM ", write(run, factor.tokens, scope), " AS ", run.session.quote("inner"))
    return run.evaluate(with_definitions(run, scope, inner))


def defined_frame(run: Run, name: str, scope: Scope, at: int) -> Any:
    """The frame of a query with a name; from now on it is evaluated no more."""
    holder = scope.definitions.holder(name)
    assert holder is not None
    if name.lower() in holder.pending:
        raise run.fail(at, f"{name!r} is being defined here; temporal joins and windows cannot read it before it is")
    if name.lower() in holder.frames:
        return holder.frames[name.lower()]
    frame = run.evaluate(with_definitions(run, scope, Sql("SELECT * FROM ", run.session.quote(name))))
    holder.frames[name.lower()] = frame
    if run.session.engine == "duckdb":
        kept = run.session.add(frame)
        holder.known[name.lower()] = Sql(f"{run.session.quote(name)} AS (SELECT * FROM {kept})")
    return frame


def with_definitions(run: Run, scope: Scope, sql: Sql) -> Sql:
    """A query with all the definitions that it may name."""
    recursive, known = scope.definitions.visible()
    if not known:
        return sql
    return Sql("WITH RECURSIVE " if recursive else "WITH ", listed(known.values()), " ", sql)


def evaluated(run: Run, source: Source, scope: Scope) -> Table:
    """Run the words of a source, every column under a name of its own."""
    quote, wanted, cells, stars, taken = run.session.quote, list[str](), dict[str, Cells](), list[Star](), set[str]()
    names = [name.lower() for named in source.tables.values() for name in named.names()]
    for alias, named in source.tables.items():
        columns = {}
        for label in named.names():
            plain = names.count(label.lower()) == 1 and label.lower() not in taken
            column = label if plain else run.fresh(f"{named.alias}.{label}")
            taken.add(label.lower())
            value = f"{quote(named.alias)}.{quote(label)}" if named.columns is None else named.columns[label.lower()][1]
            wanted.append(f"{value} AS {quote(column)}")
            columns[label.lower()] = (label, column)
            stars.append((label, column))
        cells[alias] = Cells(named.alias, named.period, columns, alias in source.nullable, named.declared)
    if not wanted:
        raise UsageError("a temporal join needs tables with names; give the query an alias")
    found = run.evaluate(with_definitions(run, scope, Sql("SELECT ", listed(wanted), " FROM ", source.sql)))
    return Table(found, cells, stars=stars)
