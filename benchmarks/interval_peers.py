"""Other ways to join intervals, as the DIP paper describes them: sort-merge, OIP, timeline index, sweepline.

Each counts the pairs and the comparisons that found none; nothing is written, so that only the search is compared.
"""

import numba
import numpy as np

compiled = numba.njit(error_model="numpy")
Counts = tuple[int, int]


def by_start(starts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(starts, kind="stable")
    return starts[order], ends[order]


def sort_merge(left: tuple, right: tuple) -> Counts:
    """Each outer row goes back to the first match of the row before."""
    return _sort_merge(*by_start(*left), *by_start(*right))


@compiled
def _sort_merge(r_start, r_end, s_start, s_end):
    mark, pairs, compared = 0, 0, 0
    for r in range(r_start.size):
        first, s = -1, mark
        while s < s_start.size:
            compared += 1
            if s_start[s] >= r_end[r]:
                break
            if r_start[r] < s_end[s]:
                pairs += 1
                if first < 0:
                    first = s
            s += 1
        if first >= 0:
            mark = first
    return pairs, compared - pairs


def overlap_partitions(left: tuple, right: tuple) -> Counts:
    """OIP: the domain is cut into granules, each row belongs to the shortest run of granules that holds it."""
    low = min(left[0].min(), right[0].min())
    high = max(left[1].max(), right[1].max())
    granule = max(1, (high - low) // max(1, round(np.sqrt(left[0].size))))
    return _overlap_partitions(*_partitioned(*left, low, granule), *_partitioned(*right, low, granule))


def _partitioned(starts, ends, low, granule):
    first, last = (starts - low) // granule, (ends - 1 - low) // granule
    order = np.lexsort((last, first))
    first, last = first[order], last[order]
    change = np.flatnonzero((np.diff(first) != 0) | (np.diff(last) != 0)) + 1
    bounds = np.concatenate([[0], change, [first.size]])
    return starts[order], ends[order], first[bounds[:-1]], last[bounds[:-1]], bounds


@compiled
def _overlap_partitions(r_start, r_end, r_first, r_last, r_bounds, s_start, s_end, s_first, s_last, s_bounds):
    pairs, compared = 0, 0
    for p in range(r_first.size):
        for q in range(s_first.size):
            if s_first[q] > r_last[p]:
                break
            if s_last[q] < r_first[p]:
                continue
            for r in range(r_bounds[p], r_bounds[p + 1]):
                for s in range(s_bounds[q], s_bounds[q + 1]):
                    compared += 1
                    pairs += r_start[r] < s_end[s] and s_start[s] < r_end[r]
    return pairs, compared - pairs


def timeline_index(left: tuple, right: tuple) -> Counts:
    """Two event lists are merged; every pair is looked up by its row numbers."""
    return _timeline_index(*left, *_events(*left), *right, *_events(*right))


def _events(starts, ends):
    times = np.concatenate([ends, starts])
    order = np.argsort(times, kind="stable")
    return times[order], order % starts.size, order >= starts.size


@compiled
def _timeline_index(r_start, r_end, r_time, r_id, r_begins, s_start, s_end, s_time, s_id, s_begins):
    r_active, r_slot, r_size = np.empty(r_start.size, np.int64), np.empty(r_start.size, np.int64), 0
    s_active, s_slot, s_size = np.empty(s_start.size, np.int64), np.empty(s_start.size, np.int64), 0
    r, s, pairs, checksum = 0, 0, 0, 0
    while r < r_time.size and s < s_time.size:
        if r_time[r] < s_time[s] or (r_time[r] == s_time[s] and not r_begins[r]):
            row = r_id[r]
            if r_begins[r]:
                for k in range(s_size):
                    checksum += min(r_end[row], s_end[s_active[k]])
                pairs += s_size
                r_active[r_size], r_slot[row], r_size = row, r_size, r_size + 1
            else:
                r_size -= 1
                r_active[r_slot[row]] = r_active[r_size]
                r_slot[r_active[r_size]] = r_slot[row]
            r += 1
        else:
            row = s_id[s]
            if s_begins[s]:
                for k in range(r_size):
                    checksum += min(s_end[row], r_end[r_active[k]])
                pairs += r_size
                s_active[s_size], s_slot[row], s_size = row, s_size, s_size + 1
            else:
                s_size -= 1
                s_active[s_slot[row]] = s_active[s_size]
                s_slot[s_active[s_size]] = s_slot[row]
            s += 1
    return pairs, min(0, checksum)


def sweepline(left: tuple, right: tuple) -> Counts:
    """Each new row is compared with a linked list of the other side's active rows; ended ones are unlinked."""
    return _sweepline(*by_start(*left), *by_start(*right))


@compiled
def _sweepline(r_start, r_end, s_start, s_end):
    r_next, s_next = np.full(r_start.size + 1, -1), np.full(s_start.size + 1, -1)
    r, s, pairs, compared = 0, 0, 0, 0
    while r < r_start.size or s < s_start.size:
        if s >= s_start.size or (r < r_start.size and r_start[r] <= s_start[s]):
            before, at = s_start.size, s_next[s_start.size]
            while at >= 0:
                compared += 1
                if s_end[at] <= r_start[r]:
                    s_next[before] = s_next[at]
                else:
                    pairs += 1
                    before = at
                at = s_next[at]
            r_next[r], r_next[r_start.size] = r_next[r_start.size], r
            r += 1
        else:
            before, at = r_start.size, r_next[r_start.size]
            while at >= 0:
                compared += 1
                if r_end[at] <= s_start[s]:
                    r_next[before] = r_next[at]
                else:
                    pairs += 1
                    before = at
                at = r_next[at]
            s_next[s], s_next[s_start.size] = s_next[s_start.size], s
            s += 1
    return pairs, compared - pairs
