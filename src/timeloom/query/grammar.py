"""The grammar of queries: definitions, SELECTs and their clauses. Expressions are tokens for an engine to read.

query   = [WITH [RECURSIVE] definition {"," definition}] part {(UNION | EXCEPT | INTERSECT) [ALL] part}
part    = select | "(" query ")" | VALUES …
select  = SELECT [DISTINCT | COALESCE PERIODS [(start, end)]] items [FROM chain {"," chain}] {clause} [COALESCE PERIODS]
clause  = WHERE | GROUP BY {key | PERIOD [(start, end)]} | HAVING | QUALIFY | WINDOW | ORDER BY | LIMIT | OFFSET | FETCH
"""

from collections.abc import Callable
from itertools import pairwise

from timeloom.query.cursor import Cursor, ends_operand
from timeloom.query.from_grammar import FromGrammar
from timeloom.query.period_grammar import predicate_at
from timeloom.query.structure import (
    USUAL,
    Chain,
    Clause,
    Columns,
    Definition,
    Instant,
    PeriodOf,
    PeriodValue,
    Predicate,
    Query,
    Range,
    Select,
)
from timeloom.query.text import END, Token, error_at

CLAUSES = ("WHERE", "GROUP BY", "HAVING", "QUALIFY", "WINDOW", "ORDER BY", "LIMIT", "OFFSET", "FETCH")
SET_OPERATIONS = ("UNION", "EXCEPT", "INTERSECT")
MOST_DEPTH = 150
_LISTS = ("GROUP BY", "ORDER BY")


