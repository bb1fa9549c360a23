"""Sequenced operators by brute force over instants, on Python tuples (start, end)."""

Row = tuple[int, int]
Piece = tuple[int, int, int]


def runs(first: int, last: int, label) -> list[tuple]:
    """Maximal periods within [first, last) of instants with one and the same label; None is no label."""
    found: list[list] = []
    for instant in range(first, last):
        value = label(instant)
        if value is None:
            continue
        if found and found[-1][1] == instant and found[-1][2] == value:
            found[-1][1] = instant + 1
        else:
            found.append([instant, instant + 1, value])
    return [tuple(run) for run in found]


def active(rows: list[Row], instant: int) -> tuple[int, ...]:
    return tuple(at for at, (start, end) in enumerate(rows) if start <= instant < end)


def span(*tables: list[Row]) -> tuple[int, int]:
    times = [time for rows in tables for row in rows for time in row] or [0]
    return min(times), max(times)


def always(at: int, other: int) -> bool:
    return True


def join(left: list[Row], right: list[Row], fits=always) -> list[tuple[int, int, int, int]]:
    """(left position, right position, start, end) of every fitting pair, over the instants that both hold."""
    found = []
    for at, row in enumerate(left):
        for other_at, other in enumerate(right):
            common = set(range(*row)) & set(range(*other))
            if common and fits(at, other_at):
                found.append((at, other_at, min(common), max(common) + 1))
    return found


def antijoin(left: list[Row], right: list[Row], fits=always) -> list[Piece]:
    """(left position, start, end) of the maximal sub-periods of left rows in which no fitting right row is active."""
    found = []
    for at, row in enumerate(left):
        others = [other for other_at, other in enumerate(right) if fits(at, other_at)]
        free = runs(*row, lambda instant, others=others: None if active(others, instant) else True)
        found += [(at, start, end) for start, end, _ in free]
    return found


def outer_join(left: list[Row], right: list[Row], how: str, fits=always) -> list[tuple]:
    """The pairs, and what an outer join keeps of either side, with None for the absent row."""
    found: list[tuple] = list(join(left, right, fits))
    if how in ("left", "full"):
        found += [(at, None, start, end) for at, start, end in antijoin(left, right, fits)]
    if how in ("right", "full"):
        alone = antijoin(right, left, lambda at, other: fits(other, at))
        found += [(None, at, start, end) for at, start, end in alone]
    return found


def plain_join(left: list, right: list, how: str, fits) -> list[tuple]:
    """The ordinary join of two lists of rows, without time."""
    found = [(row, other) for row in left for other in right if fits(row, other)]
    if how in ("left", "full"):
        found += [(row, None) for row in left if not any(fits(row, other) for other in right)]
    if how in ("right", "full"):
        found += [(None, other) for other in right if not any(fits(row, other) for row in left)]
    return found


def lineage(rows: list[Row]) -> list[tuple[int, int, tuple[int, ...]]]:
    """(start, end, active positions) of the maximal periods with one non-empty set of active rows."""
    return runs(*span(rows), lambda instant: active(rows, instant) or None)


def coalesce(rows: list[Row]) -> list[Row]:
    """The maximal periods in which any row is active."""
    return [(start, end) for start, end, _ in runs(*span(rows), lambda instant: bool(active(rows, instant)) or None)]


def gaps(rows: list[Row], within: Row) -> list[Row]:
    """The maximal periods of the window in which no row is active."""
    return [(start, end) for _, start, end in antijoin([within], rows)]


def depth(rows: list[Row]) -> int:
    """The largest number of rows that are active at one instant."""
    return max((len(active(rows, start)) for start, _ in rows), default=0)


def sort_merge(left: list[Row], right: list[Row]) -> list[int]:
    """Comparisons for each outer row of a sort-merge join that backtracks to the first match of the row before."""
    left, right, mark, counts = sorted(left), sorted(right), 0, []
    for start, end in left:
        first, at, count = None, mark, 0
        while at < len(right):
            count += 1
            if right[at][0] >= end:
                break
            if start < right[at][1] and first is None:
                first = at
            at += 1
        counts.append(count)
        mark = mark if first is None else first
    return counts
