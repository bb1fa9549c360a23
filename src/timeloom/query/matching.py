"""Two tables made ready for a join by a verb: no name twice, keys beside the columns that they are copies of."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from timeloom.query.sources import Cells, Star, Table
from timeloom.query.writing import Run

Column = tuple[str, str, str]


@dataclass
class Sides:
    """Both sides of a join, with the names that columns have in its result."""

    left: Any
    right: Any
    left_table: Table
    right_table: Table
    keys: list[str]
    shared: dict[str, tuple[str, str]]
    left_period: tuple[str, str]
    right_period: tuple[str, str]

    @property
    def aliases(self) -> list[str]:
        """The tables on both sides."""
        return [cells.alias for table in (self.left_table, self.right_table) for cells in table.cells.values()]

    def result(self, kind: str, *, without: Sequence[str] = ()) -> Table:
        """The columns of the result; ``without`` are right columns that it does not have."""
        left = _marked(self.left_table, kind in ("right", "full"))
        if kind in ("semi", "anti"):
            return Table(None, left.cells, dict(left.shared), list(left.stars))
        right = _without(_marked(self.right_table, kind in ("left", "full")), without)
        shared = {**left.shared, **right.shared, **self.shared}
        return Table(None, {**left.cells, **right.cells}, shared, _stars(left, right, self.shared))


def shaped_sides(
    run: Run,
    left: Table,
    right: Table,
    keys: "tuple[tuple[Column, Column], ...]",
    periods: tuple[tuple[str, str], tuple[str, str]],
) -> Sides:
    """Choose and name the columns of both sides."""
    clashes = left.names() & right.names()
    chosen: list[tuple[Table, dict[str, str]]] = []
    for table, period in zip((left, right), periods, strict=True):
        chosen.append(_renamed(run, table, clashes, period))
    names: list[str] = []
    shared: dict[str, tuple[str, str]] = {}
    copies: tuple[list[tuple[str, str]], list[tuple[str, str]]] = ([], [])
    for pair in keys:
        same = pair[0][2] == pair[1][2] and pair[0][2] not in shared
        label = left.cells[pair[0][1]].columns[pair[0][2]][0]
        name = label if same else run.fresh()
        if same:
            shared[label.lower()] = (label, name)
        names.append(name)
        for at, table in enumerate((left, right)):
            copies[at].append((str(table.cells[pair[at][1]].column(pair[at][2])), name))
    frames = [
        run.session.shaped(table.frame, [*((column, new) for column, new in renames.items()), *copies[at]])
        for at, (table, (_, renames)) in enumerate(zip((left, right), chosen, strict=True))
    ]
    (left_table, left_names), (right_table, right_names) = chosen
    return Sides(
        frames[0],
        frames[1],
        left_table,
        right_table,
        names,
        shared,
        (left_names[periods[0][0]], left_names[periods[0][1]]),
        (right_names[periods[1][0]], right_names[periods[1][1]]),
    )


def _renamed(run: Run, table: Table, clashes: set[str], period: tuple[str, str]) -> tuple[Table, dict[str, str]]:
    """The table with the columns that the query may need, none of them named like one of the other side."""
    renames: dict[str, str] = {}

    def new(name: str, label: str, column: str) -> str | None:
        if column not in renames:
            if not run.mentions(label) and column not in period:
                return None
            clear = name not in clashes or column.lower() != name
            renames[column] = column if clear else run.fresh(label)
        return renames[column]

    cells = {}
    for alias, own in table.cells.items():
        for name in own.period:
            column = own.column(name)
            if column is not None and column not in renames:
                clear = name.lower() not in clashes or column.lower() != name.lower()
                renames[column] = column if clear else run.fresh(f"{own.alias}.{name}")
        kept = {name: (label, new(name, label, column)) for name, (label, column) in own.columns.items()}
        columns = {name: (label, column) for name, (label, column) in kept.items() if column is not None}
        cells[alias] = Cells(own.alias, own.period, columns, own.nullable, own.declared)
    shared = {}
    for name, (label, column) in table.shared.items():
        found = new(name, label, column)
        if found is not None and name not in clashes:
            shared[name] = (label, found)
    stars: list[Star] = [(label, renames[column]) for label, column in table.stars if column in renames]
    return Table(None, cells, shared, stars), renames


def _marked(table: Table, nullable: bool) -> Table:
    cells = {
        alias: Cells(own.alias, own.period, own.columns, own.nullable or nullable, own.declared)
        for alias, own in table.cells.items()
    }
    return Table(None, cells, table.shared, table.stars)


def _without(table: Table, dropped: Sequence[str]) -> Table:
    cells = {}
    for alias, own in table.cells.items():
        columns = {name: cell for name, cell in own.columns.items() if cell[1] not in dropped}
        cells[alias] = Cells(own.alias, own.period, columns, own.nullable, own.declared)
    return Table(None, cells, table.shared, [star for star in table.stars if star[1] not in dropped])


def _stars(left: Table, right: Table, shared: dict[str, tuple[str, str]]) -> list[Star]:
    """Columns that both sides have in common are shown once, others of equal names with a suffix."""
    keys = {name: column for name, (_, column) in shared.items()}
    result = [(label, keys.get(label.lower(), column)) for label, column in left.stars]
    taken = {label.lower() for label, _ in result}
    for label, column in right.stars:
        if label.lower() in keys:
            continue
        shown = label
        while shown.lower() in taken:
            shown = f"{shown}_right"
        taken.add(shown.lower())
        result.append((shown, column))
    return result
