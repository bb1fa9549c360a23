"""What a query needs of an engine of SQL."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from timeloom.query.pieces import Sql

Locate = Callable[[str, int | None, Sql], Exception]
"""Makes an error of the engine's words, and of the offset in the SQL that they are about."""


class Session(Protocol):
    """An engine of SQL, and the tables that one query has registered with it."""

    engine: str
    dry: bool
    """True if tables have no rows, because only the plan is wanted."""

    def quote(self, name: str) -> str:
        """A name as the engine quotes it."""

    def text(self, value: str) -> str:
        """A text as the engine quotes it."""

    def plain(self, words: str) -> str:
        """The user's own words, as the engine takes them."""

    def add(self, frame: Any) -> str:
        """Register a frame, and return the name to use in SQL."""

    def run(self, sql: Sql) -> Any:
        """Run a query; the frame may be lazy."""

    def columns(self, sql: Sql) -> list[str]:
        """The columns that a query would have; nothing runs."""

    def names(self, frame: Any) -> list[str]:
        """The columns of a frame."""

    def shaped(self, frame: Any, columns: Sequence[tuple[str, str]]) -> Any:
        """Choose columns of a frame, each as (column, new name); one may be chosen several times."""

    def current(self, frame: Any, column: str) -> Any:
        """The present instant, in the type of a column."""

    def close(self) -> None:
        """Forget all that was registered."""


def refuse_same_names(names: Sequence[str], what: str) -> None:
    """Refuse names that an engine takes for one, since it tells no capitals from small letters."""
    from timeloom.errors import InvalidInputError

    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise InvalidInputError(f"{what} has columns {other!r} and {name!r}, which are one name in SQL; rename one")
