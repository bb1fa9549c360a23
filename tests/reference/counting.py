"""Brute force for counts, aggregates, top-k and depth: Python tuples and loops, nothing else."""

from itertools import pairwise


def intersects(r, s):
    """Half-open periods share a tick."""
    return r[0] < s[1] and s[0] < r[1]


def in_rectangle(s, bounds):
    low_start, high_start, low_end, high_end = bounds
    return low_start <= s[0] <= high_start and low_end <= s[1] <= high_end


def counts(left, right, related):
    return [sum(related(r, s) for s in right) for r in left]


def matched(left, right, related):
    """For each left row, the positions of its right rows."""
    return [[at for at, s in enumerate(right) if related(r, s)] for r in left]


def top_k(counted, groups, k, ties):
    """Positions of the k highest counts of each group, highest first, then by position; groups as they appear."""
    chosen = []
    for group in dict.fromkeys(groups):
        members = [row for row, of in enumerate(groups) if of == group]
        ranked = sorted(members, key=lambda row: (-counted[row], row))
        if ties == "all" and 0 < k <= len(ranked):
            ranked = [row for row in ranked if counted[row] >= counted[ranked[k - 1]]]
        else:
            ranked = ranked[:k]
        chosen.extend(ranked)
    return chosen


def depth(periods):
    """(start, end, active) between neighbouring endpoints, where any period is active."""
    points = sorted({point for period in periods for point in period})
    profile = []
    for start, end in pairwise(points):
        active = sum(s <= start < e for s, e in periods)
        if active:
            profile.append((start, end, active))
    return profile
