"""Many questions in one call: sorted once, shared out to all cores."""

from functools import partial

import numpy as np

from timeloom.engines.resources.threads import chunks, cores, in_parallel
from timeloom.kernels.order import Ticks, sort
from timeloom.kernels.stab_forest.layout import EVENTS
from timeloom.kernels.stab_forest.multi_stab import (
    THRESHOLD,
    multi_stab,
    new_marks,
    put_in_order,
    stab_ascending,
    with_runs,
)
from timeloom.kernels.stab_forest.rectangle import count_rows, rank_through
from timeloom.kernels.stab_forest.stab import count_many
from timeloom.model.ticks import MAX_TICK, MIN_TICK
from timeloom.stab_forest.index import EventIndex

STARTED, LASTING = (MIN_TICK, MAX_TICK, MIN_TICK, -1), (1, MAX_TICK, MIN_TICK, MAX_TICK)
"""Bounds on the starts and ends of what intersects a window: it starts before the end, and ends after the start."""

MANY = 16
"""So many events are sorted in the time that the index takes for one count."""

Answers = tuple[Ticks, Ticks]
"""The ids for question j are ``ids[offsets[j]:offsets[j + 1]]``."""


def stabs(index: EventIndex, ts: Ticks, c: int) -> Answers:
    """The events active at each instant."""
    ascending = bool(np.all(ts[:-1] <= ts[1:]))
    order = None if ascending else sort(ts)
    values = ts if order is None else order.values
    parts = [partial(stab_ascending, index.forest, values[begin:stop], c) for begin, stop in chunks(ts.size, cores())]
    offsets, found = _joined(in_parallel(parts, cores()))
    if order is not None:
        offsets, found = put_in_order(order.ids, offsets, found)
    return offsets, index.names(found)


def union(index: EventIndex, ts: Ticks, reach: int) -> Ticks:
    """The events active at any of the ascending instants, each once."""
    forest, tasks = index.forest, []
    for begin, stop in chunks(ts.size, cores()):
        seen = rank_through(forest.starts, forest.counts[EVENTS], ts[begin - 1]) if begin else 0
        tasks.append(partial(multi_stab, forest, ts[begin:stop], reach, new_marks(), seen))
    found = [part[0] for part in in_parallel(tasks, cores())]
    return index.names(found[0] if len(found) == 1 else np.concatenate(found))


def counts(index: EventIndex, ts: Ticks) -> Ticks:
    """How many events are active at each instant."""
    if _are_many(index, ts):
        return np.searchsorted(index.starts(), ts, side="right") - np.searchsorted(
            np.sort(index.ends()), ts, side="right"
        )
    found = np.empty(ts.size, np.int64)
    parts = chunks(ts.size, cores())
    in_parallel([partial(count_many, index.forest, ts[slice(*part)], found[slice(*part)]) for part in parts], cores())
    return found


def windows(index: EventIndex, begins: Ticks, ends: Ticks) -> Answers:
    """The events active at any time of each window."""
    order = None if bool(np.all(begins[:-1] <= begins[1:])) else sort(begins)
    if order is not None:
        begins, ends = order.values, ends[order.ids]
    found = in_parallel(
        [partial(_windows, index, begins[slice(*part)], ends[slice(*part)]) for part in chunks(begins.size, cores())],
        cores(),
    )
    offsets, positions = _joined(found)
    if order is not None:
        offsets, positions = put_in_order(order.ids, offsets, positions)
    return offsets, index.names(positions)


def window_counts(index: EventIndex, begins: Ticks, ends: Ticks) -> Ticks:
    """How many events are active at any time of each window."""
    if _are_many(index, begins):
        started = np.searchsorted(index.starts(), ends, side="left")
        return started - np.searchsorted(np.sort(index.ends()), begins, side="right")
    found = np.zeros(begins.size, np.int64)
    tasks = [
        partial(count_rows, index.forest, begins, ends, STARTED, LASTING, begin, found[begin:stop])
        for begin, stop in chunks(begins.size, cores())
    ]
    in_parallel(tasks, cores())
    return found


def _are_many(index: EventIndex, questions: Ticks) -> bool:
    """Whether sorting all ends once is sooner done than asking the index: a count is then a difference of two ranks."""
    return questions.size * MANY > len(index)


def _windows(index: EventIndex, begins: Ticks, ends: Ticks) -> Answers:
    """What is active when a window opens, and what starts within it."""
    starts = index.starts()
    offsets, found = stab_ascending(index.forest, begins, THRESHOLD)
    return with_runs(
        offsets, found, np.searchsorted(starts, begins, side="right"), np.searchsorted(starts, ends, side="left")
    )


def _joined(parts: list[Answers]) -> Answers:
    """Answers to parts of the questions, one behind the other."""
    if len(parts) == 1:
        return parts[0]
    fills = np.cumsum([0, *(part[1].size for part in parts)])
    offsets = [part[0][:-1] + fill for part, fill in zip(parts, fills[:-1], strict=True)]
    return np.concatenate([*offsets, fills[-1:]]), np.concatenate([part[1] for part in parts])
