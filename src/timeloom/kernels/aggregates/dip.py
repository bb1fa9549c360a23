"""Temporal aggregation by full outer joins of disjoint partitions (DIP paper, section 6.3)."""

import numpy as np

from timeloom.kernels.aggregates.timeline import Timeline
from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Positions, Ticks, sort
from timeloom.kernels.sequenced.dip import partition
from timeloom.model.ticks import FOREVER


def dip_timeline(starts: Ticks, ends: Ticks) -> Timeline:
    """Join the partitions one after the other (equation 5), and list the rows that meet in each resulting period.

    The timeline is renewed with every period, so an aggregate is evaluated anew over the values of each result tuple,
    as the paper's final projection does.
    """
    parts = partition(starts, ends)
    joined = [full_join(parts.starts[:0], parts.ends[:0], parts.starts[:0], parts.ends[:0])]
    for k in range(parts.depth):
        stretch = slice(parts.offsets[k], parts.offsets[k + 1])
        joined.append(full_join(joined[-1][0], joined[-1][1], parts.starts[stretch], parts.ends[stretch]))
    begins, finishes = joined[-1][:2]
    rank = np.empty(starts.size + 1, np.int32)
    by_start = sort(starts).ids
    rank[by_start], rank[-1] = np.arange(starts.size), -1
    lineage = np.full((begins.size, parts.depth), -1, np.int32)
    at = np.arange(begins.size, dtype=np.int32)
    for k in range(parts.depth - 1, -1, -1):
        _, _, outer, inner = joined[k + 1]
        row = np.append(parts.rows[parts.offsets[k] : parts.offsets[k + 1]], np.int32(-1))[np.append(inner, -1)[at]]
        lineage[:, k] = rank[row]
        at = np.append(outer, np.int32(-1))[at]
    lineage.sort(axis=1)
    present = lineage >= 0
    rows = by_start[lineage[present]]
    offsets = np.zeros(begins.size + 1, np.int32)
    np.cumsum(present.sum(axis=1), out=offsets[1:])
    return Timeline(begins, finishes, rows, rows, offsets[1:], offsets[:-1], renewed=True)


@compiled
def full_join(
    outer_starts: Ticks, outer_ends: Ticks, inner_starts: Ticks, inner_ends: Ticks
) -> tuple[Ticks, Ticks, Positions, Positions]:
    """Sequenced full outer join of two lists of disjoint, ascending periods; -1 stands for the absent side.

    Either current row is met first by what is left of the other's lead, then by the other itself, so that the result
    is again disjoint and ascending.
    """
    most = 2 * (outer_starts.size + inner_starts.size)
    starts, ends = np.empty(most, np.int64), np.empty(most, np.int64)
    outer, inner = np.empty(most, np.int32), np.empty(most, np.int32)
    r, s, size = 0, 0, 0
    now = min(
        outer_starts[0] if outer_starts.size > 0 else FOREVER, inner_starts[0] if inner_starts.size > 0 else FOREVER
    )
    while r < outer_starts.size or s < inner_starts.size:
        r_start = max(now, outer_starts[r]) if r < outer_starts.size else FOREVER
        s_start = max(now, inner_starts[s]) if s < inner_starts.size else FOREVER
        r_end = outer_ends[r] if r < outer_starts.size else FOREVER
        s_end = inner_ends[s] if s < inner_starts.size else FOREVER
        starts[size] = min(r_start, s_start)
        if r_start < s_start:
            outer[size], inner[size], now = r, -1, min(r_end, s_start)
        elif s_start < r_start:
            outer[size], inner[size], now = -1, s, min(s_end, r_start)
        else:
            outer[size], inner[size], now = r, s, min(r_end, s_end)
        ends[size] = now
        size += 1
        r += r < outer_starts.size and now >= r_end
        s += s < inner_starts.size and now >= s_end
    return starts[:size].copy(), ends[:size].copy(), outer[:size].copy(), inner[:size].copy()
