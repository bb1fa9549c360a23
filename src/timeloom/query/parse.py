"""From text to statement: our grammar for what follows FROM, sqlglot for the ordinary SQL around it."""

from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError

from timeloom.query.grammar import SourceParser
from timeloom.query.statement import Statement
from timeloom.query.text import END, Token, error_at, tokenize

AFTER_SOURCE = ("WHERE", "GROUP_BY", "HAVING", "ORDER_BY", "LIMIT", "OFFSET", "FETCH", "SEMICOLON")
STAND_IN = "s"
SUPPORTED = ("kind", "expressions", "from_", "where", "group", "having", "order", "limit", "offset", "distinct")


def parse(text: str) -> Statement:
    """Read a query."""
    tokens = tokenize(text)
    if tokens[0].word != "SELECT":
        raise error_at(text, tokens[0].start, f"found {tokens[0].text!r}, expected SELECT")
    begin, end = _source_range(text, tokens)
    first, last = tokens[begin].start, tokens[end - 1].end
    source = SourceParser(text, [*tokens[begin:end], Token(END, "", last, last)]).source()
    blanked = "".join("\n" if character == "\n" else " " for character in text[first:last])
    ordinary = text[:first] + STAND_IN + blanked[1:] + text[last:]
    return Statement(text, source, _ordinary(text, ordinary))


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


def _ordinary(text: str, ordinary: str) -> Any:
    """Parse the SELECT around the source, in which a stand-in takes the source's place."""
    try:
        parsed = sqlglot.parse_one(ordinary)
    except ParseError as error:
        found = error.errors[0]
        offset = _offset(ordinary, found["line"], found["col"]) - len(found["highlight"] or " ")
        words = found["description"]
        if words.startswith("Required keyword"):
            words = "something is missing before this, expected an expression"
        raise error_at(text, max(offset, 0), words) from error
    if not isinstance(parsed, exp.Select):
        raise error_at(text, 0, f"found {parsed.key.upper()}, expected one plain SELECT")
    for part, value in parsed.args.items():
        if value and part not in SUPPORTED:
            raise error_at(text, place(value), f"found {part.upper()}, which queries over time do not have")
    if not parsed.expressions:
        raise error_at(text, len("select"), "found nothing to select, expected expressions or *")
    nested = parsed.find(exp.Subquery, exp.Window)
    if nested is not None:
        what = "a nested query" if isinstance(nested, exp.Subquery) else "OVER"
        raise error_at(
            text, place(nested), f"found {what}, expected plain expressions; use the result of another query"
        )
    return parsed


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
