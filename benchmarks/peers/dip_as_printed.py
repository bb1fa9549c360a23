"""The join of disjoint partitions as the DIP paper prints it: a merge of m outer partitions with each inner one.

Ours merges the partitions of both sides at once (`kernels/sequenced/dip_join.py`) and compares as often in vain; this
one is what the paper counts in its examples (equation 1, lemma 5, figure 2).
"""

import numpy as np

from timeloom.kernels.jit import compiled
from timeloom.kernels.sequenced.dip import Partitions
from timeloom.kernels.sequenced.dip_merge import Counters

AT_ONCE = 16
"""Outer partitions that are merged at once: while rows of one are on their way, the processor works on the others."""


def count_merged(outer: Partitions, inner: Partitions, m: int = AT_ONCE) -> Counters:
    """The pairs that are found, and the comparisons that it takes."""
    lanes = np.empty((3, max(1, min(m, outer.depth))), np.uint64)
    columns = outer.starts, outer.ends, outer.offsets, inner.starts, inner.ends, inner.offsets
    results, comparisons, moved = _merge_all(*columns, lanes)
    return Counters(comparisons, moved, results)


@compiled
def _merge_all(r_starts, r_ends, r_offsets, s_starts, s_ends, s_offsets, lanes):
    size, comparisons, moved = 0, 0, 0
    for group in range(0, r_offsets.size - 1, lanes.shape[1]):
        for part in range(s_offsets.size - 1):
            live = min(lanes.shape[1], r_offsets.size - 1 - group)
            for lane in range(live):
                lanes[0, lane], lanes[1, lane] = r_offsets[group + lane], r_offsets[group + lane + 1]
                lanes[2, lane] = s_offsets[part]
            found, compared, ended = _merge(r_starts, r_ends, s_starts, s_ends, s_offsets[part + 1], lanes, live)
            size, comparisons, moved = size + found, comparisons + compared, moved + live + ended
    return size, comparisons, moved


@compiled
def _merge(r_starts, r_ends, s_starts, s_ends, last, lanes, live):
    """Lanes take their steps in turns: none depends on that of another, so a processor makes several at a time."""
    size, comparisons, moved, one, last = 0, 0, 0, np.uint64(1), np.uint64(last)
    at, stops, beside = lanes
    while live > 0:
        ended = 0
        while ended == 0:
            comparisons += live
            for lane in range(live):
                r, s = at[lane], beside[lane]
                size += max(r_starts[r], s_starts[s]) < min(r_ends[r], s_ends[s])
                passed = np.uint64(r_ends[r] <= s_ends[s])
                r, s = r + passed, s + one - passed
                at[lane], beside[lane] = r, s
                ended += bool(r == stops[lane]) | bool(s == last)
        moved += ended
        lane = 0
        while lane < live:
            if at[lane] == stops[lane] or beside[lane] == last:
                live -= 1
                at[lane], stops[lane], beside[lane] = at[live], stops[live], beside[live]
            else:
                lane += 1
    return size, comparisons, moved
