"""Aggregates by step and by period: found in the select list, computed by a verb, and put back as columns."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from timeloom.bitemporal.index import BitemporalIndex
from timeloom.model.aggregates import AGGREGATES
from timeloom.model.sliding_windows import BOUNDS, STEP
from timeloom.query.items import alias_of, output_name, shifted, without_alias, write_item
from timeloom.query.pieces import Sql, listed
from timeloom.query.scope import Named, Scope
from timeloom.query.sources import frame_of, given_table, with_definitions
from timeloom.query.structure import Factor, Range, Select
from timeloom.query.windows import steps_of_index, through_windows
from timeloom.query.writing import Run, stands_alone, write

FUNCTIONS = {
    form.removesuffix("({})").upper(): record.name
    for record in AGGREGATES.values()
    for form in record.sql
    if form.endswith("({})")
}
"""Aggregates of SQL that verbs compute."""

_DISTINCT = next(record.name for record in AGGREGATES.values() if "count(distinct {})" in record.sql)

_KNOWN = {
    name for name, kind in exp.FUNCTION_BY_NAME.items() if isinstance(kind, type) and issubclass(kind, exp.AggFunc)
}
"""All aggregates that SQL has, as far as anybody knows."""


@dataclass
class Aggregates:
    """The aggregates of a SELECT: what to compute before, the measures, and the tokens that they take the place of."""

    arguments: dict[str, str] = field(default_factory=dict)
    """Column to expression, in the words of the engine."""
    measures: dict[str, Any] = field(default_factory=dict)
    spans: dict[int, tuple[int, str]] = field(default_factory=dict)


def aggregates_in(run: Run, select: Select) -> list[int]:
    """Where aggregates stand in the results, conditions on groups, and order of a SELECT; not within other queries."""
    ranges = [
        *select.items,
        *(clause.tokens for name, clause in select.clauses.items() if name in ("HAVING", "ORDER BY")),
    ]
    return [at for begin, end in ranges for at in _calls(run, begin, end)]


def _calls(run: Run, begin: int, end: int) -> list[int]:
    found, at = [], begin
    while at < end:
        query = run.statement.queries.get(at)
        if query is not None:
            at = query.tokens[1]
            continue
        token = run.tokens[at]
        called = token.kind != "IDENTIFIER" and run.tokens[at + 1].kind == "L_PAREN"
        if called and (token.word in _KNOWN or token.word in FUNCTIONS):
            closing = _closing(run, at + 1)
            if run.tokens[closing + 1].word != "OVER":
                found.append(at)
                at = closing
        at += 1
    return found


def _closing(run: Run, opening: int) -> int:
    depth = 0
    for at in range(opening, len(run.tokens)):
        depth += (run.tokens[at].kind == "L_PAREN") - (run.tokens[at].kind == "R_PAREN")
        if depth == 0:
            return at
    raise run.fail(opening, "a parenthesis is opened here and never closed")


def extract(run: Run, select: Select, scope: Scope, columns: "dict[str, str]", around: str) -> Aggregates:
    """Read the aggregates of a SELECT; ``columns`` are those of the frame itself, which need no computing."""
    found, known = Aggregates(), dict[str, str]()
    for at in aggregates_in(run, select):
        closing = _closing(run, at + 1)
        function, argument = _read(run, at, closing, around)
        words = "" if argument is None else str(write(run, argument, scope))
        key = f"{function} {words}"
        if key not in known:
            known[key] = run.fresh()
            found.measures[known[key]] = _measure(run, found, function, argument, words, columns)
        found.spans[at] = (closing + 1, known[key])
    return found


def _measure(
    run: Run, found: Aggregates, function: str, argument: Range | None, words: str, columns: "dict[str, str]"
) -> Any:
    if argument is None:
        return "count"
    only = run.tokens[argument[1] - 1]
    if argument[1] - argument[0] in (1, 3) and only.is_name and only.text.lower() in columns:
        return columns[only.text.lower()], function
    same = next((name for name, known in found.arguments.items() if known == words), None)
    name = same or run.fresh()
    found.arguments[name] = words
    return name, function


def _read(run: Run, at: int, closing: int, around: str) -> tuple[str, Range | None]:
    """The function, and the tokens of its argument; None for a count of rows."""
    tokens, begin = run.tokens, at + 2
    name = tokens[at].word
    after = tokens[closing + 1].word
    if name not in FUNCTIONS or after in ("FILTER", "WITHIN", "IGNORE", "RESPECT"):
        shown = f"{name} … {after}" if name in FUNCTIONS else name
        raise run.fail(at, f"{shown} is not computed {around}; expected {', '.join(FUNCTIONS)}; {_OTHERS}")
    function = FUNCTIONS[name]
    if begin == closing or (closing - begin == 1 and tokens[begin].kind == "STAR"):
        if function != "count":
            raise run.fail(at, f"{name} needs an argument")
        return "count", None
    if function == "count" and closing - begin == 1 and tokens[begin].kind == "NUMBER":
        return "count", None
    if tokens[begin].word == "DISTINCT":
        if function != "count":
            raise run.fail(
                at, f"{name}(DISTINCT …) is not computed {around}; expected COUNT(DISTINCT column); {_OTHERS}"
            )
        function, begin = _DISTINCT, begin + 1
    _refuse_more(run, name, begin, closing, at, around)
    return function, (begin, closing)


def _refuse_more(run: Run, name: str, begin: int, closing: int, at: int, around: str) -> None:
    if _calls(run, begin, closing):
        raise run.fail(at, f"{name} nests aggregates; expected an expression over columns")
    depth = 0
    for position in range(begin, closing):
        token = run.tokens[position]
        depth += (token.kind in ("L_PAREN", "L_BRACKET")) - (token.kind in ("R_PAREN", "R_BRACKET"))
        if depth == 0 and (token.kind == "COMMA" or token.word == "ORDER BY"):
            raise run.fail(position, f"{name} takes one argument {around}; {_OTHERS}")


_OTHERS = "for others select the rows in a subquery, and aggregate around it"


def through_steps(run: Run, select: Select, factor: Factor, scope: Scope) -> Sql:
    """Aggregates of windows, in one pass: one row a step, also where a window is empty."""
    assert factor.windows is not None
    index = _index(run, factor, scope)
    frame = frame_of(run, factor, scope) if index is None else None
    labels = run.session.names(frame if index is None else index.rows([]))
    named = Named(factor.alias, labels=lambda: labels)
    inner = Scope(scope.definitions, scope, {factor.alias.lower(): named})
    found = extract(run, select, inner, {label.lower(): label for label in labels}, "by windows")
    whole = not found.arguments and "WHERE" not in select.clauses
    result = None
    if index is not None and not found.arguments:
        where = select.clauses.get("WHERE")
        result = steps_of_index(run, factor, index, found.measures, None if where is None else where.tokens)
        whole = whole or result is not None
    if result is None and frame is None:
        frame = frame_of(run, factor, scope)
    if not whole:
        windows = factor.windows
        needed = {name.lower() for name in (*windows.sys_period, *windows.app_period)}
        needed |= {measure[0].lower() for measure in found.measures.values() if measure != "count"}
        kept = [label for label in labels if label.lower() in needed]
        words = Sql(run.session.add(frame), f" AS {run.session.quote(factor.alias)}")
        frame = prepared(run, select, inner, words, [f"{run.session.quote(label)}" for label in kept], found)
    result = through_windows(run, factor, frame, found.measures) if result is None else result
    columns = {name: (name, run.session.quote(name)) for name in (STEP, *BOUNDS)}
    outer = outer_scope(run, scope, found, {factor.alias.lower(): Named(factor.alias, columns=columns, missing=SINGLE)})
    refuse_single(run, select, outer, set(labels), {STEP, *BOUNDS})
    return shown_results(run, select, outer, run.session.add(result), [STEP], (STEP, *BOUNDS))


def _index(run: Run, factor: Factor, scope: Scope) -> BitemporalIndex | None:
    """The index behind a table with windows, if it has one."""
    named = factor.kind == "table" and scope.definitions.holder(run.tokens[factor.tokens[0]].text) is None
    return given_table(run, factor).index if named else None


SINGLE = "{written!r} is neither aggregated nor in GROUP BY; expected one of the two"


def clauses_after(select: Select) -> list[Range]:
    """The clauses that see the results of aggregates."""
    return [clause.tokens for name, clause in select.clauses.items() if name in ("HAVING", "ORDER BY")]


def refuse_single(run: Run, select: Select, scope: Scope, labels: set[str], known: set[str]) -> None:
    """Refuse columns of single rows beside aggregates, and name them."""
    small, own = {label.lower() for label in labels}, {name.lower() for name in known}
    own |= {alias.lower() for item in select.items if (alias := alias_of(run, item)) is not None}
    for begin, end in [*(without_alias(run, item) for item in select.items), *clauses_after(select)]:
        at = begin
        while at < end:
            query = run.statement.queries.get(at)
            if at in scope.overrides or query is not None:
                at = scope.overrides[at][0] if at in scope.overrides else query.tokens[1]  # type: ignore[union-attr]
                continue
            token = run.tokens[at]
            if token.is_name and token.text.lower() in small - own and stands_alone(run.tokens, at):
                raise run.fail(at, SINGLE.format(written=token.text))
            at += 1


def prepared(run: Run, select: Select, scope: Scope, words: Sql, chosen: list[str], found: Aggregates) -> Any:
    """The rows to aggregate, with the arguments of aggregates as columns."""
    quote = run.session.quote
    columns = [*chosen, *(f"({value}) AS {quote(name)}" for name, value in found.arguments.items())]
    sql = Sql("SELECT ", listed(columns), " FROM ", words)
    if "WHERE" in select.clauses:
        sql.add(" ")
        sql.add(write(run, select.clauses["WHERE"].tokens, scope))
    return run.evaluate(with_definitions(run, scope, sql))


def outer_scope(run: Run, scope: Scope, found: Aggregates, tables: dict[str, Named]) -> Scope:
    """The scope in which aggregates are columns."""
    outer = Scope(scope.definitions, scope, tables)
    outer.overrides = {at: (end, Sql(run.session.quote(name))) for at, (end, name) in found.spans.items()}
    return outer


def shown_results(run: Run, select: Select, scope: Scope, name: str, first: list[str], own: "tuple[str, ...]") -> Sql:
    """SELECT over the results of a verb; what tells them apart is always shown."""
    quote = run.session.quote
    for item in select.items:
        if run.tokens[item[0]].kind == "STAR":
            raise run.fail(item[0], "found a star beside aggregates; name the columns")
    shown = {output_name(run, item).lower() for item in select.items}
    named = {run.tokens[without_alias(run, item)[1] - 1].text.lower() for item in select.items}
    items = [Sql(quote(column)) for column in first if column.lower() not in shown | named]
    before = len(items)
    items += [write_item(run, item, [], scope) for item in select.items]
    sql = Sql(write(run, select.head, scope, inside=select.head[0]), " ", listed(items), f" FROM {name}")
    aliases = {alias.lower(): item for item in select.items if (alias := alias_of(run, item)) is not None}
    for clause in select.clauses.values():
        if clause.name in ("WHERE", "GROUP BY"):
            continue
        sql.add(" ")
        if clause.name == "HAVING":
            begin, end = clause.tokens
            behind = _behind(run, scope, aliases, {*(column.lower() for column in own)})
            sql.add(Sql("WHERE ", write(run, (begin + 1, end), behind((begin + 1, end)))))
        else:
            sql.add(write(run, clause.tokens, shifted(run, clause, scope, before)))
    return sql


def _behind(run: Run, scope: Scope, aliases: dict[str, Range], own: set[str]) -> Callable[[Range], Scope]:
    """A scope in which names of results stand for their expressions."""

    def scoped(tokens: Range) -> Scope:
        overrides = dict(scope.overrides)
        for at in range(*tokens):
            name = run.tokens[at].text.lower()
            alone = run.tokens[at - 1].kind != "DOT" and run.tokens[at + 1].kind not in ("DOT", "L_PAREN")
            if name in aliases and name not in own and alone and at not in overrides and run.tokens[at].is_name:
                words = write(run, without_alias(run, aliases[name]), scope)
                overrides[at] = (at + 1, Sql("(", words, ")"))
        return Scope(scope.definitions, scope.parent, scope.tables, overrides, scope.ambiguous)

    return scoped
