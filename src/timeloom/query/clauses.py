"""The clauses of an ordinary SELECT, with aliases and ordinals resolved."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from timeloom.query.parse import place
from timeloom.query.text import error_at

Node = Any
Item = tuple[str, Node]


@dataclass(frozen=True)
class SortKey:
    """An expression to sort by."""

    node: Node
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class Clauses:
    """What a query selects, and how it filters, groups and sorts."""

    items: tuple[Item, ...]
    where: Node | None
    keys: tuple[Node, ...]
    having: Node | None
    order: tuple[SortKey, ...]
    distinct: bool
    offset: int
    limit: int | None

    @property
    def aggregated(self) -> bool:
        """True if rows are grouped."""
        return bool(self.keys) or any(node.find(exp.AggFunc) is not None for node in self.nodes)

    @property
    def nodes(self) -> list[Node]:
        """All expressions that are evaluated after grouping."""
        having = [] if self.having is None else [self.having]
        return [*(node for _, node in self.items), *having, *(key.node for key in self.order)]

    def transformed(self, change: Callable[[Node], Node]) -> "Clauses":
        """Change every part of the expressions that are evaluated after grouping."""
        return replace(
            self,
            items=tuple((name, node.copy().transform(change)) for name, node in self.items),
            having=None if self.having is None else self.having.copy().transform(change),
            order=tuple(replace(key, node=key.node.copy().transform(change)) for key in self.order),
        )


def is_star(node: Node) -> bool:
    """Tell ``*`` and ``table.*``."""
    return isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star))


def clauses_of(select: Any, text: str) -> Clauses:
    """Read the clauses of a parsed SELECT."""
    items = tuple((_name(node), node.unalias()) for node in select.expressions)
    names = [name for name, node in items if not is_star(node)]
    for name in names:
        if names.count(name) > 1:
            raise error_at(text, place(select), f"two results are called {name!r}; give one an alias with AS")

    def resolved(node: Node) -> Node:
        return _behind_alias(node, items, text)

    group, having, order = (select.args.get(part) for part in ("group", "having", "order"))
    clauses = Clauses(
        items=items,
        where=select.args["where"].this if select.args.get("where") else None,
        keys=tuple(resolved(node) for node in group.expressions) if group else (),
        having=having.this.transform(lambda node: resolved(node) if isinstance(node, exp.Column) else node)
        if having
        else None,
        order=tuple(
            SortKey(resolved(part.this), bool(part.args.get("desc")), bool(part.args.get("nulls_first")))
            for part in (order.expressions if order else ())
        ),
        distinct=bool(select.args.get("distinct")),
        offset=_number(select, "offset", text) or 0,
        limit=_number(select, "limit", text),
    )
    if clauses.having is not None and not clauses.aggregated:
        raise error_at(text, place(clauses.having), "HAVING needs GROUP BY or an aggregate; expected WHERE")
    return clauses


def _name(node: Node) -> str:
    return str(node.alias or (node.name if isinstance(node, exp.Column) else node.sql().lower()))


def _behind_alias(node: Node, items: tuple[Item, ...], text: str) -> Node:
    """The expression behind an alias or an ordinal of the select list."""
    if isinstance(node, exp.Literal) and not node.is_string:
        at = int(node.this) if node.this.isdigit() else 0
        if not 1 <= at <= len(items):
            raise error_at(text, place(node), f"there is no column {node.this} in the select list of {len(items)}")
        return items[at - 1][1]
    if isinstance(node, exp.Column) and not node.table:
        for name, expression in items:
            if name.lower() == node.name.lower() and not is_star(expression):
                return expression
    return node


def _number(select: Any, clause: str, text: str) -> int | None:
    node = select.args.get(clause)
    if node is None:
        return None
    value = node.expression
    if not isinstance(value, exp.Literal) or not str(value.this).isdigit():
        raise error_at(text, place(node), f"{clause.upper()} needs a whole number of at least 0")
    return int(value.this)
