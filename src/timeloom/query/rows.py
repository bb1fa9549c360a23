"""What a query needs of rows, whatever engine holds them."""

from typing import Any, Protocol, Self

from timeloom.model.measures import Measure
from timeloom.query.clauses import Item, Node
from timeloom.query.scope import Scope


class Rows(Protocol):
    """A table, and the operations of SQL on it."""

    @property
    def frame(self) -> Any:
        """The table itself."""

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""

    def of(self, frame: Any) -> Self:
        """Another table of the same kind."""

    def filter(self, condition: Node, scope: Scope) -> Self:
        """Keep the rows for which a condition is true."""

    def extended(self, items: list[Item], scope: Scope) -> Self:
        """Add columns."""

    def projected(self, items: list[Item], scope: Scope) -> Self:
        """Compute columns; nothing else stays."""

    def grouped(self, keys: list[str], measures: tuple[Measure, ...]) -> Self:
        """Aggregate by keys; without keys there is one group."""

    def sorted(self, keys: list[tuple[str, bool, bool]]) -> Self:
        """Sort by columns, each (name, descending, nulls first)."""

    def distinct(self) -> Self:
        """Keep the first of equal rows."""

    def sliced(self, offset: int, limit: int | None) -> Self:
        """Skip rows, and keep at most so many."""
