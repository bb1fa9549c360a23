"""Which column a name in a query means."""

from collections.abc import Iterable, Mapping
from typing import Any

from sqlglot import exp

from timeloom.errors import did_you_mean
from timeloom.query.parse import place
from timeloom.query.text import error_at

OUTPUT = "output"
"""Marks a column that goes by its output name: one that ``*`` stands for, or one that no text can name."""


def output_column(name: str) -> Any:
    """A column by its output name."""
    column = exp.column(name, quoted=True)
    column.meta[OUTPUT] = True
    return column


def unused(prefix: str, names: Iterable[str]) -> str:
    """A prefix that no name has, so that columns of our own clash with nobody's."""
    taken = [name.lower() for name in names]
    while any(name.startswith(prefix) for name in taken):
        prefix = f"_{prefix}"
    return prefix


class Scope:
    """The columns of a source, by name and by table alias."""

    def __init__(
        self,
        text: str,
        columns: "dict[tuple[str, str], str]",
        shared: "Mapping[str, str] | None" = None,
        shown: "list[str] | None" = None,
    ) -> None:
        """Take the output name of each (alias, column).

        ``shared`` has those of keys, which both sides of a join have in common, without an alias. ``shown`` is what
        ``*`` stands for, by default all.
        """
        self._text = text
        self._columns = columns
        self._shared = dict(shared or {})
        self._shown = list(dict.fromkeys(columns.values())) if shown is None else shown

    @classmethod
    def of(cls, text: str, alias: str, names: Iterable[str]) -> "Scope":
        """The scope of one table."""
        return cls(text, {(alias, name): name for name in names})

    def resolve(self, column: exp.Column) -> str:
        """The output name of a column."""
        name, alias = column.name, column.table
        if column.meta.get(OUTPUT):
            return str(name)
        if not alias:
            same = [shared for shared in self._shared if shared == name] or [
                shared for shared in self._shared if shared.lower() == name.lower()
            ]
            if len(same) == 1:
                return self._shared[same[0]]
        here = [
            (known, output)
            for (table, known), output in self._columns.items()
            if not alias or table.lower() == alias.lower()
        ]
        exact = {output for known, output in here if known == name}
        found = exact or {output for known, output in here if known.lower() == name.lower()}
        if len(found) == 1:
            return found.pop()
        written = f"{alias}.{name}" if alias else name
        if found:
            tables = " or ".join(f"{table}.{known}" for (table, known) in self._columns if known == name)
            raise self.error(column, f"column {written!r} may mean more than one; write {tables}")
        names = sorted({f"{table}.{known}" if alias else known for (table, known) in self._columns})
        raise self.error(column, f"there is no column {written!r}. {did_you_mean(written, names)}")

    def starred(self, star: Any) -> list[tuple[str, str]]:
        """What ``*`` or ``table.*`` stands for: the name and the output name of each column."""
        alias = star.table if isinstance(star, exp.Column) else ""
        if not alias:
            return [(output, output) for output in self._shown]
        own = {known: output for (table, known), output in self._columns.items() if table.lower() == alias.lower()}
        if not own:
            raise self.error(star, f"there is no table {alias!r} in this query")
        return [(output if output in self._shown else known, output) for known, output in own.items()]

    def error(self, node: Any, message: str) -> Exception:
        """An error that points at a part of the query."""
        return error_at(self._text, place(node), message)
