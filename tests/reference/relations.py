"""Interval relations by their formal definitions, and joins by nested loops.

Periods are half-open tuples ``(start, end)``; ``r`` is the left one, ``s`` the right. Every predicate takes
``(r, s, delta, epsilon)``, where None is a relaxed parameter, and ignores the parameters it does not have.
Definitions: sweeping paper, table 1. Python integers have no width, so nothing here can overflow.
"""

from collections.abc import Callable, Hashable, Sequence

Span = tuple[int, int]
Predicate = Callable[..., bool]


def within(distance: int, limit: int | None) -> bool:
    return limit is None or distance <= limit


def inverse(predicate: Predicate) -> Predicate:
    """The same predicate with the two sides exchanged; delta and epsilon keep their meaning."""
    return lambda r, s, delta=None, epsilon=None: predicate(s, r, delta, epsilon)


def before(r: Span, s: Span, delta: int | None = None, epsilon: int | None = None) -> bool:
    return r[1] < s[0]


def meets(r: Span, s: Span, delta: int | None = None, epsilon: int | None = None) -> bool:
    return r[1] == s[0]


def overlaps(r: Span, s: Span, delta: int | None = None, epsilon: int | None = None) -> bool:
    return r[0] < s[0] < r[1] < s[1]


def starts(r: Span, s: Span, delta: int | None = None, epsilon: int | None = None) -> bool:
    return r[0] == s[0] and r[1] < s[1]


def during(r: Span, s: Span, delta: int | None = None, epsilon: int | None = None) -> bool:
    return s[0] < r[0] and r[1] < s[1]


def finishes(r: Span, s: Span, delta: int | None = None, epsilon: int | None = None) -> bool:
    return s[0] < r[0] and r[1] == s[1]


def equals(r: Span, s: Span, delta: int | None = None, epsilon: int | None = None) -> bool:
    return r[0] == s[0] and r[1] == s[1]


def intersects(r: Span, s: Span, delta: int | None = None, epsilon: int | None = None) -> bool:
    return r[0] < s[1] and s[0] < r[1]


def start_preceding(r: Span, s: Span, delta: int | None = None, epsilon: int | None = None) -> bool:
    return r[0] <= s[0] < r[1] and within(s[0] - r[0], delta)


def end_following(r: Span, s: Span, delta: int | None = None, epsilon: int | None = None) -> bool:
    return r[0] < s[1] <= r[1] and within(r[1] - s[1], epsilon)


def loosely_before(r: Span, s: Span, delta: int | None = None, epsilon: int | None = None) -> bool:
    return r[1] <= s[0] and within(s[0] - r[1], delta)


def left_overlap(r: Span, s: Span, delta: int | None = None, epsilon: int | None = None) -> bool:
    return r[0] <= s[0] < r[1] <= s[1] and within(s[0] - r[0], delta) and within(s[1] - r[1], epsilon)


def loosely_during(r: Span, s: Span, delta: int | None = None, epsilon: int | None = None) -> bool:
    return s[0] <= r[0] and r[1] <= s[1] and within(r[0] - s[0], delta) and within(s[1] - r[1], epsilon)


ALLEN: dict[str, Predicate] = {
    "before": before,
    "meets": meets,
    "overlaps": overlaps,
    "starts": starts,
    "during": during,
    "finishes": finishes,
    "equals": equals,
    "after": inverse(before),
    "met_by": inverse(meets),
    "overlapped_by": inverse(overlaps),
    "started_by": inverse(starts),
    "contains": inverse(during),
    "finished_by": inverse(finishes),
}

ISEQL: dict[str, Predicate] = {
    "iseql.start_preceding": start_preceding,
    "iseql.end_following": end_following,
    "iseql.before": loosely_before,
    "iseql.left_overlap": left_overlap,
    "iseql.during": loosely_during,
    "iseql.after": inverse(loosely_before),
    "iseql.right_overlap": inverse(left_overlap),
    "iseql.contains": inverse(loosely_during),
}

RELATIONS: dict[str, Predicate] = {**ALLEN, "intersects": intersects, **ISEQL}

PARAMETERS: dict[str, tuple[str, ...]] = {
    "iseql.start_preceding": ("delta",),
    "iseql.end_following": ("epsilon",),
    "iseql.before": ("delta",),
    "iseql.after": ("delta",),
    "iseql.left_overlap": ("delta", "epsilon"),
    "iseql.right_overlap": ("delta", "epsilon"),
    "iseql.during": ("delta", "epsilon"),
    "iseql.contains": ("delta", "epsilon"),
}
"""Which relations have which parameters; all others have none."""


def same_key(left: Hashable, right: Hashable) -> bool:
    """Equality keys match when they are equal and not null (nor hold a null)."""
    parts = left if isinstance(left, tuple) else (left,)
    return left == right and None not in parts


def join_pairs(
    left: Sequence[Span],
    right: Sequence[Span],
    predicate: Predicate,
    delta: int | None = None,
    epsilon: int | None = None,
    left_keys: Sequence[Hashable] | None = None,
    right_keys: Sequence[Hashable] | None = None,
) -> list[tuple[int, int]]:
    """Positions (i, j) of all pairs in relation, sorted."""
    if (left_keys is None) != (right_keys is None):
        raise ValueError("keys of one side only")
    return [
        (i, j)
        for i, r in enumerate(left)
        for j, s in enumerate(right)
        if (left_keys is None or right_keys is None or same_key(left_keys[i], right_keys[j]))
        and predicate(r, s, delta, epsilon)
    ]


def outer_pairs(
    pairs: Sequence[tuple[int, int]], n_left: int, n_right: int, how: str
) -> list[tuple[int | None, int | None]]:
    """The inner pairs, and after them the rows of the kept side(s) that have no partner."""
    matched_left = {i for i, _ in pairs}
    matched_right = {j for _, j in pairs}
    rows: list[tuple[int | None, int | None]] = list(pairs)
    if how in ("left", "full"):
        rows += [(i, None) for i in range(n_left) if i not in matched_left]
    if how in ("right", "full"):
        rows += [(None, j) for j in range(n_right) if j not in matched_right]
    return rows


def semi_rows(pairs: Sequence[tuple[int, int]]) -> list[int]:
    """Left rows with at least one partner, each once, sorted."""
    return sorted({i for i, _ in pairs})


def anti_rows(pairs: Sequence[tuple[int, int]], n_left: int) -> list[int]:
    """Left rows without a partner, sorted."""
    matched = {i for i, _ in pairs}
    return [i for i in range(n_left) if i not in matched]
