"""What verbs must answer, by brute force over Python numbers: rows as positions, periods as half-open ticks."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from reference import sequenced
from reference.relations import anti_rows, join_pairs, outer_pairs, semi_rows

Span = tuple[int, int]


class Ranks:
    """Ticks as small numbers, so that the reference, which walks from instant to instant, can take any ticks."""

    def __init__(self, *lists: Sequence[Span]) -> None:
        self.ticks = sorted({tick for spans in lists for span in spans for tick in span})
        self._rank = {tick: rank for rank, tick in enumerate(self.ticks)}

    def of(self, spans: Sequence[Span]) -> list[Span]:
        return [(self._rank[start], self._rank[end]) for start, end in spans]

    def back(self, *ranks: int) -> tuple[int, ...]:
        return tuple(self.ticks[rank] for rank in ranks)


def fits(left: Sequence[Any], right: Sequence[Any], keyed: bool) -> Callable[[int, int], bool]:
    """Whether the keys of two rows let them meet."""
    return lambda i, j: not keyed or (left[i] is not None and left[i] == right[j])


def join(
    left: list[Span],
    right: list[Span],
    predicate: Callable[..., bool],
    how: str,
    keys: Callable[[int, int], bool],
    limits: dict,
) -> list[tuple]:
    """Positions of pairs, of kept rows, or of left rows."""
    pairs = [(i, j) for i, j in join_pairs(left, right, predicate, **limits) if keys(i, j)]
    if how == "semi":
        return [(i,) for i in semi_rows(pairs)]
    if how == "anti":
        return [(i,) for i in anti_rows(pairs, len(left))]
    return outer_pairs(pairs, len(left), len(right), how)


def temporal_join(left: list[Span], right: list[Span], how: str, keys: Callable[[int, int], bool]) -> list[tuple]:
    """(left, right, start, end) of every piece."""
    ranks = Ranks(left, right)
    rows = sequenced.outer_join(ranks.of(left), ranks.of(right), how, keys)
    return [(i, j, *ranks.back(start, end)) for i, j, start, end in rows]


def temporal_antijoin(left: list[Span], right: list[Span], keys: Callable[[int, int], bool]) -> list[tuple]:
    """(left, start, end) of every piece."""
    ranks = Ranks(left, right)
    return [(i, *ranks.back(start, end)) for i, start, end in sequenced.antijoin(ranks.of(left), ranks.of(right), keys)]


def by_group(keys: Sequence[Any], spans: Sequence[Span]) -> dict[Any, list[int]]:
    """Positions of the rows of each group; null is a group."""
    groups: dict[Any, list[int]] = {}
    for at in range(len(spans)):
        groups.setdefault(keys[at], []).append(at)
    return groups


def coalesce(spans: list[Span]) -> list[Span]:
    ranks = Ranks(spans)
    return [ranks.back(*span) for span in sequenced.coalesce(ranks.of(spans))]


def gaps(spans: list[Span], within: Span | None) -> list[Span]:
    window = within or (min(start for start, _ in spans), max(end for _, end in spans))
    ranks = Ranks(spans, [window])
    return [ranks.back(*span) for span in sequenced.gaps(ranks.of(spans), ranks.of([window])[0])]


def lineage(spans: list[Span]) -> list[tuple[int, int, tuple[int, ...]]]:
    ranks = Ranks(spans)
    return [(*ranks.back(start, end), rows) for start, end, rows in sequenced.lineage(ranks.of(spans))]


def aggregate(function: str, values: Sequence[Any]) -> Any:
    """One aggregate of values that may be null, exact before one rounding."""
    known = [value for value in values if value is not None]
    if function == "count":
        return len(known)
    if not known:
        return None
    if function in ("min", "max"):
        return min(known) if function == "min" else max(known)
    total = sum(map(Fraction, known))
    if function == "sum":
        return total if isinstance(known[0], int) else rounded(total)
    return rounded(total / len(known))


def rounded(value: Fraction) -> float:
    """The double nearest to an exact number; infinite beyond the range."""
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
