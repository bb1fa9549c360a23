"""The ISEQL relations: non-strict, and limited by delta (distance of starts) and epsilon (distance of ends)."""

from collections.abc import Callable

from timeloom.errors import UsageError
from timeloom.model.box import Box
from timeloom.model.relation import Relation
from timeloom.model.ticks import Span, parse_span


def start_preceding(*, delta: "Span | str | None" = None) -> Relation:
    """r starts first (or together), and s starts while r lasts; the starts are at most delta apart."""
    limit = _limit("delta", delta)
    return Relation.of([Box(start_start=(0, limit), start_end=(None, -1))], "iseql.start_preceding")


def end_following(*, epsilon: "Span | str | None" = None) -> Relation:
    """s ends while r lasts, or together with it; the ends are at most epsilon apart."""
    limit = _limit("epsilon", epsilon)
    return Relation.of([Box(end_start=(1, None), end_end=(_negative(limit), 0))], "iseql.end_following")


def before(*, delta: "Span | str | None" = None) -> Relation:
    """r ends no later than s starts, at most delta earlier."""
    return Relation.of([Box(start_end=(0, _limit("delta", delta)))], "iseql.before")


def left_overlap(*, delta: "Span | str | None" = None, epsilon: "Span | str | None" = None) -> Relation:
    """s starts while r lasts and ends no earlier than r; starts within delta, ends within epsilon."""
    starts, ends = _limit("delta", delta), _limit("epsilon", epsilon)
    return Relation.of([Box(start_start=(0, starts), start_end=(None, -1), end_end=(0, ends))], "iseql.left_overlap")


def during(*, delta: "Span | str | None" = None, epsilon: "Span | str | None" = None) -> Relation:
    """r lies within s; starts within delta, ends within epsilon."""
    starts, ends = _limit("delta", delta), _limit("epsilon", epsilon)
    return Relation.of([Box(start_start=(_negative(starts), 0), end_end=(0, ends))], "iseql.during")


def after(*, delta: "Span | str | None" = None) -> Relation:
    """The inverse of `before`: s ends no later than r starts, at most delta earlier."""
    return Relation.of((~before(delta=delta)).terms, "iseql.after")


def right_overlap(*, delta: "Span | str | None" = None, epsilon: "Span | str | None" = None) -> Relation:
    """The inverse of `left_overlap`; delta still limits the starts, epsilon the ends."""
    return Relation.of((~left_overlap(delta=delta, epsilon=epsilon)).terms, "iseql.right_overlap")


def contains(*, delta: "Span | str | None" = None, epsilon: "Span | str | None" = None) -> Relation:
    """The inverse of `during`: s lies within r."""
    return Relation.of((~during(delta=delta, epsilon=epsilon)).terms, "iseql.contains")


MAKERS: dict[str, tuple[Callable[..., Relation], frozenset[str]]] = {
    "start_preceding": (start_preceding, frozenset({"delta"})),
    "end_following": (end_following, frozenset({"epsilon"})),
    "before": (before, frozenset({"delta"})),
    "left_overlap": (left_overlap, frozenset({"delta", "epsilon"})),
    "during": (during, frozenset({"delta", "epsilon"})),
    "after": (after, frozenset({"delta"})),
    "right_overlap": (right_overlap, frozenset({"delta", "epsilon"})),
    "contains": (contains, frozenset({"delta", "epsilon"})),
}
"""Each relation's maker and the limits that it takes."""


def _limit(option: str, value: "Span | str | None") -> Span | None:
    if value is None:
        return None
    span = parse_span(value, option)
    if span < type(span)(0):  # type: ignore[operator]
        raise UsageError(f"{option}={value!r} is negative; give the largest allowed distance, 0 or more")
    return span


def _negative(limit: Span | None) -> Span | None:
    return None if limit is None else -limit
