"""As-of and nearest joins by looking at every pair, on Python tuples."""

from collections.abc import Callable, Sequence

Span = tuple[int, int]
Fits = Callable[[int, int], bool]


def as_of(
    left: Sequence[int], right: Sequence[int], fits: Fits, direction: str, tolerance: int | None, exact: bool
) -> list[int | None]:
    """The partner of each left row. Of right rows level in time, the last."""
    found = []
    for at, time in enumerate(left):
        ways = {"backward": ["backward"], "forward": ["forward"], "nearest": ["backward", "forward"]}[direction]
        best = None
        for way in ways:
            usable = [
                other
                for other, there in enumerate(right)
                if fits(at, other)
                and ((there == time and exact) or (there < time if way == "backward" else there > time))
                and (tolerance is None or abs(there - time) <= tolerance)
            ]
            if not usable:
                continue
            near = min(abs(right[other] - time) for other in usable)
            chosen = max(other for other in usable if abs(right[other] - time) == near)
            if best is None or near < abs(right[best] - time):
                best = chosen
        found.append(best)
    return found


def distance(r: Span, s: Span) -> int:
    return max(0, s[0] - r[1], r[0] - s[1])


def shares(r: Span, s: Span) -> bool:
    return r[0] < s[1] and s[0] < r[1]


def nearest(
    left: Sequence[Span],
    right: Sequence[Span],
    fits: Fits,
    k: int,
    direction: str,
    furthest: int | None,
    all_ties: bool,
) -> list[tuple[int, int, int]]:
    """(left, right, distance) of the k nearest right rows of each left row, nearest first."""
    found = []
    for at, r in enumerate(left):
        usable = [
            (not shares(r, s), distance(r, s), s, other)
            for other, s in enumerate(right)
            if fits(at, other)
            and (furthest is None or distance(r, s) <= furthest)
            and {"backward": s[1] <= r[0], "forward": s[0] >= r[1], "both": True}[direction]
        ]
        usable.sort()
        kept = usable[:k]
        if all_ties and kept:
            kept = [row for row in usable if row[:2] <= kept[-1][:2]]
        found += [(at, row[3], row[1]) for row in kept]
    return found
