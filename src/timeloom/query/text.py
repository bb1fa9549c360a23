"""The text of a query: its tokens, and errors that point at them."""

from dataclasses import dataclass

import sqlglot
from sqlglot.errors import TokenError

from timeloom.errors import UsageError

END = "END"


@dataclass(frozen=True)
class Token:
    """A word of the query: its kind as sqlglot names it, its text, and where it stands."""

    kind: str
    text: str
    start: int
    end: int

    @property
    def word(self) -> str:
        """The text in capitals, for keywords; quoted names and texts are no keywords."""
        return "" if self.kind in ("STRING", "IDENTIFIER") else self.text.upper()


def tokenize(text: str) -> list[Token]:
    """Cut a query into tokens; the last one marks the end."""
    if not isinstance(text, str) or not text.strip():
        raise UsageError("the query is empty; give a text that begins with SELECT")
    try:
        found = sqlglot.tokenize(text)
    except TokenError as error:
        raise error_at(text, _unclosed_quote(text), "a quote is opened here and never closed") from error
    tokens = [Token(token.token_type.name, token.text, token.start, token.end + 1) for token in found]
    return [*tokens, Token(END, "", len(text.rstrip()), len(text.rstrip()))]


def error_at(text: str, offset: int, message: str) -> UsageError:
    """An error that shows the line of a query with a mark below the place."""
    before = text[:offset]
    line, column = before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1
    shown = text.split("\n")[line - 1]
    return UsageError(f"line {line}, column {column}: {message}\n  {shown}\n  {' ' * (column - 1)}^")


def _unclosed_quote(text: str) -> int:
    """Where the quote begins that the text ends in."""
    opened, quote = 0, ""
    for at, character in enumerate(text):
        if not quote and character in "'\"":
            opened, quote = at, character
        elif character == quote:
            quote = ""
    return opened
