"""Sets and bags of values, buckets and faults, instant by instant, on Python tuples (value, start, end)."""

from collections import Counter
from collections.abc import Hashable, Sequence

Row = tuple[Hashable, int, int]


def snapshot(rows: Sequence[Row], instant: int) -> Counter:
    return Counter(value for value, start, end in rows if start <= instant < end)


def combined(ours: Counter, theirs: Counter, name: str, bag: bool) -> Counter:
    """SQL's UNION, INTERSECT and EXCEPT, with and without ALL, of two lists of values."""
    if bag:
        return {"union": ours + theirs, "intersect": ours & theirs, "except": ours - theirs}[name]
    sets = set(ours), set(theirs)
    return Counter({"union": sets[0] | sets[1], "intersect": sets[0] & sets[1], "except": sets[0] - sets[1]}[name])


def bucket(rows: Sequence[tuple[int, int, float | None]], first: int, last: int) -> tuple[int, int, float | None]:
    """Of rows (start, end, value): how many touch the bucket, the instants that any covers, the mean over instants."""
    inside = [(max(start, first), min(end, last), value) for start, end, value in rows if start < last and end > first]
    covered = {instant for start, end, _ in inside for instant in range(start, end)}
    values = [value for start, end, value in inside if value is not None for _ in range(start, end)]
    return len(inside), len(covered), sum(values) / len(values) if values else None


def crowded(rows: Sequence[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """(start, end, rows) of the maximal periods in which more than one row is active."""
    last = max((end for _, end in rows), default=0)
    busy = [sum(start <= instant < end for start, end in rows) > 1 for instant in range(last + 1)]
    found, begun = [], None
    for instant, crowd in enumerate(busy):
        if crowd and begun is None:
            begun = instant
        if not crowd and begun is not None:
            found.append((begun, instant, sum(start < instant and end > begun for start, end in rows)))
            begun = None
    return found
