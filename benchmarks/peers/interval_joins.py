"""Other ways to join intervals, as the DIP paper describes them: sort-merge, OIP, timeline index, sweepline, alignment.

Each counts the pairs and the comparisons that found none; nothing is written, so that only the search is compared. With
a pool of blocks, rows are on disk: sorted rows for sort-merge, the rows of a partition together for OIP, rows as they
came for the index, whose look-ups fetch a block each; the sweepline's active rows are a file.
"""

import numpy as np

from benchmarks.peers.blocks import ROWS, WRITTEN, Pool, blocks_of, pool_of, touch, touch_all
from timeloom.kernels.jit import compiled
from timeloom.kernels.order import sort

Counts = tuple[int, int]


def disk(left: tuple, right: tuple, room: int) -> Pool:
    """A pool for the blocks of both sides, and of a file of active rows as large as each."""
    return pool_of(2 * (blocks_of(left[0].size) + blocks_of(right[0].size)), room)


def by_start(starts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    by = sort(starts, 1, ends)
    return by.values, by.beside


def sort_merge(left: tuple, right: tuple, pool: Pool | None = None) -> Counts:
    """Each outer row goes back to the first match of the row before."""
    return _sort_merge(*by_start(*left), *by_start(*right), pool)


@compiled
def _sort_merge(r_start, r_end, s_start, s_end, pool):
    mark, pairs, compared = 0, 0, 0
    beyond = -(-r_start.size // ROWS)
    for r in range(r_start.size):
        first, s = -1, mark
        if pool is not None:
            touch(pool, r // ROWS)
        while s < s_start.size:
            if pool is not None and (s == mark or s % ROWS == 0):
                touch(pool, beyond + s // ROWS)
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


def overlap_partitions(left: tuple, right: tuple, pool: Pool | None = None) -> Counts:
    """OIP: the domain is cut into granules, each row belongs to the shortest run of granules that holds it."""
    low = min(left[0].min(), right[0].min())
    high = max(left[1].max(), right[1].max())
    granule = max(1, (high - low) // max(1, round(np.sqrt(left[0].size))))
    return _overlap_partitions(*_partitioned(*left, low, granule), *_partitioned(*right, low, granule), pool)


def _partitioned(starts, ends, low, granule):
    first, last = (starts - low) // granule, (ends - 1 - low) // granule
    order = sort(first * (int(last.max()) + 1) + last).ids
    first, last = first[order], last[order]
    change = np.flatnonzero((np.diff(first) != 0) | (np.diff(last) != 0)) + 1
    bounds = np.concatenate([[0], change, [first.size]])
    return starts[order], ends[order], first[bounds[:-1]], last[bounds[:-1]], bounds


@compiled
def _overlap_partitions(r_start, r_end, r_first, r_last, r_bounds, s_start, s_end, s_first, s_last, s_bounds, pool):
    pairs, compared = 0, 0
    beyond = -(-r_start.size // ROWS) * ROWS
    for p in range(r_first.size):
        for q in range(s_first.size):
            if s_first[q] > r_last[p]:
                break
            if s_last[q] < r_first[p]:
                continue
            if pool is not None:
                touch_all(pool, r_bounds[p], r_bounds[p + 1])
                touch_all(pool, beyond + s_bounds[q], beyond + s_bounds[q + 1])
            for r in range(r_bounds[p], r_bounds[p + 1]):
                for s in range(s_bounds[q], s_bounds[q + 1]):
                    compared += 1
                    pairs += r_start[r] < s_end[s] and s_start[s] < r_end[r]
    return pairs, compared - pairs


def timeline_index(left: tuple, right: tuple, pool: Pool | None = None) -> Counts:
    """Two event lists are merged; every pair is looked up by its row numbers."""
    return _timeline_index(*left, *events(*left), *right, *events(*right), pool)


def events(starts, ends):
    """Times of all endpoints in order, ends first; whose they are; whether they are starts."""
    by_time = sort(np.concatenate([ends, starts]))
    return by_time.values, by_time.ids % starts.size, by_time.ids >= starts.size


@compiled
def _timeline_index(r_start, r_end, r_time, r_id, r_begins, s_start, s_end, s_time, s_id, s_begins, pool):
    r_active, r_slot, r_size = np.empty(r_start.size, np.int64), np.empty(r_start.size, np.int64), 0
    s_active, s_slot, s_size = np.empty(s_start.size, np.int64), np.empty(s_start.size, np.int64), 0
    r, s, pairs, checksum = 0, 0, 0, 0
    beyond = -(-r_start.size // ROWS)
    while r < r_time.size and s < s_time.size:
        if r_time[r] < s_time[s] or (r_time[r] == s_time[s] and not r_begins[r]):
            row = r_id[r]
            if r_begins[r]:
                for k in range(s_size):
                    checksum += min(r_end[row], s_end[s_active[k]])
                    if pool is not None:
                        touch(pool, row // ROWS)
                        touch(pool, beyond + s_active[k] // ROWS)
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
                    if pool is not None:
                        touch(pool, beyond + row // ROWS)
                        touch(pool, r_active[k] // ROWS)
                pairs += r_size
                s_active[s_size], s_slot[row], s_size = row, s_size, s_size + 1
            else:
                s_size -= 1
                s_active[s_slot[row]] = s_active[s_size]
                s_slot[s_active[s_size]] = s_slot[row]
            s += 1
    return pairs, min(0, checksum)


def sweepline(left: tuple, right: tuple, pool: Pool | None = None, *, scattered: bool = False) -> Counts:
    """Each new row is compared with a linked list of the other side's active rows; ended ones are unlinked.

    Scattered, as the paper has it, lists point to rows anywhere in memory; else to sorted rows, beside each other.
    """
    return sweep_sorted(active_rows(*left, scattered), active_rows(*right, scattered), pool)


Rows = tuple[np.ndarray, np.ndarray, np.ndarray | None]


def active_rows(starts: np.ndarray, ends: np.ndarray, scattered: bool) -> Rows:
    """Starts in order, ends, and at which of these a row is found if they have another order."""
    if scattered:
        by = sort(starts)
        return by.values, ends, by.ids
    return *by_start(starts, ends), None


def sweep_sorted(left: Rows, right: Rows, pool: Pool | None = None) -> Counts:
    """The sweep of rows that have been sorted."""
    return _sweepline(*left, *right, pool)


@compiled
def _sweepline(r_start, r_end, r_place, s_start, s_end, s_place, pool):
    r_next, s_next = np.full(r_start.size + 1, -1), np.full(s_start.size + 1, -1)
    s_rows = -(-r_start.size // ROWS) * ROWS
    r_file = s_rows + -(-s_start.size // ROWS) * ROWS
    s_file = r_file + s_rows
    r, s, pairs, compared = 0, 0, 0, 0
    while r < r_start.size or s < s_start.size:
        if s >= s_start.size or (r < r_start.size and r_start[r] <= s_start[s]):
            if pool is not None:
                touch(pool, r // ROWS)
            found, looked = _meet(r_start[r], s_end, s_next, s_file, pool)
            _join_list(r if r_place is None else r_place[r], r_next, r_file, pool)
            r += 1
        else:
            if pool is not None:
                touch(pool, (s_rows + s) // ROWS)
            found, looked = _meet(s_start[s], r_end, r_next, r_file, pool)
            _join_list(s if s_place is None else s_place[s], s_next, s_file, pool)
            s += 1
        pairs, compared = pairs + found, compared + looked
    return pairs, compared - pairs


@compiled
def _join_list(row, links, file, pool):
    """The newest row becomes the first of the list; on disk its block is written."""
    if pool is not None:
        touch(pool, (file + row) // ROWS)
        pool.counts[WRITTEN] += 1
    links[row], links[links.size - 1] = links[links.size - 1], row


@compiled
def _meet(start, ends, links, file, pool):
    """Rows of the list that have not ended, and all that were looked at; those that have ended leave the list."""
    before, at, found, looked = links.size - 1, links[links.size - 1], 0, 0
    while at >= 0:
        looked += 1
        if pool is not None:
            touch(pool, (file + at) // ROWS)
        if ends[at] <= start:
            links[before] = links[at]
            if pool is not None:
                pool.counts[WRITTEN] += 1
        else:
            found += 1
            before = at
        at = links[at]
    return found, looked


def alignment(left: tuple, right: tuple) -> Counts:
    """Temporal alignment: each row of one side is compared with all of the other, since no condition is an equality."""
    return _alignment(*left, *right)


@compiled
def _alignment(r_start, r_end, s_start, s_end):
    pairs = 0
    for r in range(r_start.size):
        for s in range(s_start.size):
            pairs += r_start[r] < s_end[s] and s_start[s] < r_end[r]
    return pairs, r_start.size * s_start.size - pairs


def alignment_blocks(left: tuple, right: tuple, room: int) -> int:
    """Blocks of a nested loop over blocks, the inner side fetched once if memory holds it."""
    outer, inner = blocks_of(left[0].size), blocks_of(right[0].size)
    return outer + (inner if inner < room else outer * inner)


def alignment_antijoin(left: tuple, right: tuple) -> tuple[int, int, int]:
    """The pieces of left rows that no right row covers: how many, and the sums of their starts and of their ends."""
    return _alignment_antijoin(*left, *right)


@compiled
def _alignment_antijoin(r_start, r_end, s_start, s_end):
    pieces, begins, finishes = 0, 0, 0
    group = np.empty(s_start.size, np.int64)
    for r in range(r_start.size):
        size = 0
        for s in range(s_start.size):
            if r_start[r] < s_end[s] and s_start[s] < r_end[r]:
                group[size] = s
                size += 1
        free = r_start[r]
        for s in group[:size][np.argsort(s_start[group[:size]])]:
            if s_start[s] > free:
                pieces, begins, finishes = pieces + 1, begins + free, finishes + s_start[s]
            free = max(free, s_end[s])
        if free < r_end[r]:
            pieces, begins, finishes = pieces + 1, begins + free, finishes + r_end[r]
    return pieces, begins, finishes
