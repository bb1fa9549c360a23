"""Relations by name: ``"during"``, ``"iseql.before"``, ``"~iseql.start_preceding"``, ``"meets | before"``."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from timeloom.errors import UsageError, did_you_mean, shown
from timeloom.model import allen, iseql
from timeloom.model.relation import Relation
from timeloom.model.ticks import Span

RelationLike = str | Relation | Callable[..., Relation] | Iterable["str | Relation"]
"""A relation, its name, its maker (``tl.iseql.during``), names joined by ``|``, or a list, meaning any of them."""

ALL_NAMES = (*allen.NAMES, *(f"iseql.{name}" for name in iseql.MAKERS))


def relation(name: RelationLike, *, delta: "Span | str | None" = None, epsilon: "Span | str | None" = None) -> Relation:
    """Find a relation by its name.

    Parameters
    ----------
    name
        One of Allen's relations or ``intersects`` by its bare name, one of the ISEQL relations with the prefix
        ``iseql.``; ``~`` in front means the inverse; several, joined by ``|`` or in a list, mean any of them.
    delta, epsilon
        Limits on the distance of starts and of ends, for the ISEQL relations that take them.

    Examples
    --------
    >>> relation("iseql.before", delta=5)
    Relation(iseql.before: 0 <= s.start - r.end <= 5)
    >>> relation("meets | overlaps").holds((1, 3), (3, 4))
    True
    """
    limits = {"delta": delta, "epsilon": epsilon}
    given = {option: value for option, value in limits.items() if value is not None}
    if callable(name):
        name = f"iseql.{getattr(name, '__name__', '')}"
    if isinstance(name, Relation):
        return _without_limits(name, name.name, given)
    parts = _parts(name)
    if not parts:
        raise UsageError("no relation given; name at least one, such as 'intersects'")
    found = [part if isinstance(part, Relation) else _named(part, given) for part in parts]
    result = found[0]
    for other in found[1:]:
        result = result | other
    return result


def _parts(name: object) -> "list[str | Relation]":
    if isinstance(name, str):
        return [part.strip() for part in name.split("|")]
    parts: list[Any] = list(name) if isinstance(name, Iterable) and not isinstance(name, bytes | Mapping) else [name]
    for part in parts:
        if not isinstance(part, str | Relation):
            raise UsageError(f"relation={shown(name)} is no relation; give its name, a Relation, or a list of these")
    return parts


def _named(name: str, given: "dict[str, Span | str]") -> Relation:
    if name.startswith("~"):
        return ~_named(name[1:].strip(), given)
    if name in allen.NAMES:
        return _without_limits(getattr(allen, name), name, given)
    family, _, bare = name.partition(".")
    if family == "iseql" and bare in iseql.MAKERS:
        make, takes = iseql.MAKERS[bare]
        for option in given.keys() - takes:
            raise UsageError(f"relation {name!r} takes no {option}; it takes {' and '.join(sorted(takes))}")
        return make(**given)
    raise UsageError(f"unknown relation {name!r}. {did_you_mean(name, ALL_NAMES)}")


def _without_limits(found: Relation, name: str, given: "dict[str, Span | str]") -> Relation:
    for option in sorted(given):
        takers = [f"iseql.{bare}" for bare, (_, takes) in iseql.MAKERS.items() if option in takes]
        raise UsageError(f"relation {name!r} takes no {option}; these do: {', '.join(takers)}")
    return found
