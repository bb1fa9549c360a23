"""From the tokens of a query to the words that an engine reads: all as it is written, except what is about time."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from timeloom.errors import TimeloomError, did_you_mean
from timeloom.query.comparisons import containing, related
from timeloom.query.cursor import ends_operand
from timeloom.query.inputs import Given
from timeloom.query.pieces import Sql, listed
from timeloom.query.scope import Named, Scope
from timeloom.query.session import Session
from timeloom.query.structure import Instant, PeriodOf, PeriodValue, Predicate, Query, Range, Statement
from timeloom.query.text import Token, error_at

MOMENTS: dict[str, dict[str, str]] = {
    "NOW": {},
    "CURRENT_TIMESTAMP": {},
    "LOCALTIMESTAMP": {"duckdb": "LOCALTIMESTAMP", "spark": "localtimestamp()"},
}
"""The present instant: what it may be called, with or without parentheses, and how an engine calls it."""


@dataclass
class Run:
    """A query on its way to an answer."""

    text: str
    tokens: list[Token]
    statement: Statement
    tables: dict[str, Given]
    session: Session
    write_query: Callable[["Run", Query, Scope], Sql]
    prefix: str = "timeloom_"
    """No name in the query or its tables begins so."""
    aliases: int = 0
    notes: list[dict[str, Any]] = field(default_factory=list)
    """The verbs that were called, for whoever wants the plan."""
    asked: list[str] = field(default_factory=list)
    """What the engine was asked on the way, for the same."""
    registered: dict[str, str] = field(default_factory=dict)
    declared: list[int] = field(default_factory=list)
    """Tables after which a period is named, and those whose period was asked for."""
    used: set[int] = field(default_factory=set)
    labels: dict[str, str] = field(default_factory=dict)
    """Our own names for columns, and what the query calls them."""
    picked: Any = None
    """The frame and its columns that are the answer, if the engine has nothing to do."""
    words: set[str] = field(default_factory=set)
    """All names in the text, in small letters."""
    everything: bool = False
    """True if a star asks for columns that no word names."""

    def fail(self, at: int, message: str) -> Exception:
        """An error about a token."""
        return error_at(self.text, self.tokens[at].start, message)

    def located(self, at: int, error: TimeloomError) -> TimeloomError:
        """An error of a verb, at the words that called it, in the query's own names; of the same kind as before."""
        if "\n" in str(error):
            return error
        words = str(error)
        for name, label in self.labels.items():
            words = re.sub(rf"\b{re.escape(name)}\b", label.replace("\\", r"\\"), words)
        return type(error)(str(self.fail(at, words)))

    def evaluate(self, sql: Sql) -> Any:
        """Run a part of the query, for a verb."""
        self.asked.append(str(sql))
        return self.session.run(sql)

    def fresh(self, label: str = "") -> str:
        """A name for a column that no other has; ``label`` is what the query calls it."""
        self.aliases += 1
        name = f"{self.prefix}column_{self.aliases}"
        if label:
            self.labels[name] = label
        return name

    def mentions(self, column: str) -> bool:
        """Tell whether the query may need a column."""
        return self.everything or column.lower() in self.words


def write(run: Run, tokens: Range, scope: Scope, *, inside: int = -1) -> Sql:
    """Write a range of tokens; ``inside`` is where the query begins that is being written already."""
    sql, at = Sql(), tokens[0]
    cases: list[int] = []
    while at < tokens[1]:
        if at > tokens[0]:
            gap = run.text[run.tokens[at - 1].end : run.tokens[at].start]
            sql.add(gap if not gap.strip() else " ", run.tokens[at - 1].end)
        at = _write_one(run, at, scope, sql, cases, inside)
    return sql


def _write_one(run: Run, at: int, scope: Scope, sql: Sql, cases: list[int], inside: int) -> int:
    """Write what stands at a token, and return where it ends."""
    token = run.tokens[at]
    override = scope.overrides.get(at)
    if override is not None:
        sql.add(override[1])
        return override[0]
    if at in run.statement.queries and at != inside:
        query = run.statement.queries[at]
        sql.add(run.write_query(run, query, scope))
        return query.tokens[1]
    if at in run.statement.predicates:
        predicate = run.statement.predicates[at]
        sql.add(compared(run, predicate, scope))
        return predicate.tokens[1]
    if is_reference(run.tokens, at):
        return _write_reference(run, at, scope, sql)
    before = run.tokens[at - 1] if at else token
    if token.word == "CASE":
        cases.append(at)
    if token.kind == "END" and cases and ends_operand(before) and before.kind != "DOT":
        cases.pop()
        sql.add(token.text, token.start)
    elif token.word in MOMENTS and _is_moment(run, at):
        sql.add(MOMENTS[token.word].get(run.session.engine, "CURRENT_TIMESTAMP"), token.start)
        return at + (3 if run.tokens[at + 1].kind == "L_PAREN" else 1)
    elif token.word == "AT" and run.tokens[at + 1].word != "TIME" and run.tokens[at + 1].kind != "L_PAREN":
        _refuse_ambiguous(run, at, scope)
        sql.add(run.session.quote(token.text), token.start)
    else:
        _refuse_ambiguous(run, at, scope)
        sql.add(written(run, token), token.start)
    return at + 1


