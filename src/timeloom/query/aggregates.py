"""Aggregates in a query: found in the expressions, and replaced by the columns that hold their results."""

from dataclasses import dataclass
from typing import Any

import sqlglot
from sqlglot import exp

from timeloom.model.aggregates import AGGREGATES
from timeloom.model.measures import Measure
from timeloom.query.clauses import Clauses, Item
from timeloom.query.scope import Scope, output_column, unused

_WRITTEN = {written: record for record in AGGREGATES.values() for written in record.sql}
EXPECTED = ", ".join(written.format("…") for written in sorted(_WRITTEN))


def _form(node: Any) -> tuple[type[exp.Expression], bool]:
    """The function of an aggregate, and whether it is of distinct values."""
    return type(node), isinstance(node.this, exp.Distinct)


_RECORDS = {_form(sqlglot.parse_one(written.format("x"))): record for written, record in _WRITTEN.items()}
NODES = tuple(kind for kind, distinct in _RECORDS if not distinct)
"""The nodes into which aggregates are parsed."""


@dataclass(frozen=True)
class Aggregates:
    """The aggregates of a query: columns to compute before, and measures over them."""

    arguments: list[Item]
    measures: tuple[Measure, ...]


def extract(clauses: Clauses, scope: Scope, columns: list[str]) -> tuple[Clauses, Aggregates]:
    """Replace each aggregate by a column; equal aggregates are computed once."""
    found: dict[str, Measure] = {}
    prefix = unused("aggregate_", columns)
    arguments: list[Item] = []

    def replaced(node: Any) -> Any:
        if not isinstance(node, exp.AggFunc):
            return node
        text = node.sql()
        if text not in found:
            name = f"{prefix}{len(found)}"
            function, argument = _read(node, scope)
            if argument is not None:
                arguments.append((f"{name}_of", argument))
            found[text] = Measure(name, function, None if argument is None else f"{name}_of")
        return output_column(found[text].name)

    changed = clauses.transformed(replaced)
    return changed, Aggregates(arguments, tuple(found.values()))


def _read(node: Any, scope: Scope) -> tuple[str, Any]:
    """The function of an aggregate, and what it is of; None for rows."""
    record, argument = _RECORDS.get(_form(node)), node.this
    if isinstance(argument, exp.Distinct) and len(argument.expressions) == 1:
        argument = argument.expressions[0]
    if isinstance(node.this, exp.Distinct) and (record is None or argument is node.this):
        expected = " or ".join(written.upper().format("column") for written in _WRITTEN if "distinct" in written)
        raise scope.error(node, f"{node.sql()} is not supported; expected {expected}")
    if record is None:
        raise scope.error(node, f"the aggregate {node.sql()} is not supported; expected {EXPECTED}")
    if isinstance(argument, exp.Star) or (record.of_rows and isinstance(argument, exp.Literal)):
        if not record.of_rows:
            raise scope.error(node, f"{node.sql()} is not supported; {record.name} needs a column")
        return record.name, None
    if argument.find(exp.AggFunc) is not None:
        raise scope.error(node, f"{node.sql()} nests aggregates; expected an expression over columns")
    return record.name, argument
