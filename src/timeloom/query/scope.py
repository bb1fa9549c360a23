"""Which tables a name may mean, and which columns they have."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from timeloom.query.pieces import Sql
from timeloom.query.structure import USUAL, Columns


@dataclass
class Named:
    """A table under its alias.

    ``columns`` is None where the engine knows the alias itself; else it has, for each column in small letters, the
    column's name and the expression that gives it.
    """

    alias: str
    period: Columns = USUAL
    columns: "dict[str, tuple[str, str]] | None" = None
    declared: int = -1
    """The token of the table whose period was named after it, if it was."""
    labels: "Callable[[], list[str]] | None" = None
    """Asks for the columns of a table that the engine knows."""
    shared: frozenset[str] = frozenset()
    """Names, in small letters, that a join made common to several tables, so that they need no alias."""
    missing: str = "there is no column {written!r}. {hint}"

    def names(self) -> list[str]:
        """The columns."""
        if self.columns is not None:
            return [name for name, _ in self.columns.values()]
        return self.labels() if self.labels is not None else []


@dataclass
class Definitions:
    """Queries with names, as far as they are visible; ``pending`` is one that is being read."""

    parent: "Definitions | None" = None
    known: dict[str, Sql] = field(default_factory=dict)
    pending: set[str] = field(default_factory=set)
    frames: dict[str, Any] = field(default_factory=dict)
    """Those that a verb has asked for, evaluated once."""
    recursive: bool = False

    def holder(self, name: str) -> "Definitions | None":
        """Who knows a name."""
        here = name.lower() in self.known or name.lower() in self.pending
        return self if here else self.parent.holder(name) if self.parent else None

    def visible(self) -> tuple[bool, dict[str, Sql]]:
        """All that can be named here, outermost first, and whether any of it is recursive."""
        recursive, outer = self.parent.visible() if self.parent else (False, {})
        return recursive or self.recursive, {**outer, **self.known}


@dataclass
class Scope:
    """The tables of a SELECT, and those of the SELECTs around it."""

    definitions: Definitions
    parent: "Scope | None" = None
    tables: dict[str, Named] = field(default_factory=dict)
    overrides: "dict[int, tuple[int, Sql]]" = field(default_factory=dict)
    """Tokens that stand for something else here: where each ends, and what it is."""
    ambiguous: set[str] = field(default_factory=set)

    def find(self, alias: str) -> Named | None:
        """The table that an alias means."""
        found = self.tables.get(alias.lower())
        return found if found is not None or self.parent is None else self.parent.find(alias)

    def within(self, definitions: "Definitions | None" = None) -> "Scope":
        """The scope of a query inside this one."""
        return Scope(definitions or self.definitions, self)
