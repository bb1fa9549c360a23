"""Which rows of a pattern's streams can still be part of a new match."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from timeloom.model.pattern import Constraint, Pattern
from timeloom.model.ticks import FOREVER
from timeloom.streaming.final.decisions import Decisions
from timeloom.streaming.final.pairs import Rows, possible_pairs
from timeloom.streaming.final.rows import Mask


class _Link(NamedTuple):
    """Pairs of one constraint that may be in its relation; and which rows of either side can get partners yet to come.

    ``undecided`` are the pairs that are not certain.
    """

    left: str
    right: str
    lefts: Rows
    rights: Rows
    undecided: Mask
    coming_left: Mask
    coming_right: Mask


def kept_rows(
    pattern: Pattern, decisions: Mapping[Constraint, Decisions], sides: Mapping[str, Any], complete: int
) -> tuple[dict[str, Mask], int]:
    """The rows that are kept of each stream, and when something becomes certain although nothing comes.

    A row goes when a relation leaves it no partner, known or yet to come. It also goes when all that it may still be
    part of is known and certain: then all its matches have left.
    """
    links, wake = [], FOREVER
    for one in pattern.constraints:
        link, instant = _link(one, decisions[one], sides, complete)
        links.append(link)
        wake = min(wake, instant)
    possible = _with_partners(links, {name: np.ones(sides[name].keys.size, np.bool_) for name in pattern.names})
    return _unsettled(links, possible), wake


def _link(one: Constraint, decisions: Decisions, sides: Mapping[str, Any], complete: int) -> tuple[_Link, int]:
    left, right = sides[one.left], sides[one.right]
    lefts, rights = possible_pairs(decisions, left.spans, left.keys, right.spans, right.keys, complete)
    certain = decisions.certainly_in(left.spans.at(lefts), right.spans.at(rights))
    later = certain > complete
    coming = decisions.without_future(left.spans) > complete
    returning = decisions.inverse().without_future(right.spans) > complete
    link = _Link(one.left, one.right, lefts, rights, later, coming, returning)
    return link, int(certain[later].min(initial=FOREVER))


def _with_partners(links: list[_Link], alive: dict[str, Mask]) -> dict[str, Mask]:
    """Rows to which every relation leaves a partner, as long as that one has partners itself."""
    changed = True
    while changed:
        changed = False
        for link in links:
            both = alive[link.left][link.lefts] & alive[link.right][link.rights]
            for name, rows, coming in (
                (link.left, link.lefts, link.coming_left),
                (link.right, link.rights, link.coming_right),
            ):
                found = coming.copy()
                found[rows[both]] = True
                if (alive[name] & ~found).any():
                    alive[name] &= found
                    changed = True
    return alive


def _unsettled(links: list[_Link], alive: dict[str, Mask]) -> dict[str, Mask]:
    """Rows that are in touch with anything that is not certain, or has not come."""
    found = {name: np.zeros(mask.size, np.bool_) for name, mask in alive.items()}
    for link in links:
        found[link.left] |= link.coming_left
        found[link.right] |= link.coming_right
        found[link.left][link.lefts[link.undecided]] = True
        found[link.right][link.rights[link.undecided]] = True
    found = {name: mask & alive[name] for name, mask in found.items()}
    changed = True
    while changed:
        before = sum(int(mask.sum()) for mask in found.values())
        for link in links:
            both = alive[link.left][link.lefts] & alive[link.right][link.rights]
            lefts, rights = link.lefts[both], link.rights[both]
            touched = found[link.left][lefts] | found[link.right][rights]
            found[link.left][lefts[touched]] = True
            found[link.right][rights[touched]] = True
        changed = sum(int(mask.sum()) for mask in found.values()) > before
    return found
