"""Which column a name in a query means."""

from collections.abc import Iterable
from typing import Any

from sqlglot import exp

from timeloom.errors import did_you_mean
from timeloom.query.parse import place
from timeloom.query.text import error_at

OUTPUT = "__output"
"""The alias under which a column goes by its output name, for columns that ``*`` stands for."""


class Scope:
    """The columns of a source, by name and by table alias."""

    def __init__(self, text: str, columns: "dict[tuple[str, str], str]") -> None:
        """Take the output name of each (alias, column)."""
        self._text = text
        self._columns = columns

    @classmethod
    def of(cls, text: str, alias: str, names: Iterable[str]) -> "Scope":
        """The scope of one table."""
        return cls(text, {(alias, name): name for name in names})

    def resolve(self, column: exp.Column) -> str:
        """The output name of a column."""
        name, alias = column.name, column.table
        if alias == OUTPUT:
            return str(name)
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

    def names(self, star: Any) -> list[str]:
        """The output names that ``*`` or ``table.*`` stands for."""
        alias = star.table if isinstance(star, exp.Column) else ""
        found = [output for (table, _), output in self._columns.items() if not alias or table.lower() == alias.lower()]
        if not found:
            raise self.error(star, f"there is no table {alias!r} in this query")
        return list(dict.fromkeys(found))

    def error(self, node: Any, message: str) -> Exception:
        """An error that points at a part of the query."""
        return error_at(self._text, place(node), message)