def written(run: Run, token: Token) -> str:
    """A token for the engine: names and texts in its own quotes, the rest as it is."""
    if token.kind in ("IDENTIFIER", "END"):
        return run.session.quote(token.text)
    if token.kind == "STRING":
        return run.session.text(token.text)
    return run.session.plain(run.text[token.start : token.end])


def is_reference(tokens: list[Token], at: int) -> bool:
    """Tell ``alias.column`` and ``alias.*``."""
    if at and tokens[at - 1].kind == "DOT":
        return False
    after = tokens[at + 2] if at + 2 < len(tokens) else None
    dotted = tokens[at].is_name and tokens[at + 1].kind == "DOT"
    return dotted and after is not None and (after.is_name or after.kind == "STAR")


def _write_reference(run: Run, at: int, scope: Scope, sql: Sql) -> int:
    named, column = scope.find(run.tokens[at].text), run.tokens[at + 2]
    if named is None or named.columns is None:
        for position in range(at, at + 3):
            sql.add(written(run, run.tokens[position]), run.tokens[position].start)
    elif column.kind == "STAR":
        sql.add(starred(run, ((name, value) for name, value in named.columns.values())))
    else:
        sql.add(column_of(run, named, at))
    return at + 3


def starred(run: Run, columns: "Iterable[tuple[str, str]]") -> Sql:
    """Columns under their names."""
    return listed(f"{value} AS {run.session.quote(name)}" for name, value in columns)


def column_of(run: Run, named: Named, at: int) -> str:
    """The expression for ``alias.column``."""
    assert named.columns is not None
    column = run.tokens[at + 2].text
    found = named.columns.get(column.lower())
    if found is None:
        written = f"{named.alias}.{column}"
        hint = did_you_mean(written, [f"{named.alias}.{name}" for name in named.names()])
        raise run.fail(at, named.missing.format(written=written, hint=hint))
    return found[1]


def stands_alone(tokens: list[Token], at: int) -> bool:
    """Tell an operand by its position: no operand before it, no call and no dot around it."""
    before, after = tokens[at - 1], tokens[at + 1]
    return not ends_operand(before) and before.kind not in ("DOT", "ALIAS") and after.kind not in ("L_PAREN", "DOT")


def _is_moment(run: Run, at: int) -> bool:
    """Tell the present instant from a column or a function of that name."""
    before, after = run.tokens[at - 1], run.tokens[at + 1]
    if after.kind == "L_PAREN":
        return before.kind != "DOT" and run.tokens[at + 2].kind == "R_PAREN"
    predicates = run.statement.predicates.values()
    compared = any(isinstance(one.right, Instant) and one.right.value[0] == at for one in predicates)
    return stands_alone(run.tokens, at) or (compared and after.kind != "DOT")


def _refuse_ambiguous(run: Run, at: int, scope: Scope) -> None:
    token = run.tokens[at]
    if token.is_name and token.text.lower() in scope.ambiguous and stands_alone(run.tokens, at):
        owners = [t for t in scope.tables.values() if t.columns and token.text.lower() in t.columns]
        ways = " or ".join(f"{named.alias}.{token.text}" for named in owners)
        raise run.fail(at, f"column {token.text!r} may mean more than one; write {ways}")


def compared(run: Run, predicate: Predicate, scope: Scope) -> Sql:
    """A predicate on periods as comparisons."""
    left = _ends(run, predicate.left, scope)
    if isinstance(predicate.right, Instant):
        return containing(left, Sql("(", write(run, predicate.right.value, scope), ")"))
    return Sql(related(left, predicate.relation, _ends(run, predicate.right, scope)))


def _ends(run: Run, operand: PeriodOf | PeriodValue, scope: Scope) -> tuple[str, str]:
    if isinstance(operand, PeriodValue):
        return tuple(f"({write(run, each, scope)})" for each in (operand.start, operand.end))  # type: ignore[return-value]
    alias = run.tokens[operand.alias].text
    named = scope.find(alias)
    if named is None:
        known = [each.alias for each in scope.tables.values()]
        raise run.fail(operand.alias, f"there is no table {alias!r} here. {did_you_mean(alias, known)}")
    run.used.add(named.declared)
    quote = run.session.quote
    if named.columns is None:
        return f"{quote(named.alias)}.{quote(named.period[0])}", f"{quote(named.alias)}.{quote(named.period[1])}"
    found = [named.columns.get(column.lower()) for column in named.period]
    if found[0] is None or found[1] is None:
        raise run.fail(operand.alias, f"{alias!r} has no period {named.period} of its own after this join")
    return found[0][1], found[1][1]
