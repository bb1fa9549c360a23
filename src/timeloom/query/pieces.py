"""SQL for an engine, made of the user's own words and of ours; it knows where in the query each word came from."""

from collections.abc import Iterable

Piece = tuple[str, int]
"""Words, and where they stand in the query; -1 for our own."""


class Sql:
    """Words for an engine."""

    __slots__ = ("pieces",)

    def __init__(self, *parts: "str | Sql") -> None:
        self.pieces: list[Piece] = []
        for part in parts:
            self.add(part)

    def add(self, part: "str | Sql", start: int = -1) -> None:
        """Append words."""
        if isinstance(part, Sql):
            self.pieces += part.pieces
        elif part:
            self.pieces.append((part, start))

    def __bool__(self) -> bool:
        return bool(self.pieces)

    def __str__(self) -> str:
        return "".join(words for words, _ in self.pieces)

    @property
    def own(self) -> bool:
        """True if any word is ours."""
        return any(start < 0 and words.strip() for words, start in self.pieces)

    def origin(self, offset: int) -> int:
        """Where in the query the words at an offset came from, or those before them."""
        known, at = 0, 0
        for words, start in self.pieces:
            if start >= 0:
                known = start + max(0, min(offset - at, len(words)))
            if at + len(words) > offset:
                return known
            at += len(words)
        return known


def listed(parts: "Iterable[str | Sql]", between: str = ", ") -> Sql:
    """Join words."""
    result = Sql()
    for at, part in enumerate(parts):
        if at:
            result.add(between)
        result.add(part)
    return result
