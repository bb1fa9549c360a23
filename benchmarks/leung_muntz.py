"""The sweep of Leung and Muntz over whole tuples, as a peer: two gapless lists, pruned while they are
scanned.

Tuples of both sides are read in order of their starts. Each one is compared with every tuple of the other
side that is still kept; tuples that no later one can match are thrown out on the way.
"""

import numba
import numpy as np

UNBOUNDED_LOW, UNBOUNDED_HIGH = -(2**62), 2**62


def bounds_of(box) -> np.ndarray:
    """The bounds of a box as an array, with far numbers for open sides."""
    tight = box.tight()
    return np.array(
        [
            (UNBOUNDED_LOW if low is None else low, UNBOUNDED_HIGH if high is None else high)
            for low, high in tight.ranges
        ],
        np.int64,
    )


@numba.njit(cache=True, nogil=True)
def in_box(r_start, r_end, s_start, s_end, bounds):
    return (
        bounds[0, 0] <= s_start - r_start <= bounds[0, 1]
        and bounds[1, 0] <= s_start - r_end <= bounds[1, 1]
        and bounds[2, 0] <= s_end - r_start <= bounds[2, 1]
        and bounds[3, 0] <= s_end - r_end <= bounds[3, 1]
    )


@numba.njit(cache=True, nogil=True)
def join(r_starts, r_ends, s_starts, s_ends, bounds, out_r, out_s, counters):
    """Write all pairs of positions and count them. Inputs are sorted by start; the output must have room."""
    kept_r, kept_s = np.empty(r_starts.size, np.int64), np.empty(s_starts.size, np.int64)
    tail_r = tail_s = i = j = pairs = 0
    while i < r_starts.size or j < s_starts.size:
        if j == s_starts.size or (i < r_starts.size and r_starts[i] <= s_starts[j]):
            time, at = r_starts[i], 0
            while at < tail_s:
                s = kept_s[at]
                counters[0] += 1
                if s_starts[s] - bounds[0, 0] < time or s_ends[s] - bounds[2, 0] < time:
                    tail_s -= 1
                    kept_s[at] = kept_s[tail_s]
                    continue
                if in_box(r_starts[i], r_ends[i], s_starts[s], s_ends[s], bounds):
                    out_r[pairs], out_s[pairs] = i, s
                    pairs += 1
                at += 1
            kept_r[tail_r] = i
            tail_r, i = tail_r + 1, i + 1
        else:
            time, at = s_starts[j], 0
            while at < tail_r:
                r = kept_r[at]
                counters[0] += 1
                if r_starts[r] + bounds[0, 1] < time or r_ends[r] + bounds[1, 1] < time:
                    tail_r -= 1
                    kept_r[at] = kept_r[tail_r]
                    continue
                if in_box(r_starts[r], r_ends[r], s_starts[j], s_ends[j], bounds):
                    out_r[pairs], out_s[pairs] = r, j
                    pairs += 1
                at += 1
            kept_s[tail_s] = j
            tail_s, j = tail_s + 1, j + 1
    return pairs
