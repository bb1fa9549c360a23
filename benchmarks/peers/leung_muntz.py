"""The sweep of Leung and Muntz over whole tuples: two gapless lists, pruned while they are scanned.

Tuples of both sides are read in an order that a heuristic chooses, each side in order of its starts. Each one is
compared with every tuple of the other side that is still kept; those that no later one can match are thrown out.
"""

from typing import NamedTuple

import numpy as np

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import sort
from timeloom.model.box import Box

UNBOUNDED_LOW, UNBOUNDED_HIGH = -(2**62), 2**62
PAGE = 1 << 16


class Counted(NamedTuple):
    """What a join did: pairs and the sum of their left starts, kept tuples looked at, those compared, comparisons."""

    pairs: int
    total: int
    scanned: int
    candidates: int
    comparisons: int


def bounds_of(box: Box) -> np.ndarray:
    """The bounds of a box as an array, with far numbers for open sides."""
    tight = box.tight()
    return np.array(
        [
            (UNBOUNDED_LOW if low is None else low, UNBOUNDED_HIGH if high is None else high)
            for low, high in tight.ranges
        ],
        np.int64,
    )


@compiled
def in_box(r_start, r_end, s_start, s_end, bounds):
    return (
        bounds[0, 0] <= s_start - r_start <= bounds[0, 1]
        and bounds[1, 0] <= s_start - r_end <= bounds[1, 1]
        and bounds[2, 0] <= s_end - r_start <= bounds[2, 1]
        and bounds[3, 0] <= s_end - r_end <= bounds[3, 1]
    )


@compiled
def by_start(r_starts, s_starts):
    """Read whichever tuple starts first; True is one of the left side."""
    reads, i, j = np.empty(r_starts.size + s_starts.size, np.bool_), 0, 0
    for at in range(reads.size):
        left = j == s_starts.size or (i < r_starts.size and r_starts[i] <= s_starts[j])
        reads[at] = left
        i, j = i + left, j + (not left)
    return reads


@compiled
def by_disposal(r_starts, s_starts, mean_length):
    """Read from the side whose next tuple should let more of the kept ones go, as the arrival rates tell.

    A left tuple that starts at t lets right ones go that start before t; a right one, left ones that end before.
    """
    reads, i, j = np.empty(r_starts.size + s_starts.size, np.bool_), 0, 0
    span = max(1.0, float(max(r_starts[-1], s_starts[-1]) - min(r_starts[0], s_starts[0])))
    left_rate, right_rate = r_starts.size / span, s_starts.size / span
    left_at, right_at = r_starts[0] - 1, s_starts[0] - 1
    for at in range(reads.size):
        if i == r_starts.size or j == s_starts.size:
            left = i < r_starts.size
        else:
            by_left = right_rate * max(0, min(r_starts[i], right_at) - left_at)
            by_right = left_rate * max(0.0, min(float(s_starts[j]), left_at + mean_length) - right_at)
            left = r_starts[i] <= s_starts[j] if by_left == by_right else by_left > by_right
        reads[at] = left
        if left:
            left_at, i = r_starts[i], i + 1
        else:
            right_at, j = s_starts[j], j + 1
    return reads


@compiled
def join(r_starts, r_ends, s_starts, s_ends, bounds, reads, out_r, out_s):
    """Write all pairs of positions, going round in the output; inputs are sorted by start."""
    kept_r, kept_s = np.empty(r_starts.size, np.int64), np.empty(s_starts.size, np.int64)
    tail_r = tail_s = i = j = pairs = place = total = scanned = thrown = 0
    for read in range(reads.size):
        at = 0
        if reads[read]:
            time = r_starts[i]
            scanned += tail_s
            while at < tail_s:
                s = kept_s[at]
                if s_starts[s] - bounds[0, 0] < time or s_ends[s] - bounds[2, 0] < time:
                    tail_s, thrown = tail_s - 1, thrown + 1
                    kept_s[at] = kept_s[tail_s]
                    continue
                if in_box(r_starts[i], r_ends[i], s_starts[s], s_ends[s], bounds):
                    out_r[place], out_s[place] = i, s
                    total += r_starts[i]
                    pairs, place = pairs + 1, place + 1
                    if place == out_r.size:
                        place = 0
                at += 1
            kept_r[tail_r] = i
            tail_r, i = tail_r + 1, i + 1
        else:
            time = s_starts[j]
            scanned += tail_r
            while at < tail_r:
                r = kept_r[at]
                if r_starts[r] + bounds[0, 1] < time or r_ends[r] + bounds[1, 1] < time:
                    tail_r, thrown = tail_r - 1, thrown + 1
                    kept_r[at] = kept_r[tail_r]
                    continue
                if in_box(r_starts[r], r_ends[r], s_starts[j], s_ends[j], bounds):
                    out_r[place], out_s[place] = r, j
                    total += r_starts[r]
                    pairs, place = pairs + 1, place + 1
                    if place == out_r.size:
                        place = 0
                at += 1
            kept_s[tail_s] = j
            tail_s, j = tail_s + 1, j + 1
    return pairs, total, scanned, thrown


def ordered(left: tuple, right: tuple) -> tuple[np.ndarray, ...]:
    """Both sides by start, as the algorithm reads them."""
    lefts, rights = sort(left[0]), sort(right[0])
    return lefts.values, left[1][lefts.ids], rights.values, right[1][rights.ids]


def summed(left: tuple, right: tuple, box: Box, heuristic: bool = True) -> Counted:
    """Sort, join and sum the left starts; pairs are written to one page over and over."""
    columns = ordered(left, right)
    reads = (
        by_disposal(columns[0], columns[2], float((left[1] - left[0]).mean())) if heuristic else by_start(*columns[::2])
    )
    page = np.empty((2, PAGE), np.int32)
    pairs, total, scanned, thrown = join(*columns, bounds_of(box), reads, page[0], page[1])
    candidates = scanned - thrown
    # Two to choose what is read, one to throw a tuple out (two to keep it), two of the selection.
    return Counted(pairs, total, scanned, candidates, 2 * reads.size + thrown + 2 * candidates + 2 * candidates)
