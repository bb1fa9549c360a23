"""Queries that only pick columns of one frame: the frame answers them, and its columns keep their types."""

from timeloom.model.sliding_windows import STEP
from timeloom.query.items import alias_of, output_name, without_alias
from timeloom.query.sources import Source, Table
from timeloom.query.structure import Range, Select
from timeloom.query.writing import Run

Picked = list[tuple[str, str]]
"""Columns of the frame, each with its name in the result."""


def picked(run: Run, select: Select, sources: list[Source], *, step: bool) -> "tuple[Table, Picked] | None":
    """The columns that a SELECT picks, or None if it does anything else."""
    plain = len(sources) == 1 and sources[0].ready and not select.clauses and select.head[1] - select.head[0] == 1
    if not plain:
        return None
    table = sources[0].table()
    result: Picked = []
    for item in select.items:
        found = _item(run, item, table)
        if found is None:
            return None
        result += found
    if step and not any(name.lower() == STEP for _, name in result):
        result.insert(0, (STEP, STEP))
    return table, result


def _item(run: Run, item: Range, table: Table) -> "Picked | None":
    tokens = run.tokens[slice(*without_alias(run, item))]
    name = None if alias_of(run, item) is None else output_name(run, item)
    if len(tokens) == 1 and tokens[0].kind == "STAR" and name is None:
        return [(column, label) for label, column in table.stars]
    alias = tokens[0].text.lower() if len(tokens) == 3 and tokens[1].kind == "DOT" else ""
    if alias and alias in table.cells:
        cells = table.cells[alias].columns
        if tokens[2].kind == "STAR" and name is None:
            return [(column, label) for label, column in cells.values()]
        return _column(cells.get(tokens[2].text.lower()), name) if tokens[2].is_name else None
    if len(tokens) == 1 and tokens[0].is_name:
        word = tokens[0].text.lower()
        owners = [cells.columns[word] for cells in table.cells.values() if word in cells.columns]
        found = table.shared.get(word) or (owners[0] if len(owners) == 1 else None)
        return _column(found, name)
    return None


def _column(found: "tuple[str, str] | None", name: str | None) -> "Picked | None":
    return None if found is None else [(found[1], name or found[0])]
