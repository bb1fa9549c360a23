"""Patterns of named events as data: which relations hold between which, and in which order they are joined."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from timeloom.errors import UsageError, did_you_mean, shown
from timeloom.model.names import relation as find_relation
from timeloom.model.options import is_text
from timeloom.model.period import Period
from timeloom.model.policy import Policy
from timeloom.model.relation import Relation
from timeloom.model.ticks import Axis

FIXED, BOUNDED = 4, 1
"""What bounds are worth when the most selective relation is looked for: a distance that is fixed, or one limit."""


@dataclass(frozen=True)
class Constraint:
    """A relation between the events of two names."""

    left: str
    right: str
    relation: Relation

    def seen_from(self, name: str) -> "Constraint":
        """The same with this name on the left."""
        return self if name == self.left else Constraint(self.right, self.left, ~self.relation)

    def weight(self, axis: Axis) -> int:
        """How selective it is: bounds of its widest box."""
        boxes = self.relation.boxes(axis)
        return min((_bounds(box.tight().ranges) for box in boxes), default=FIXED * FIXED)  # type: ignore[union-attr]


@dataclass(frozen=True)
class Step:
    """The next name of a chain: joined by one relation with a name that is bound, and judged by all others."""

    name: str
    driver: Constraint
    residuals: tuple[Constraint, ...]

    def __str__(self) -> str:
        parts = [f"{self.driver.left} {self.driver.relation.name} {self.name}"]
        parts += [f"{other.left} {other.relation.name} {self.name}" for other in self.residuals]
        return ", ".join(parts)


@dataclass(frozen=True)
class Pattern:
    """Names, and the relations between them: one for each pair at the most, every name reached."""

    names: tuple[str, ...]
    constraints: tuple[Constraint, ...]

    @classmethod
    def of(cls, names: Iterable[Any], relations: Any) -> "Pattern":
        """Read ``[("a", "before", "b"), …]``; relations between the same names must all hold."""
        known = tuple(names)
        for name in known:
            if not is_text(name) or not name:
                raise UsageError(f"a table of the pattern is named {shown(name)}; give a text")
        if len(known) < 2:
            raise UsageError("a pattern needs two tables or more, by name: {'a': …, 'b': …}")
        found: dict[frozenset[str], Constraint] = {}
        for given in _triples(relations):
            constraint = _constraint(given, known)
            pair = frozenset((constraint.left, constraint.right))
            if pair in found:
                before = found[pair]
                both = before.relation & constraint.seen_from(before.left).relation
                constraint = Constraint(before.left, before.right, both)
            found[pair] = constraint
        pattern = cls(known, tuple(found.values()))
        pattern._require_connected()
        return pattern

    def steps(self, axis: Axis) -> tuple[str, tuple[Step, ...]]:
        """The name that a chain of joins begins with, and how it goes on: the most selective relations first."""
        weights = {constraint: constraint.weight(axis) for constraint in self.constraints}
        best = max(self.constraints, key=lambda constraint: weights[constraint])
        bound, steps = [best.left], []
        while len(bound) < len(self.names):
            open_ones = [one for one in self.constraints if (one.left in bound) != (one.right in bound)]
            driver = max(open_ones, key=lambda constraint: weights[constraint])
            name = driver.right if driver.left in bound else driver.left
            others = [one for one in open_ones if one is not driver and name in (one.left, one.right)]
            oriented = [one.seen_from(one.left if one.left != name else one.right) for one in (driver, *others)]
            steps.append(Step(name, oriented[0], tuple(oriented[1:])))
            bound.append(name)
        return best.left, tuple(steps)

    def require_possible(self, axis: Axis) -> None:
        """Refuse relations that no two periods can be in."""
        for one in self.constraints:
            if not one.relation.boxes(axis):
                raise UsageError(
                    f"{one.left!r} and {one.right!r} can never be in {one.relation.name!r}; the pattern has no match"
                )

    def _require_connected(self) -> None:
        bound, grown = {self.names[0]}, True
        while grown:
            more = {n for one in self.constraints if {one.left, one.right} & bound for n in (one.left, one.right)}
            grown, bound = not more <= bound, bound | more
        alone = [name for name in self.names if name not in bound]
        if alone:
            raise UsageError(
                f"no relation leads from {self.names[0]!r} to {', '.join(map(repr, alone))}; name one for each table, "
                "so that its rows can be found by time"
            )


@dataclass(frozen=True)
class PatternRequest:
    """One call of ``pattern``."""

    pattern: Pattern
    keys: tuple[str, ...]
    periods: dict[str, Period]
    policy: Policy
    columns: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.policy.on_invalid == "quarantine":
            raise UsageError("on_invalid='quarantine' is for verbs of one or two tables; check them before, or 'drop'")

    def output(self, given: Mapping[str, list[str]]) -> dict[str, tuple[str, str]]:
        """The columns of the result, each with its table and the name that it has there; keys come from the first."""
        found = {name: (self.pattern.names[0], name) for name in self.keys}
        for table, names in given.items():
            for name in names:
                if name in self.keys:
                    continue
                made = f"{table}_{name}"
                if made in found:
                    raise UsageError(f"the result would have more than one column named {made!r}; rename one")
                found[made] = table, name
        if self.columns is None:
            return found
        for name in self.columns:
            if name not in found:
                raise UsageError(
                    f"columns= asks for {name!r}, which the result does not have. {did_you_mean(name, found)}"
                )
        return {name: found[name] for name in self.columns}


def _triples(relations: Any) -> list[tuple[Any, Any, Any]]:
    listed = list(relations) if isinstance(relations, Iterable) and not isinstance(relations, str | Mapping) else []
    if not listed:
        raise UsageError(
            f"relations={shown(relations)} says nothing; give a list of triples, such as [('a', 'before', 'b')]"
        )
    for given in listed:
        if not isinstance(given, tuple | list) or len(given) != 3:
            raise UsageError(
                f"{shown(given)} is no relation between two tables; give triples such as ('a', 'before', 'b')"
            )
    return [(given[0], given[1], given[2]) for given in listed]


def _constraint(given: tuple[Any, Any, Any], names: tuple[str, ...]) -> Constraint:
    left, relation, right = given
    for name in (left, right):
        if name not in names:
            raise UsageError(f"a relation speaks of {shown(name)}, which is no table. {did_you_mean(name, names)}")
    if left == right:
        raise UsageError(f"{shown(given)} holds a table against itself; give the same table a second name")
    return Constraint(left, right, find_relation(relation))


def _bounds(ranges: Iterable[tuple[Any, Any]]) -> int:
    return sum(
        FIXED if low is not None and low == high else BOUNDED * ((low is not None) + (high is not None))
        for low, high in ranges
    )
