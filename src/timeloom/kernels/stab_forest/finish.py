"""Giving an open event its end: a swap in the event list and one in at most one max-list, or a note beside them.

Among events of one start the open ones come last, and in a max-list first. All copies of open events of one start are
alike but for their positions, so only the first open position of the start changes (stab-forest paper, appendix A).
If ends arrive in order nothing else moves. An end that is earlier than another that stands already, or than the part of
the index in which its event is listed, would move many entries; it is kept apart instead.
"""

from timeloom.kernels.jit import borrowing
from timeloom.kernels.stab_forest.build import first_dummy
from timeloom.kernels.stab_forest.layout import EVENTS, FOREVER, LATE, LOOSE, NODES, Forest, navigation_key
from timeloom.kernels.stab_forest.stab import locate


@borrowing
def finish(forest: Forest, position: int, end: int) -> int:
    """Set the end of the open event at a position; there must be room for one more end that is kept apart.

    Returns the position that was the first open one of its start: the event that stood there, and the finished one,
    change positions. It is -1 if the end is kept apart, and nothing moves.
    """
    node, nodes = locate(forest, 1, forest.starts[position]), forest.counts[NODES]
    first = forest.nodes[node]["first"]
    stop = forest.counts[EVENTS] if node > nodes else forest.nodes[node + 1]["first"]
    opened = first_open(forest, first, stop)
    if (node > nodes and forest.counts[LOOSE]) or (opened > first and forest.ends[opened - 1] > end):
        return keep_apart(forest, position, end)
    if node <= nodes:
        dummy = first_dummy(nodes, node)
        if node != dummy and not finish_entry(forest, dummy, opened, end):
            return keep_apart(forest, position, end)
    forest.ends[opened] = end
    if forest.late[opened]:
        forest.late_at[forest.late[opened] - 1] = position
        forest.late[position] = forest.late[opened]
        forest.late[opened] = 0
    return int(opened)


@borrowing
def first_open(forest: Forest, low: int, high: int) -> int:
    """The first open one of the events of one start, which are sorted by their ends."""
    while low < high:
        middle = (low + high) >> 1
        if forest.ends[middle] == FOREVER:
            high = middle
        else:
            low = middle + 1
    return low


@borrowing
def keep_apart(forest: Forest, position: int, end: int) -> int:
    """Note an end; the event stays among the open ones."""
    number = forest.counts[LATE]
    forest.late_at[number], forest.late_ends[number] = position, end
    forest.late[position] = number + 1
    forest.counts[LATE] = number + 1
    return -1


@borrowing
def finish_entry(forest: Forest, dummy: int, opened: int, end: int) -> bool:
    """Move the copy of one open event behind the open part of a max-list; False if it does not belong there."""
    lists, stop = forest.lists, forest.nodes[dummy]["list_stop"]
    if end <= navigation_key(forest, dummy):
        return False
    low, high = forest.nodes[dummy]["list_at"], stop
    while low < high:
        middle = (low + high) >> 1
        if lists[middle]["end"] == FOREVER:
            low = middle + 1
        else:
            high = middle
    if low < stop and lists[low]["end"] > end:
        return False
    hole = low - 1
    moved = lists[hole]["desc"]
    lists[forest.slot[opened]]["desc"] = moved
    forest.slot[moved] = forest.slot[opened]
    lists[hole]["end"] = end
    lists[hole]["desc"] = opened
    return True
