"""The clauses of an ordinary SELECT, with aliases and ordinals resolved."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from timeloom.model.ticks import MAX_TICK
from timeloom.query.parse import place
from timeloom.query.text import error_at, whole_number

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


def clauses_of(select: Any, text: str, columns: Collection[str]) -> Clauses:
    """Read the clauses of a parsed SELECT. In GROUP BY a column of the tables goes before an alias, as in SQL."""
    items = tuple((_name(node), node.unalias()) for node in select.expressions)
    names = [name for name, node in items if not is_star(node)]
    for name in names:
        if names.count(name) > 1:
            raise error_at(text, place(select), f"two results are called {name!r}; give one an alias with AS")
    group, order = select.args.get("group"), select.args.get("order")
    own = {column.lower() for column in columns}
    keys = tuple(_behind_alias(node, items, text, own) for node in (group.expressions if group else ()))
    clauses = Clauses(
        items=items,
        where=select.args["where"].this if select.args.get("where") else None,
        keys=keys,
        having=_having(select, items, text, keys),
        order=tuple(
            SortKey(
                _behind_alias(part.this, items, text), bool(part.args.get("desc")), bool(part.args.get("nulls_first"))
            )
            for part in (order.expressions if order else ())
        ),
        distinct=bool(select.args.get("distinct")),
        offset=_number(select, "offset", text) or 0,
        limit=_number(select, "limit", text),
    )
    if clauses.having is not None and not clauses.aggregated:
        raise error_at(text, place(clauses.having), "HAVING needs GROUP BY or an aggregate; expected WHERE")
    for clause, nodes in (("WHERE", [clauses.where] if clauses.where else []), ("GROUP BY", keys)):
        for aggregate in (found for node in nodes for found in node.find_all(exp.AggFunc)):
            raise error_at(text, place(aggregate), f"{aggregate.sql()} stands in {clause}; expected it in HAVING")
    return clauses


def _having(select: Any, items: tuple[Item, ...], text: str, keys: tuple[Node, ...]) -> Node | None:
    """The condition on groups, with aliases resolved; a key goes before an alias of the same name."""
    having = select.args.get("having")
    if not having:
        return None
    own = {key.name.lower() for key in keys if isinstance(key, exp.Column)}

    def resolved(node: Node) -> Node:
        return _behind_alias(node, items, text, own) if isinstance(node, exp.Column) else node

    return having.this.transform(resolved)


def _name(node: Node) -> str:
    return str(node.alias or (node.name if isinstance(node, exp.Column) else node.sql().lower()))


def _behind_alias(node: Node, items: tuple[Item, ...], text: str, own: Collection[str] = ()) -> Node:
    """The expression behind an alias or an ordinal of the select list; names in ``own`` mean columns."""
    if isinstance(node, exp.Literal) and not node.is_string:
        at = whole_number(node.this) or 0
        if not 1 <= at <= len(items):
            raise error_at(text, place(node), f"there is no column {node.this} in the select list of {len(items)}")
        if is_star(items[at - 1][1]):
            raise error_at(text, place(node), f"column {at} of the select list is *; name the column")
        return items[at - 1][1]
    if isinstance(node, exp.Column) and not node.table and node.name.lower() not in own:
        for name, expression in items:
            if name.lower() == node.name.lower() and not is_star(expression):
                return expression
    return node


def _number(select: Any, clause: str, text: str) -> int | None:
    node = select.args.get(clause)
    if node is None:
        return None
    value = node.expression
    number = whole_number(value.this) if isinstance(value, exp.Literal) and not value.is_string else None
    if number is None:
        raise error_at(text, place(node), f"{clause.upper()} needs a whole number of at least 0")
    return min(number, MAX_TICK)
