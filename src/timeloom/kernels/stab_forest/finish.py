"""Giving an open event its end: a swap in the event list and one in at most one max-list.

Among events of one start the open ones come last, and in a max-list first. All copies of open events of one start are
alike but for their positions, so only the first open position of the start changes (stab-forest paper, appendix A).
If ends arrive in order nothing else moves; where an event with a later end was appended whole, the finished one is
moved before it.
"""

import numpy as np

from timeloom.kernels.jit import compiled
from timeloom.kernels.stab_forest.build import first_dummy
from timeloom.kernels.stab_forest.layout import EVENTS, FOREVER, NODES, Forest, navigation_key
from timeloom.kernels.stab_forest.stab import locate


@compiled
def finish(forest: Forest, position: int, end: int) -> tuple[int, int, bool]:
    """Set the end of the open event at a position.

    Returns the position that was the first open one of its start (the event there moves to the given position), the
    position where the finished event stands now (finished events from there up to the first move by one), and whether
    the index is still right: it is not if the event ended before the scope in which its forest-point ends.
    """
    node = locate(forest, 1, forest.starts[position])
    nodes = forest.counts[NODES]
    first = forest.nodes[node]["first"]
    stop = forest.counts[EVENTS] if node > nodes else forest.nodes[node + 1]["first"]
    opened = first + np.searchsorted(forest.ends[first:stop], FOREVER)
    target = first + np.searchsorted(forest.ends[first:opened], end, side="right")
    for at in range(opened, target, -1):
        forest.ends[at] = forest.ends[at - 1]
    forest.ends[target] = end
    if node > nodes:
        return opened, target, True
    dummy = first_dummy(nodes, node)
    if node == dummy:
        return opened, target, True
    if end <= navigation_key(forest, dummy):
        return opened, target, False
    finish_entry(forest, dummy, opened, target, end)
    return opened, target, True


@compiled
def finish_entry(forest: Forest, dummy: int, opened: int, target: int, end: int) -> None:
    """Move the copy of one open event behind the open part of a max-list and behind all that ends later."""
    lists, stop = forest.lists, forest.nodes[dummy]["list_stop"]
    low, high = forest.nodes[dummy]["list_at"], stop
    while low < high:
        middle = (low + high) >> 1
        if lists[middle]["end"] == FOREVER:
            low = middle + 1
        else:
            high = middle
    hole = low - 1
    moved = lists[hole]["desc"]
    lists[forest.slot[opened]]["desc"] = moved
    forest.slot[moved] = forest.slot[opened]
    while hole + 1 < stop and lists[hole + 1]["end"] > end:
        position = lists[hole + 1]["desc"]
        lists[hole]["end"] = lists[hole + 1]["end"]
        lists[hole]["desc"] = position + 1 if target <= position < opened else position
        hole += 1
    lists[hole]["end"] = end
    lists[hole]["desc"] = target
