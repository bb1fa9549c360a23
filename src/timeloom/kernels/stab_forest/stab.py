"""Stab-queries on a stab-forest: which events are active at an instant, as positions in the event list.

``visit`` is one step of the multi-stab procedure (stab-forest paper, section 4, cases 1 to 7): it writes the events
active at t that stand at or after the position ``seen``. A plain stab is the step with nothing seen. Where the paper
compares with the previous instant, positions do: every list says by its positions whether it holds anything unseen.

Results come in the order in which they are met: forest-points from the earliest, the covering point's max-list before
its tree, the tree from the root down, the tail last; inside a list by descending end, or by ascending start where the
list belongs to a later node.

Nothing is written beyond the output; the returned fill says how much room was needed. Events whose end is kept apart
are met as open ones, and dropped again if they have ended by t.
"""

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.jit import borrowing
from timeloom.kernels.order import Positions, Ticks
from timeloom.kernels.stab_forest.build import first_reaching
from timeloom.kernels.stab_forest.layout import EVENTS, FOREVER, LATE, LOOSE, NODES, STRIDE, Forest

Found = NDArray[np.integer]
"""Where positions are written: ids are wider, pages of answers are not."""

NO_MARKS = np.zeros(0, np.int64)

STEPS = 64
"""Where marks count the stations and entries that were looked at, behind two for each level."""