class Grammar(Cursor):
    """Reads queries from tokens; what it finds on the way is kept by the token at which it begins."""

    def __init__(self, text: str, tokens: list[Token]) -> None:
        super().__init__(text, tokens)
        self.queries: dict[int, Query] = {}
        self.predicates: dict[int, Predicate] = {}
        _check_tokens(text, tokens)

    def query(self, *, as_table: bool) -> Query:
        """Read a query up to the parenthesis, semicolon or end that follows it."""
        begin, recursive = self.at, False
        definitions: list[Definition] = []
        if self.word("WITH"):
            recursive = self.word("RECURSIVE")
            definitions.append(self._definition())
            while self.word(","):
                definitions.append(self._definition())
        parts: list[Select | Range] = [self._part(as_table=as_table)]
        while self.next.word in SET_OPERATIONS:
            operation = self.at
            self.take()
            while self.next.word in ("ALL", "DISTINCT", "BY", "NAME"):
                self.take()
            parts.append((operation, self.at))
            parts.append(self._part(as_table=as_table))
        if self.next.kind not in (END, "R_PAREN", "SEMICOLON"):
            self.fail("expected the end of the query")
        query = Query((begin, self.at), recursive, tuple(definitions), tuple(parts), as_table)
        self.queries[begin] = query
        return query

    def _definition(self) -> Definition:
        begin = self.at
        name = self.name("the name of a query").text
        if self.next.kind == "L_PAREN":
            self.at = self.closing(self.at) + 1
        self.expect("AS", "and a query in parentheses")
        self.word("NOT")
        self.word("MATERIALIZED")
        self.expect("(", "and a query")
        body = self.query(as_table=True)
        self.expect(")", "after the query")
        return Definition(name, (begin, self.at), body)

    def _part(self, *, as_table: bool) -> Select | Range:
        begin = self.at
        if self.next.word == "SELECT":
            return self._select()
        if self.word("("):
            self.query(as_table=as_table)
            self.expect(")", "after the query")
        elif self.next.word != "VALUES":
            self.fail("expected SELECT")
        self.expression(lambda: self.next.word in SET_OPERATIONS)
        return begin, self.at

    def _select(self) -> Select:
        begin = self.at
        self.take()
        coalesced: Columns | None = None
        if self.word("COALESCE", "PERIODS"):
            coalesced = self._period_columns()
            head = (begin, begin + 1)
        else:
            if self.word("DISTINCT") and self.word("ON"):
                self.expect("(", "and expressions")
                self.expression(lambda: False)
                self.expect(")", "after the expressions")
            self.word("ALL")
            head = (begin, self.at)
        items = self._listed(self._ends_clause, "an expression to select")
        chains: tuple[Chain, ...] = ()
        if self.word("FROM"):
            chains = FromGrammar(self, self._ends_clause).chains()
        return self._with_clauses(begin, head, items, chains, coalesced)

    def _with_clauses(
        self, begin: int, head: Range, items: tuple[Range, ...], chains: tuple[Chain, ...], coalesced: Columns | None
    ) -> Select:
        clauses: dict[str, Clause] = {}
        by_period: Columns | PeriodOf | None = None
        keys: list[Range] = []
        while self._ends_clause():
            token, opened = self.next, self.at
            if token.word in SET_OPERATIONS or token.kind in (END, "R_PAREN", "SEMICOLON"):
                break
            if self.word("COALESCE", "PERIODS"):
                if coalesced is not None:
                    self.fail("but COALESCE PERIODS was given before; expected it once", token)
                coalesced = self._period_columns()
                continue
            self.take()
            if token.word in clauses:
                self.fail(f"but {token.word} was given before; expected it once", token)
            parts = self._listed(self._ends_clause, f"an expression after {token.word}", commas=token.word in _LISTS)
            clauses[token.word] = Clause(token.word, (opened, self.at), parts)
            for part in parts if token.word == "GROUP BY" else ():
                period = self._grouping_period(part)
                if period is None:
                    keys.append(part)
                elif by_period is not None:
                    self.fail("but PERIOD was given before; expected it once", self.tokens[part[0]])
                else:
                    by_period = period
        if by_period is not None and coalesced is not None:
            self.fail(
                "but GROUP BY PERIOD gives no periods to coalesce; coalesce in a query around it", self.tokens[begin]
            )
        return Select(
            (begin, self.at), head, items, chains, clauses, by_period=by_period, keys=tuple(keys), coalesced=coalesced
        )

    def _period_columns(self) -> Columns:
        return self.columns() if self.next.kind == "L_PAREN" else USUAL

    def _grouping_period(self, part: Range) -> "Columns | PeriodOf | None":
        words = [token.word for token in self.tokens[slice(*part)]]
        if words == ["PERIOD"]:
            return USUAL
        if len(words) == 3 and words[1:] == [".", "PERIOD"]:
            return PeriodOf(part[0])
        if words[:2] == ["PERIOD", "("] and len(words) == 6:
            after, self.at = self.at, part[0] + 1
            columns = self.columns()
            self.at = after
            return columns
        return None

    def _ends_clause(self) -> bool:
        """Tell where a clause or a query ends."""
        word = self.next.word
        if word == "EXCEPT" and self.tokens[self.at - 1].kind == "STAR":
            return False
        if (
            word == "FROM"
            and self.tokens[self.at - 1].word == "DISTINCT"
            and self.tokens[self.at - 2].word in ("IS", "NOT")
        ):
            return False
        known = word in CLAUSES or word in SET_OPERATIONS or word == "FROM"
        return known or self.next.kind in (END, "R_PAREN", "SEMICOLON") or self.sees("COALESCE", "PERIODS")

    def _listed(self, stop: Callable[[], bool], what: str, *, commas: bool = True) -> tuple[Range, ...]:
        """Read expressions with commas between them."""
        parts: list[Range] = []
        while True:
            begin = self.at
            self.expression(lambda: stop() or (commas and self.next.kind == "COMMA"))
            if self.at == begin:
                self.fail(f"expected {what}")
            parts.append((begin, self.at))
            if not (commas and self.word(",")):
                return tuple(parts)

    def expression(self, stop: Callable[[], bool]) -> None:
        """Go through an expression, and keep the queries and predicates within."""
        while self.next.kind not in (END, "R_PAREN", "R_BRACKET", "R_BRACE") and not stop():
            if self.next.kind in ("L_PAREN", "L_BRACKET", "L_BRACE"):
                self._enclosed()
                continue
            found = None if self._after_dot() else predicate_at(self)
            if found is None:
                self.take()
                continue
            self.predicates[found.tokens[0]] = found
            self._within(found)

    def _enclosed(self) -> None:
        opening = self.at
        closing = self.closing(opening)
        self.take()
        if self.next.word in ("SELECT", "WITH") and self.tokens[opening].kind == "L_PAREN":
            self.query(as_table=False)
        else:
            self.expression(lambda: False)
        if self.at != closing:
            self.fail("which closes nothing here; expected a matching parenthesis")
        self.at = closing + 1

    def _after_dot(self) -> bool:
        return self.at > 0 and self.tokens[self.at - 1].kind == "DOT"

    def _within(self, found: Predicate) -> None:
        """Queries and predicates within the expressions of a period."""
        after = self.at
        for operand in (found.left, found.right):
            ranges = [operand.start, operand.end] if isinstance(operand, PeriodValue) else []
            ranges += [operand.value] if isinstance(operand, Instant) else []
            for begin, end in ranges:
                self.at = begin
                self.expression(lambda end=end: self.at >= end)  # type: ignore[misc]
        self.at = after

    def conjuncts(self, tokens: Range) -> tuple[Range, ...]:
        """The conditions between the ANDs of a range; the AND of BETWEEN, and those within CASE, divide nothing."""
        parts, begin, depth, between, cases = [], tokens[0], 0, 0, 0
        for at in range(*tokens):
            token = self.tokens[at]
            depth += (token.kind in ("L_PAREN", "L_BRACKET")) - (token.kind in ("R_PAREN", "R_BRACKET"))
            if depth:
                continue
            cases += token.word == "CASE"
            cases -= token.kind == "END" and cases > 0 and ends_operand(self.tokens[at - 1])
            between += token.word == "BETWEEN"
            if token.word == "OR" and not cases:
                return (tokens,)
            if token.word == "AND" and not cases:
                if between:
                    between -= 1
                else:
                    parts.append((begin, at))
                    begin = at + 1
        return (*parts, (begin, tokens[1]))


def _check_tokens(text: str, tokens: list[Token]) -> None:
    """Refuse what engines forgive: a second query, a comma with nothing behind it, a number glued to a name."""
    ends = ("R_PAREN", "R_BRACKET", "FROM", "COMMA", END)
    depth = 0
    for token, after in pairwise(tokens):
        depth += (token.kind in ("L_PAREN", "L_BRACKET")) - (token.kind in ("R_PAREN", "R_BRACKET"))
        if depth > MOST_DEPTH:
            raise error_at(
                text, token.start, f"the query is nested too deeply here; expected {MOST_DEPTH} levels at most"
            )
        if token.kind == "SEMICOLON" and after.kind != END:
            raise error_at(text, after.start, f"found {after.text!r} after the semicolon, expected one query")
        if token.kind == "COMMA" and (after.kind in ends or after.word in CLAUSES):
            raise error_at(text, token.start, "found a comma with nothing after it, expected another expression")
        if token.kind == "NUMBER" and after.kind == "VAR" and token.end == after.start:
            raise error_at(text, after.start, f"found {after.text!r} right behind a number, expected a blank between")
