"""A position in the tokens of a query, and what may be asked there."""

from typing import NoReturn

from timeloom.query.structure import Columns
from timeloom.query.text import END, Token, error_at, whole_number

_OPENING, _CLOSING = ("L_PAREN", "L_BRACKET", "L_BRACE"), ("R_PAREN", "R_BRACKET", "R_BRACE")

# fmt: off
OPERATORS = frozenset((
    "ALL", "AND", "ANY", "AS", "ASC", "BETWEEN", "BY", "CASE", "CAST", "COLLATE", "DESC", "DISTINCT", "ELSE",
    "ESCAPE", "EXCEPT", "EXISTS", "EXTRACT", "FILTER", "FROM", "GLOB", "GROUP", "HAVING", "ILIKE", "IN",
    "INTERSECT", "INTERVAL", "IS", "JOIN", "LIKE", "LIMIT", "NOT", "OF", "OFFSET", "ON", "OR", "ORDER", "OVER",
    "QUALIFY", "SELECT", "SIMILAR", "THEN", "TO", "UNION", "USING", "VALUES", "WHEN", "WHERE", "WITH", "WITHIN",
))
# fmt: on
"""Words after which an operand is expected."""


class Cursor:
    """A position in the tokens."""

    def __init__(self, text: str, tokens: list[Token]) -> None:
        self.text = text
        self.tokens = tokens
        self.at = 0

    @property
    def next(self) -> Token:
        """The token at this position."""
        return self.tokens[self.at]

    def ahead(self, count: int) -> Token:
        """A token further on; the last one repeats."""
        return self.tokens[min(self.at + count, len(self.tokens) - 1)]

    def take(self) -> Token:
        """Go on by one token; never beyond the end."""
        token = self.next
        self.at += token.kind != END
        return token

    def fail(self, expected: str, token: "Token | None" = None) -> NoReturn:
        """Refuse what stands here, or a token before."""
        token = token or self.next
        found = "the end" if token.kind == END else repr(token.text)
        raise error_at(self.text, token.start, f"found {found}, {expected}")

    def sees(self, *words: str) -> bool:
        """Tell whether these words come next."""
        return all(self.ahead(at).word == word for at, word in enumerate(words))

    def word(self, *words: str) -> bool:
        """Take words if they come next."""
        found = self.sees(*words)
        self.at += len(words) * found
        return found

    def expect(self, word: str, where: str) -> Token:
        """Take a word, or refuse."""
        token = self.next
        if not self.word(word):
            self.fail(f"expected {word} {where}".rstrip())
        return token

    def name(self, what: str) -> Token:
        """Take a name."""
        if not self.next.is_name:
            self.fail(f"expected {what}")
        return self.take()

    def count(self, what: str) -> int:
        """Take a whole number."""
        number = whole_number(self.next.text) if self.next.kind == "NUMBER" else None
        if number is None:
            self.fail(f"expected {what}, a whole number of at least 0")
        self.take()
        return number

    def columns(self) -> Columns:
        """Take ``(start, end)``, two columns in parentheses."""
        self.expect("(", "and two columns")
        start = self.name("the column of starts").text
        self.expect(",", "between the two columns")
        end = self.name("the column of ends").text
        self.expect(")", "after the two columns")
        return start, end

    def closing(self, at: int) -> int:
        """Where the parenthesis closes that opens here."""
        depth = 0
        for position in range(at, len(self.tokens)):
            depth += (self.tokens[position].kind in _OPENING) - (self.tokens[position].kind in _CLOSING)
            if depth == 0:
                return position
        return self.fail("expected it to be closed", self.tokens[at])


def ends_operand(token: Token) -> bool:
    """Tell whether an operand may end with this token, so that no other can follow it directly."""
    if token.kind in ("STRING", "NUMBER", "R_PAREN", "R_BRACKET", "IDENTIFIER"):
        return True
    return token.is_name and token.word not in OPERATORS
