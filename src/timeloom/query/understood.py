"""What of a parsed query is understood: every kind of part, and every argument of it, by name.

The list is closed. A part that is not in it, or an argument that is set and not in it, is refused, so that nothing that
somebody wrote is ever left out of what runs.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from sqlglot import exp

from timeloom.errors import UsageError
from timeloom.query.aggregates import EXPECTED, NODES
from timeloom.query.parse import STAND_IN, place
from timeloom.query.text import error_at

_BINARY = (
    *(exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.And, exp.Or, exp.Add, exp.Sub, exp.Mul, exp.Mod),
    *(exp.Is, exp.Like, exp.ILike),
)
_OF_ONE = (
    *(exp.Not, exp.Neg, exp.Abs, exp.Lower, exp.Upper, exp.Length, exp.Floor, exp.Ceil, exp.Paren, exp.Where),
    *(exp.Having, exp.From, exp.Table, exp.Boolean, exp.Var),
)

UNDERSTOOD: dict[type, tuple[str, ...]] = {
    exp.Select: ("expressions", "from_", "where", "group", "having", "order", "limit", "offset", "distinct"),
    exp.Group: ("expressions",),
    exp.Order: ("expressions",),
    exp.Ordered: ("this", "desc", "nulls_first"),
    exp.Limit: ("expression",),
    exp.Offset: ("expression",),
    exp.Distinct: ("expressions",),
    exp.Alias: ("this", "alias"),
    exp.Identifier: ("this", "quoted"),
    exp.Column: ("this", "table"),
    exp.Star: (),
    exp.Null: (),
    exp.Literal: ("this", "is_string"),
    exp.Interval: ("this", "unit"),
    exp.Case: ("this", "ifs", "default"),
    exp.If: ("this", "true"),
    exp.Between: ("this", "low", "high"),
    exp.In: ("this", "expressions"),
    exp.Coalesce: ("this", "expressions"),
    exp.Round: ("this", "decimals"),
    exp.Cast: ("this", "to"),
    exp.DataType: ("this", "expressions"),
    exp.DataTypeParam: ("this",),
    exp.Div: ("this", "expression", "typed", "safe"),
    exp.DPipe: ("this", "expression", "safe"),
    **dict.fromkeys(_BINARY, ("this", "expression")),
    **dict.fromkeys(_OF_ONE, ("this",)),
    **dict.fromkeys(NODES, ("this",)),
    exp.Count: ("this", "big_int"),
}

_REMEDIES = {
    "rollup": "GROUP BY takes expressions; run one query for each grouping",
    "cube": "GROUP BY takes expressions; run one query for each grouping",
    "grouping_sets": "GROUP BY takes expressions; run one query for each grouping",
    "all": "name the columns after GROUP BY",
    "on": "DISTINCT compares whole rows; use GROUP BY with MIN or MAX",
    "limit_options": "LIMIT takes a number of rows",
    "expressions": "expected one argument",
    "hint": "leave it out",
    "symmetric": "put the lower end first",
    "escape": "LIKE knows % and _ only",
    "except_": "name the columns",
    "except": "name the columns",
    "replace": "name the columns",
    "format": "CAST takes a type",
    "db": "expected a column, or a table and a column",
}


def check_understood(select: Any, text: str, clauses: Mapping[str, int], *, functions: bool) -> None:
    """Refuse whatever is not understood. With ``functions``, any scalar function is handed on as it is written."""
    for node, fallback in _parts(select, clauses):
        where = place(node) or fallback
        known = UNDERSTOOD.get(type(node))
        if known is None:
            if functions and isinstance(node, exp.Func) and not isinstance(node, exp.AggFunc):
                continue
            raise _unknown(node, text, where)
        for name, value in node.args.items():
            if _is_set(value) and name not in known:
                shown = ", ".join(str(one) for one in value) if isinstance(value, list) else value
                shown = name.strip("_").upper().replace("_", " ") if isinstance(value, bool) else str(shown)
                remedy = _REMEDIES.get(name, "leave it out, or compute it from another query's result")
                at = place(value) if isinstance(value, list | exp.Expression) else 0
                raise error_at(text, at or where, f"found {shown[:60]!r}, which is not understood here; {remedy}")
        if isinstance(node, exp.Table) and node.name != STAND_IN:
            raise error_at(text, where, f"found the table {node.name!r}, expected it after FROM only")
        if isinstance(node, exp.Group) and not node.expressions:
            raise error_at(text, where, "found nothing after GROUP BY, expected expressions")


def _parts(select: Any, clauses: Mapping[str, int]) -> Iterator[tuple[Any, int]]:
    """All parts of a query, and where the clause begins that each stands in."""
    waiting = [(select, 0)]
    while waiting:
        node, fallback = waiting.pop()
        yield node, fallback
        for name, value in node.args.items():
            begin = clauses.get(name, fallback) if node is select else fallback
            children = value if isinstance(value, list) else [value]
            waiting += [(child, begin) for child in reversed(children) if isinstance(child, exp.Expression)]


def _is_set(value: Any) -> bool:
    return value is not None and value is not False and value != []


def _unknown(node: Any, text: str, where: int) -> UsageError:
    if isinstance(node, exp.Subquery | exp.Select | exp.Window):
        what = "OVER" if isinstance(node, exp.Window) else "a nested query"
        return error_at(text, where, f"found {what}, expected plain expressions; use the result of another query")
    if isinstance(node, exp.AggFunc):
        return error_at(
            text,
            where,
            f"the aggregate {node.sql()[:60]} is not supported; expected {EXPECTED}",
        )
    return error_at(
        text,
        where,
        f"{node.sql()[:60]} is not supported here; expected columns, literals, arithmetic, comparisons, CASE, "
        "COALESCE, CAST, BETWEEN, IN, LIKE, ABS, ROUND, LOWER, UPPER, LENGTH",
    )
