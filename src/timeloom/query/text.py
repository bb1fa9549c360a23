"""The text of a query: its tokens, and errors that point at them."""

from dataclasses import dataclass

from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import TokenError

from timeloom.errors import UsageError

END = "end of the query"
"""The kind of the last token. No kind of sqlglot is called so; END itself is a keyword."""

TEXTS = ("STRING", "NATIONAL_STRING", "RAW_STRING", "HEREDOC_STRING", "UNICODE_STRING", "BYTE_STRING")
LONGEST = 400
SHOWN = 200
"""How many characters of a long line an error shows on either side of its mark."""


class Words(DuckDB):
    """The words of DuckDB, with names in double quotes or, as Spark has them, in backticks."""

    class Tokenizer(DuckDB.Tokenizer):
        """Cuts a text into words."""

        IDENTIFIERS = ['"', "`"]  # noqa: RUF012


@dataclass(frozen=True)
class Token:
    """A word of the query: its kind as sqlglot names it, its text, and where it stands."""

    kind: str
    text: str
    start: int
    end: int

    @property
    def is_name(self) -> bool:
        """True for what may name a column or table: quoted names, and words, keywords among them."""
        return self.kind == "IDENTIFIER" or (self.kind not in TEXTS and self.text.isidentifier())

    @property
    def word(self) -> str:
        """The text in capitals, for keywords; quoted names and texts are no keywords."""
        return "" if self.kind in TEXTS or self.kind == "IDENTIFIER" else self.text.upper()


def tokenize(text: str) -> list[Token]:
    """Cut a query into tokens; the last one marks the end."""
    if not isinstance(text, str) or not text.strip():
        raise UsageError("the query is empty; give a text that begins with SELECT")
    try:
        text.encode()
        found = Words().tokenize(text)
    except UnicodeEncodeError as error:
        raise error_at(text, error.start, "found half of a surrogate pair, expected Unicode text") from error
    except TokenError as error:
        at, what = _unclosed(text)
        raise error_at(text, at, f"{what} is opened here and never closed") from error
    tokens = [Token(token.token_type.name, token.text, token.start, token.end + 1) for token in found]
    if not tokens:
        raise UsageError("the query has comments only; give a text that begins with SELECT")
    return [*tokens, Token(END, "", len(text.rstrip()), len(text.rstrip()))]


def error_at(text: str, offset: int, message: str) -> UsageError:
    """An error that shows the line of a query with a mark below the position; of a long line only what is near."""
    message = message if len(message) <= LONGEST else f"{message[:LONGEST]}…"
    before = text[:offset]
    line, column = before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1
    shown = _printable(text.split("\n")[line - 1])
    begin = max(0, column - 1 - SHOWN)
    near = ("…" if begin else "") + shown[begin : column + SHOWN] + ("…" if column + SHOWN < len(shown) else "")
    mark = " " * (column - 1 - begin + bool(begin)) + "^"
    return UsageError(f"line {line}, column {column}: {_printable(message)}\n  {near}\n  {mark}")


def deepest(text: str) -> int:
    """Where the parentheses of a text are nested most deeply."""
    depth, most, at = 0, 0, 0
    for position, character in enumerate(text):
        depth += (character in "([") - (character in ")]")
        if depth > most:
            most, at = depth, position
    return at


def whole_number(text: str) -> int | None:
    """A number in plain digits of a reasonable length, or None."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 100 else None


def _printable(text: str) -> str:
    """Text that can be printed: lone surrogates and control characters become a sign."""
    return "".join("\ufffd" if "\ud800" <= one <= "\udfff" or (one < " " and one != "\n") else one for one in text)


def _unclosed(text: str) -> tuple[int, str]:
    """Where the quote or comment begins that the text ends in, and which of the two it is."""
    opened, closing, at = 0, "", 0
    while at < len(text):
        if closing:
            if text.startswith(closing, at):
                at, closing = at + len(closing) - 1, ""
        elif text.startswith("--", at):
            at = text.find("\n", at) if "\n" in text[at:] else len(text)
        elif text.startswith("/*", at):
            opened, closing, at = at, "*/", at + 1
        elif text[at] in "'\"`":
            opened, closing = at, text[at]
        at += 1
    return opened, "a comment" if closing == "*/" else "a quote"
