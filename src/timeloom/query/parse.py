"""From text to statement: our grammar for what follows FROM, sqlglot for the ordinary SQL around it."""

from itertools import pairwise
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, TokenError

from timeloom.query.grammar import SourceParser
from timeloom.query.statement import Statement
from timeloom.query.text import END, Token, error_at, tokenize

AFTER_SOURCE = ("WHERE", "GROUP_BY", "HAVING", "ORDER_BY", "LIMIT", "OFFSET", "FETCH", "SEMICOLON")
STAND_IN = "s"
CLAUSES = {
    "DISTINCT": "distinct",
    "WHERE": "where",
    "GROUP_BY": "group",
    "HAVING": "having",
    "ORDER_BY": "order",
    "LIMIT": "limit",
    "FETCH": "limit",
    "OFFSET": "offset",
}


def parse(text: str) -> Statement:
    """Read a query."""
    tokens = tokenize(text)
    if tokens[0].word != "SELECT":
        raise error_at(text, tokens[0].start, f"found {tokens[0].text!r}, expected SELECT")
    _check_tokens(text, tokens)
    begin, end = _source_range(text, tokens)
    first, last = tokens[begin].start, tokens[end - 1].end
    source = SourceParser(text, [*tokens[begin:end], Token(END, "", last, last)]).source()
    blanked = "".join("\n" if character == "\n" else " " for character in text[first:last])
    ordinary = text[:first] + STAND_IN + blanked[1:] + text[last:]
    return Statement(text, source, _ordinary(text, ordinary), _clauses(tokens))


def _source_range(text: str, tokens: list[Token]) -> tuple[int, int]:
    """The tokens between FROM and the clause after it."""
    depth, begin = 0, None
    for at, token in enumerate(tokens):
        depth += (token.kind in ("L_PAREN", "L_BRACKET")) - (token.kind in ("R_PAREN", "R_BRACKET"))
        if depth == 0 and token.kind == "FROM" and begin is None:
            begin = at + 1
        elif begin is not None and (token.kind == END or (depth <= 0 and token.kind in AFTER_SOURCE)):
            if at == begin:
                raise error_at(text, token.start, "found nothing after FROM, expected the name of a table")
            return begin, at
    raise error_at(text, tokens[-1].start, "found the end, expected FROM and a table")


def _check_tokens(text: str, tokens: list[Token]) -> None:
    """Refuse what sqlglot forgives: a second query, a comma with nothing behind it, a number glued to a name."""
    for token, after in pairwise(tokens):
        if token.kind == "SEMICOLON" and after.kind != END:
            raise error_at(text, after.start, f"found {after.text!r} after the semicolon, expected one query")
        if token.kind == "COMMA" and after.kind in ("COMMA", "FROM", "R_PAREN", "R_BRACKET", END, *AFTER_SOURCE):
            raise error_at(text, token.start, "found a comma with nothing after it, expected another expression")
        if token.kind == "NUMBER" and after.kind == "VAR" and token.end == after.start:
            raise error_at(text, after.start, f"found {after.text!r} right behind a number, expected a blank between")


def _clauses(tokens: list[Token]) -> dict[str, int]:
    """Where each clause begins."""
    depth, found = 0, dict[str, int]()
    for token in tokens:
        depth += (token.kind in ("L_PAREN", "L_BRACKET")) - (token.kind in ("R_PAREN", "R_BRACKET"))
        if depth == 0 and token.kind in CLAUSES:
            found.setdefault(CLAUSES[token.kind], token.start)
    return found


def _ordinary(text: str, ordinary: str) -> Any:
    """Parse the SELECT around the source, in which a stand-in takes the source's place."""
    try:
        parsed = sqlglot.parse_one(ordinary)
    except (ParseError, TokenError) as error:
        raise _misread(text, ordinary, error) from error
    if not isinstance(parsed, exp.Select):
        raise error_at(text, 0, f"found {parsed.key.upper()}, expected one plain SELECT")
    if not parsed.expressions:
        raise error_at(text, len("select"), "found nothing to select, expected expressions or *")
    return parsed


def _misread(text: str, ordinary: str, error: Any) -> Exception:
    """The error for a text that sqlglot cannot read."""
    found = (getattr(error, "errors", None) or [{}])[0]
    if not found.get("line"):
        return error_at(text, 0, "the query cannot be read, expected one plain SELECT")
    offset = _offset(ordinary, found["line"], found["col"]) - len(found.get("highlight") or " ")
    words = found.get("description") or "unexpected token"
    if words.startswith("Required keyword"):
        words = "something is missing before this, expected an expression"
    return error_at(text, min(max(offset, 0), len(text)), words)


def _offset(text: str, line: int, column: int) -> int:
    return sum(len(part) + 1 for part in text.split("\n")[: line - 1]) + column


def place(node: Any) -> int:
    """Where in the text a part of the parsed query stands, as far as it is known."""
    nodes = node if isinstance(node, list) else [node]
    starts = [
        part.meta["start"]
        for each in nodes
        if isinstance(each, exp.Expression)
        for part in each.walk()
        if "start" in part.meta
    ]
    return min(starts, default=0)