@borrowing
def locate(forest: Forest, hint: int, t: int) -> int:
    """The node in whose scope t lies, searched from the hint on; one more than all nodes if t is later than they.

    The instant must not be before the first event, and the hint's scope not after t.
    """
    nodes = forest.counts[NODES]
    if nodes == 0 or forest.dkey[nodes] < t:
        return int(nodes + 1)
    block = first_reaching(forest.guide, (hint - 1) // STRIDE + 1, nodes // STRIDE + 1, t) - 1
    low, high = block * STRIDE + 1, min(nodes, block * STRIDE + STRIDE)
    while low < high:
        middle = (low + high) >> 1
        if forest.dkey[middle] < t:
            low = middle + 1
        else:
            high = middle
    return low


@borrowing
def first_after(forest: Forest, node: int, t: int) -> int:
    """The position of the first event that starts after t, given the node of t."""
    first = forest.nodes[node]["first"]
    if node > forest.counts[NODES]:
        return int(forest.counts[EVENTS] if forest.starts[first] <= t else first)
    return int(forest.nodes[node + 1]["first"] if forest.dkey[node] == t else first)


@borrowing
def visit(forest: Forest, t: int, seen: int, node: int, marks: Ticks, out: Found, at: int) -> int:
    """Write the events at or after ``seen`` that are active at t, whose node is given; return the new fill.

    The way leads over the dummy nodes of earlier forest-points (each a step to the right), then down one tree to the
    node, or to the tail. A station before the node gives what lasts beyond t, by descending end; one after it gives
    what started by t, by ascending start; ``marks`` remembers for each level which such list was read last, and how
    far. All loops stand here, as calls that pass arrays cost more than the loops do.

    The station of a level follows from the node's number. All are looked at first, without a branch that waits for
    any of them: each stands somewhere else in memory, and so they arrive together. None is looked at if nothing from
    before the node's block of 64 lasts beyond t, and nothing of that block.
    """
    nodes, lists, ends, room, count = forest.nodes, forest.lists, forest.ends, out.size, forest.counts[NODES]
    after, begun, steps = first_after(forest, node, t), at, 0
    block = (node - 1) // STRIDE
    if forest.latest[block] <= t:
        first, position = max(seen, nodes[block * STRIDE + 1]["first"]), after - 1
        if position - first < STRIDE:
            while position >= first and ends[position] <= t:
                position -= 1
                steps += 1
            if position < first:
                if marks.size:
                    marks[STEPS] += steps + 1
                return at
    goal, level, useful = min(node, count), 31, 0
    while level >= 0 and (goal >> level) << level != goal:
        station = (goal >> level | 1) << level
        if station <= count:
            record = nodes[station]
            useful |= int(record["last_end"] > t if station < goal else record["earliest"] < after) << level
            steps += 1
        level -= 1
    if goal:
        useful |= 1 << level
        steps += 1
    level = 32
    while useful:
        level -= 1
        if not useful >> level:
            continue
        useful ^= 1 << level
        station = (goal >> level | 1) << level
        record = nodes[station]
        low, high = record["list_at"], record["list_stop"]
        if station > node:
            entry = low
            if marks.size and marks[2 * level] == low:
                entry = max(low, marks[2 * level + 1])
            while entry < high and lists[entry]["asc"] < seen:
                entry += 1
                steps += 1
            while entry < high and lists[entry]["asc"] < after:
                if at < room:
                    out[at] = lists[entry]["asc"]
                at += 1
                entry += 1
            if marks.size:
                marks[2 * level], marks[2 * level + 1] = low, entry
            continue
        first, position = record["first"], min(after, record["own_stop"]) - 1
        if seen < first:
            while low < high and lists[low]["end"] > t:
                if lists[low]["desc"] >= seen:
                    if at < room:
                        out[at] = lists[low]["desc"]
                    at += 1
                else:
                    steps += 1
                low += 1
        while position >= first and position >= seen and ends[position] > t:
            if at < room:
                out[at] = position
            at += 1
            position -= 1
    if node > count:
        first, position = nodes[node]["first"], after - 1
        steps += 1
        if forest.counts[LOOSE] and after > first:
            at, position = visit_runs(ends, max(seen, first), first, after, t, out, at), first - 1
        while position >= first and position >= seen and ends[position] > t:
            if at < room:
                out[at] = position
            at += 1
            position -= 1
    if marks.size:
        marks[STEPS] += steps + at - begun
    if forest.counts[LATE] and at <= room:
        return drop_ended(ends, forest.late, forest.late_ends, t, out, begun, at)
    return at


@borrowing
def drop_ended(ends: Ticks, late: Positions, late_ends: Ticks, t: int, out: Found, begun: int, stop: int) -> int:
    """Drop of the hits from ``begun`` on those whose end is kept apart and has come."""
    at = begun
    for hit in range(begun, stop):
        position = out[hit]
        if ends[position] != FOREVER or not late[position] or late_ends[late[position] - 1] > t:
            out[at] = position
            at += 1
    return at


@borrowing
def visit_runs(ends: Ticks, seen: int, begin: int, stop: int, t: int, out: Found, at: int) -> int:
    """Write what lasts beyond t of a tail in runs, which are as long as the digits of its size."""
    level = 31
    while begin < stop:
        while stop - begin < 1 << level:
            level -= 1
        after = begin + (1 << level)
        position = after - 1
        while position >= begin and position >= seen and ends[position] > t:
            if at < out.size:
                out[at] = position
            at += 1
            position -= 1
        begin = after
    return at


@borrowing
def stab_into(forest: Forest, t: int, marks: Ticks, out: Ticks, at: int) -> int:
    """Write the events active at t; return the new fill."""
    if forest.counts[EVENTS] == 0 or t < forest.starts[0]:
        return at
    return visit(forest, t, 0, locate(forest, 1, t), marks, out, at)


def stab(forest: Forest, t: int) -> Ticks:
    """The events active at t."""
    out = np.empty(256, np.int64)
    found = stab_into(forest, t, NO_MARKS, out, 0)
    if found > out.size:
        out = np.empty(found, np.int64)
        found = stab_into(forest, t, NO_MARKS, out, 0)
    return out[:found]


@borrowing
def count_at(forest: Forest, t: int) -> int:
    """Count the events active at t: one short search in each list on the way."""
    if forest.counts[EVENTS] == 0 or t < forest.starts[0]:
        return 0
    node = locate(forest, 1, t)
    after = first_after(forest, node, t)
    digits, level, station, found = forest.counts[NODES], 32, 0, 0
    while station != node:
        level -= 1
        while level >= 0 and not (digits >> level) & 1:
            level -= 1
        if level < 0:
            found += count_tail(forest, forest.nodes[node]["first"], after, t)
            break
        station += (1 << level) if station < node else -(1 << level)
        record = forest.nodes[station]
        low, high = record["list_at"], record["list_stop"]
        begin = low
        if station > node:
            digits = -1
        elif record["last_end"] > t:
            found += count_own(forest.ends, record["first"], min(after, record["own_stop"]), t)
        else:
            continue
        while low < high:
            middle = (low + high) >> 1
            entry = forest.lists[middle]
            if (entry["asc"] < after) if station > node else (entry["end"] > t):
                low = middle + 1
            else:
                high = middle
        found += low - begin
    for number in range(forest.counts[LATE]):
        if forest.late_ends[number] <= t:
            found -= 1
    return found


@borrowing
def count_tail(forest: Forest, begin: int, stop: int, t: int) -> int:
    """Count the events of the tail that last beyond t."""
    if not forest.counts[LOOSE]:
        return count_own(forest.ends, begin, stop, t)
    found, level = 0, 31
    while begin < stop:
        while stop - begin < 1 << level:
            level -= 1
        found += count_own(forest.ends, begin, begin + (1 << level), t)
        begin += 1 << level
    return found


@borrowing
def count_own(ends: Ticks, low: int, stop: int, t: int) -> int:
    """Count the events of one start, given by ascending end, that last beyond t."""
    high = stop
    while low < high:
        middle = (low + high) >> 1
        if ends[middle] > t:
            high = middle
        else:
            low = middle + 1
    return stop - low


@borrowing
def count_many(forest: Forest, ts: Ticks, found: Ticks) -> None:
    """Count the events active at each instant."""
    for row in range(ts.size):
        found[row] = count_at(forest, ts[row])
