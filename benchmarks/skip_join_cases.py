"""Skip-joins of stab-forests against a forward scan: gaps, sparse and dense joins (figures 5 and 6 of the paper)."""

from functools import partial

import numpy as np

import timeloom as tl
from benchmarks.data.events import DAY, MINUTES, Events, flights, gap_data
from benchmarks.measuring import Line, side_by_side
from timeloom.kernels.joins.skip_join import forward_scan


def same_pairs(one: Events, other: Events) -> None:
    assert one[0].size == other[0].size
    packed = [
        np.sort(left.astype(np.uint64) << np.uint64(32) | right.astype(np.uint64)) for left, right in (one, other)
    ]
    assert np.array_equal(*packed)


def groups_found(left: Events, right: Events, size: int) -> Events:
    """The least that skipping takes: where each group of one side falls in the other, by binary search."""
    return np.searchsorted(right[0], left[0][::size]), np.searchsorted(left[0], right[0][::size])


def gaps(count: int, sizes: list[int], constants: list[int]) -> list[Line]:
    """Figure 6."""
    lines = []
    for size in sizes:
        left, right = gap_data(count, size)
        ours, theirs = tl.StabForest.build(*left), tl.StabForest.build(*right)
        scan = partial(forward_scan, *left, *right)
        assert ours.skip_join(theirs)[0].size == scan()[0].size == 0
        wanted = ">= 10 x" if size >= 4096 else ">= 0.87 x"
        for c in constants:
            pair = side_by_side(partial(ours.skip_join, theirs, c), scan, 5)
            lines.append(Line(f"gap {size:,}, c={c}", pair[0], "forward scan", pair[1], wanted if c == 32 else ""))
        if size >= 4096:
            pair = side_by_side(partial(ours.skip_join, theirs), partial(groups_found, left, right, size))
            lines.append(Line(f"gap {size:,}, c=32", pair[0], "floor: a search for each group", pair[1]))
        for variant in ("events", "index") if size >= 64 else ("events",):
            pair = side_by_side(partial(ours.skip_join, theirs), partial(ours.skip_join, theirs, 32, variant))
            lines.append(Line(f"gap {size:,}, c=32", pair[0], f"SkipJoin, {variant} only", pair[1], "near 1 or above"))
    return lines


def months(count: int, numbers: list[int]) -> list[Line]:
    """Figure 5, left: the seventh day of each of the first n months."""
    events = flights(count)
    forest = tl.StabForest.build(*events)
    lines = []
    for number in numbers:
        days = np.arange(number) * (MINUTES // 120) + 6 * DAY
        windows = days, days + DAY
        scan = partial(forward_scan, *events, *windows)
        filters = tl.StabForest.build(*windows)
        same_pairs(forest.skip_join(filters), scan())
        pair = side_by_side(partial(forest.skip_join, filters), scan)
        wanted = ">= 10 x" if number <= 12 else ""
        lines.append(Line(f"day 7 of {number} months of {count:,}", pair[0], "forward scan", pair[1], wanted))
        for variant in ("events", "index"):
            pair = side_by_side(partial(forest.skip_join, filters), partial(forest.skip_join, filters, 32, variant))
            lines.append(Line(f"day 7 of {number} months", pair[0], f"SkipJoin, {variant} only", pair[1]))
        query = partial(lambda starts, ends: [*map(forest.overlapping, starts, ends)], *map(np.ndarray.tolist, windows))
        pair = side_by_side(partial(forest.skip_join, filters), query)
        lines.append(Line(f"day 7 of {number} months", pair[0], "one window query a month", pair[1]))
    return lines


def dense(name: str, events: Events, shares: list[float]) -> list[Line]:
    """Figure 5, middle and right: one random half, or a part of it, joined with the other."""
    random = np.random.default_rng(3)
    shuffled = random.permutation(events[0].size)
    lines = []
    for share in shares:
        some = np.sort(shuffled[: int(share * events[0].size / 2)])
        rest = np.sort(shuffled[events[0].size // 2 :])
        left, right = [tuple(column[rows] for column in events) for rows in (some, rest)]
        ours, theirs = tl.StabForest.build(*left), tl.StabForest.build(*right)
        scan = partial(forward_scan, *left, *right)
        same_pairs(ours.skip_join(theirs), scan())
        pair = side_by_side(partial(ours.skip_join, theirs), scan, 5)
        lines.append(Line(f"{name}, {share:.0%} of one half", pair[0], "forward scan", pair[1], ">= 0.9 x"))
    return lines
