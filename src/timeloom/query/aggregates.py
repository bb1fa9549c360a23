"""Aggregates in a query: found in the expressions, and replaced by the columns that hold their results."""

from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from timeloom.model.measures import Measure
from timeloom.query.clauses import Clauses, Item
from timeloom.query.scope import Scope, output_column, unused

_FUNCTIONS: dict[type, str] = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
    exp.Stddev: "stddev",
    exp.StddevSamp: "stddev",
    exp.Variance: "var",
    exp.First: "first",
    exp.Last: "last",
    exp.ArrayAgg: "collect",
}


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
    function = _FUNCTIONS.get(type(node))
    if function is None:
        known = ", ".join(sorted(set(_FUNCTIONS.values()) - {"collect"}))
        raise scope.error(node, f"the aggregate {node.sql()} is not supported; expected {known} or array_agg")
    argument = node.this
    if isinstance(argument, exp.Distinct):
        if function != "count" or len(argument.expressions) != 1:
            raise scope.error(node, f"{node.sql()} is not supported; expected COUNT(DISTINCT column)")
        return "count_distinct", argument.expressions[0]
    if isinstance(argument, exp.Star) or (function == "count" and isinstance(argument, exp.Literal)):
        return "count", None
    if argument.find(exp.AggFunc) is not None:
        raise scope.error(node, f"{node.sql()} nests aggregates; expected an expression over columns")
    return function, argument
