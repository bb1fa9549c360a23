"""The grammar of what follows FROM.

chain  = factor {join}
factor = (name | "(" query ")" | "(" chain ")" | function "(" … ")") {suffix}
suffix = [AS] alias [(columns)] | PERIOD (start, end) | windows
       | FOR (SYSTEM_TIME | VALID_TIME | APPLICATION_TIME) [PERIOD (start, end)]
         (AS OF value | FROM value TO value | BETWEEN value AND value | ALL)
join   = [NATURAL | TEMPORAL | ASOF | POSITIONAL] [kind] JOIN factor [ON condition | USING (columns)]
kind   = INNER | LEFT [OUTER | SEMI | ANTI] | RIGHT [OUTER] | FULL [OUTER] | CROSS | SEMI | ANTI
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from timeloom.query.cursor import Cursor
from timeloom.query.structure import Axis, Chain, Factor, Join, JoinKind, JoinStyle, Range, TimeSpec
from timeloom.query.window_grammar import read_windows

if TYPE_CHECKING:
    from timeloom.query.grammar import Grammar

AXES: dict[str, Axis] = {
    "SYSTEM_TIME": "sys",
    "VALID_TIME": "app",
    "APPLICATION_TIME": "app",
}
_STYLES = ("NATURAL", "TEMPORAL", "ASOF", "POSITIONAL")
_KINDS = ("INNER", "LEFT", "RIGHT", "FULL", "CROSS", "SEMI", "ANTI", "OUTER")
_NO_ALIAS = {"ON", "USING", "FOR", "PERIOD", "STEPS", "MEANING", "SET", "AT", "TABLESAMPLE", "JOIN"}
_UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND")


def is_join(cursor: Cursor) -> bool:
    """Tell whether the words of a join come next."""
    for at in range(4):
        word = cursor.ahead(at).word
        if word == "JOIN":
            return True
        if word not in _STYLES and word not in _KINDS:
            return False
    return False


class FromGrammar:
    """Reads what follows FROM."""

    def __init__(self, grammar: "Grammar", ends: Callable[[], bool]) -> None:
        self._at = grammar
        self._ends = ends

    def chains(self) -> tuple[Chain, ...]:
        """Read chains with commas between them."""
        if self._ends():
            self._at.fail("expected the name of a table after FROM")
        chains = [self._chain()]
        while self._at.word(","):
            chains.append(self._chain())
        if not self._ends():
            self._at.fail("expected the end of the FROM clause (WHERE, GROUP BY, ORDER BY, LIMIT or nothing)")
        return tuple(chains)

    def _chain(self) -> Chain:
        first = self._factor()
        joins: list[Join] = []
        while is_join(self._at):
            joins.append(self._join())
        return Chain(first, tuple(joins))

    def _join(self) -> Join:
        at, begin = self._at, self._at.at
        style = cast(JoinStyle, at.take().word.lower()) if at.next.word in _STYLES else ""
        kind = self._kind()
        at.expect("JOIN", "after the kind of the join")
        words = (begin, at.at)
        right = self._factor()
        on: Range | None = None
        using: Range | None = None
        conjuncts: tuple[Range, ...] = ()
        if at.word("ON"):
            start = at.at
            at.expression(lambda: self._ends() or is_join(at) or at.next.kind == "COMMA")
            if at.at == start:
                at.fail("expected a condition after ON")
            on = (start, at.at)
            conjuncts = at.conjuncts(on)
            for part in conjuncts:
                if part[0] == part[1]:
                    at.fail("expected a condition beside AND", at.tokens[part[0]])
        elif at.word("USING"):
            using = (at.at, at.closing(at.at) + 1)
            at.at = using[1]
        return Join(words, style, kind, right, on, using, conjuncts)

    def _kind(self) -> JoinKind:
        at = self._at
        word = at.next.word
        if word not in _KINDS or word == "OUTER":
            return "inner"
        at.take()
        if word == "LEFT" and at.next.word in ("SEMI", "ANTI"):
            word = at.take().word
        if word in ("LEFT", "RIGHT", "FULL"):
            at.word("OUTER")
        return cast(JoinKind, word.lower())

    def _factor(self) -> Factor:
        at, begin = self._at, self._at.at
        parts: dict[str, Any] = {"kind": "other", "alias": "", "chain": None}
        if at.next.kind == "L_PAREN":
            self._parenthesis(parts)
        elif at.word("LATERAL"):
            at.expression(lambda: at.tokens[at.at - 1].kind == "R_PAREN")
        elif at.next.kind == "STRING":
            at.fail("expected the name of a table; files are read before, and their tables passed by name")
        else:
            self._named(parts)
        tokens = (begin, at.at)
        self._suffixes(parts)
        alias_tokens = parts.pop("alias_tokens", (at.at, at.at))
        return Factor(tokens=tokens, alias_tokens=alias_tokens, **parts)

    def _named(self, parts: dict[str, Any]) -> None:
        at = self._at
        token = at.name("the name of a table")
        parts["kind"], parts["alias"] = "table", token.text
        while at.word("."):
            parts["kind"], parts["alias"] = "other", at.name("a name after the dot").text
        if at.next.kind == "L_PAREN":
            parts["kind"] = "other"
            at.expression(lambda: at.tokens[at.at - 1].kind == "R_PAREN")

    def _parenthesis(self, parts: dict[str, Any]) -> None:
        at = self._at
        closing = at.closing(at.at)
        if _holds_query(at):
            at.take()
            at.query(as_table=True) if at.next.word != "VALUES" else at.expression(lambda: False)
            parts["kind"] = "query"
        else:
            at.take()
            parts["chain"], parts["kind"] = self._chain(), "joins"
        if at.at != closing:
            at.fail("expected the parenthesis to close here")
        at.take()

    def _suffixes(self, parts: dict[str, Any]) -> None:
        at, times = self._at, list[TimeSpec]()
        while True:
            token = at.next
            if at.sees("PERIOD") and at.ahead(1).kind == "L_PAREN" and not {"period", "windows"} & set(parts):
                at.take()
                parts["period"] = at.columns()
            elif token.kind == "L_BRACKET" and "windows" not in parts:
                if times or "period" in parts or parts["kind"] == "joins":
                    at.fail("but windows take no PERIOD or FOR beside them; give PERIOD (…) in each bracket")
                parts["windows"] = read_windows(at)
            elif token.word == "FOR" and at.ahead(1).word in AXES and "windows" not in parts:
                times.append(self._times(times))
            elif token.word == "FOR":
                at.fail(f"expected {', '.join(AXES)} after FOR", at.ahead(1))
            elif "alias_tokens" not in parts and self._alias_follows():
                parts |= self._alias()
            elif token.word == "TABLESAMPLE":
                at.fail(
                    "which is not understood here; sample the table before, or in a subquery with ORDER BY and LIMIT"
                )
            else:
                break
        parts["times"] = tuple(times)
        if times and parts["kind"] == "joins":
            at.fail("but FOR stands after one table, not after joins", at.tokens[at.at - 1])

    def _alias_follows(self) -> bool:
        token = self._at.next
        if token.word == "AS" and self._at.ahead(1).is_name:
            return True
        plain = token.kind in ("VAR", "IDENTIFIER") or token.word in ("START", "END")
        return plain and token.word not in _NO_ALIAS and not is_join(self._at) and not self._ends()

    def _alias(self) -> dict[str, Any]:
        at, begin = self._at, self._at.at
        at.word("AS")
        alias = at.name("an alias").text
        if at.next.kind == "L_PAREN":
            at.at = at.closing(at.at) + 1
        return {"alias": alias, "alias_tokens": (begin, at.at)}

    def _times(self, before: list[TimeSpec]) -> TimeSpec:
        at = self._at
        token = at.at
        at.take()
        name = at.take()
        axis = AXES[name.word]
        if any(spec.axis == axis for spec in before):
            at.fail("but this time was given before; expected it once", name)
        period = at.columns() if at.word("PERIOD") else None
        if at.word("AS"):
            at.expect("OF", "after AS")
            return TimeSpec(token, axis, "as of", (read_value(at),), period)
        if at.word("FROM"):
            first = read_value(at)
            at.expect("TO", "and a second instant")
            return TimeSpec(token, axis, "from", (first, read_value(at)), period)
        if at.word("BETWEEN"):
            first = read_value(at)
            at.expect("AND", "and a second instant")
            return TimeSpec(token, axis, "between", (first, read_value(at)), period)
        if at.word("ALL"):
            return TimeSpec(token, axis, "all", (), period)
        return at.fail("expected AS OF, FROM … TO …, BETWEEN … AND … or ALL")


def read_value(at: "Grammar") -> Range:
    """Read an instant as an expression: terms with + and - between them."""
    begin = at.at
    _read_term(at)
    while at.next.kind in ("PLUS", "DASH"):
        at.take()
        _read_term(at)
    return begin, at.at


def _read_term(at: "Grammar") -> None:
    while at.next.kind in ("PLUS", "DASH"):
        at.take()
    if at.word("INTERVAL"):
        if at.next.kind not in ("STRING", "NUMBER"):
            at.fail("expected an interval such as INTERVAL '2' MONTH")
        at.take()
        if at.next.word.rstrip("S") in _UNITS:
            at.take()
    elif at.next.word in ("DATE", "TIMESTAMP", "TIMESTAMPTZ") and at.ahead(1).kind == "STRING":
        at.at += 2
    elif at.next.kind in ("NUMBER", "STRING"):
        at.take()
    elif at.next.kind == "L_PAREN":
        at.expression(lambda: at.tokens[at.at - 1].kind == "R_PAREN")
    else:
        at.name("an instant, such as 5, DATE '2014-03-20' or NOW")
        while at.word("."):
            at.name("a name after the dot")
        if at.next.kind == "L_PAREN":
            at.expression(lambda: at.tokens[at.at - 1].kind == "R_PAREN")


def _holds_query(at: "Grammar") -> bool:
    """Tell a query in parentheses from joins in parentheses."""
    inner = at.at + 1
    if at.tokens[inner].word in ("SELECT", "WITH", "VALUES"):
        return True
    if at.tokens[inner].kind != "L_PAREN":
        return False
    after = at.tokens[at.closing(inner) + 1].word
    return after in ("UNION", "EXCEPT", "INTERSECT", "ORDER BY", "LIMIT", ")")
