"""Many stabs with an answer for each: two passes over ascending instants, so that every answer is written once.

The first pass meets each event that is active at any of the instants, notes at which one first, and counts it for every
instant that it lasts to. Then it is known where each answer begins. The second pass writes the events there, whatever
order the answers are wanted in; an event that was met earlier comes first. Windows get what starts within them behind.
"""

from typing import NamedTuple

import numpy as np

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Positions, Ticks
from timeloom.kernels.stab_forest.layout import EVENTS, NODES, Forest, end_at
from timeloom.kernels.stab_forest.multi_stab import new_marks, reach_of
from timeloom.kernels.stab_forest.rectangle import rank_through
from timeloom.kernels.stab_forest.stab import count_at, first_after, locate, visit


class Met(NamedTuple):
    """The events that instants ``begin`` to ``stop`` meet: where each stands, and the number of the first instant."""

    begin: int
    stop: int
    positions: Ticks
    firsts: Positions


@compiled
def meet(
    forest: Forest,
    ts: Ticks,
    begin: int,
    stop: int,
    reach: int,
    marks: Ticks,
    met: Ticks,
    firsts: Positions,
    rows: Positions,
    offsets: Ticks,
) -> int:
    """Meet the events of the instants from ``begin`` to ``stop``; tell how many there are.

    The answer to instant k has the number ``rows[k]``, or k if there are no rows; its size is added to ``offsets``
    behind that number. A step reads the event list if its instant is near and the index if it is far, as a multi-stab
    does.
    """
    starts, events, ordered = forest.starts, forest.counts[EVENTS], rows.size == 0
    seen, node, count = 0, 1, 0
    for number in range(begin, stop):
        t, known = ts[number], count
        if seen + reach < events and starts[seen + reach] <= t:
            node = locate(forest, node, t)
            count = visit(forest, t, seen, node, marks, met, count)
            seen = first_after(forest, node, t)
        while seen < events and starts[seen] <= t:
            met[count] = seen
            count += end_at(forest, seen) > t
            seen += 1
        for new in range(known, count):
            firsts[new] = number
            end, later = end_at(forest, met[new]), number
            while later < stop and ts[later] < end:
                offsets[(later if ordered else rows[later]) + 1] += 1
                later += 1
    return count


@compiled
def add_runs(rows: Positions, begins: Ticks, stops: Ticks, offsets: Ticks) -> None:
    """Add to the size of each answer that of a run of positions, which may be empty."""
    for number in range(begins.size):
        offsets[(rows[number] if rows.size else number) + 1] += max(0, stops[number] - begins[number])


@compiled
def place(offsets: Ticks) -> int:
    """Turn sizes, each behind its answer's number, into where the answer begins; tell the size of all together."""
    total = 0
    for number in range(1, offsets.size):
        size = offsets[number]
        offsets[number] = total
        total += size
    return total


@compiled
def write_met(
    forest: Forest, ts: Ticks, stop: int, met: Ticks, firsts: Positions, rows: Positions, offsets: Ticks, out: Ticks
) -> None:
    """Write each event into the answers of the instants that it lasts to; offsets move behind what is written."""
    ordered = rows.size == 0
    for event in range(met.size):
        position, number = met[event], firsts[event]
        end = end_at(forest, position)
        while number < stop and ts[number] < end:
            answer = (number if ordered else rows[number]) + 1
            out[offsets[answer]] = position
            offsets[answer] += 1
            number += 1


@compiled
def write_runs(begin: int, stop: int, rows: Positions, begins: Ticks, stops: Ticks, offsets: Ticks, out: Ticks) -> None:
    """Write a run of positions behind each of some answers; offsets move behind what is written."""
    for number in range(begin, stop):
        answer = (rows[number] if rows.size else number) + 1
        at = offsets[answer]
        for position in range(begins[number], stops[number]):
            out[at] = position
            at += 1
        offsets[answer] = at


def events_met(forest: Forest, ts: Ticks, c: int, rows: Positions, offsets: Ticks, begin: int, stop: int) -> Met:
    """What some of the ascending instants meet, counted into the offsets."""
    events, first, last = forest.counts[EVENTS], int(ts[begin]), int(ts[stop - 1])
    started = rank_through(forest.starts, events, last) - rank_through(forest.starts, events, first)
    reach = reach_of(c, int(forest.counts[NODES]))
    most = int(count_at(forest, first) + started) + int(forest.late_at.size) + 1
    met, firsts = np.empty(most, np.int64), np.empty(most, np.int32)
    found = meet(forest, ts, begin, stop, reach, new_marks(), met, firsts, rows, offsets)
    return Met(begin, stop, met[:found], firsts[:found])
