"""Many questions in one call: sorted once, shared out to all cores."""

from functools import partial
from itertools import pairwise

import numpy as np

from timeloom.engines.resources.threads import chunks, cores, in_parallel, worth
from timeloom.kernels.order import Ticks, in_order, sealed, sort
from timeloom.kernels.stab_forest.layout import EVENTS
from timeloom.kernels.stab_forest.listing import add_runs, answered, hand_out, place
from timeloom.kernels.stab_forest.multi_stab import THRESHOLD, multi_stab, new_marks
from timeloom.kernels.stab_forest.rectangle import count_rows, rank_through
from timeloom.kernels.stab_forest.stab import count_many
from timeloom.model.ticks import MAX_TICK, MIN_TICK
from timeloom.stab_forest.index import EventIndex

STARTED, LASTING = (MIN_TICK, MAX_TICK, MIN_TICK, -1), (1, MAX_TICK, MIN_TICK, MAX_TICK)
"""Bounds on the starts and ends of what intersects a window: it starts before the end, and ends after the start."""

MANY = 16
"""So many events are sorted in the time that the index takes for one count."""

BEGUN, STEP = 4, 32
"""An instant takes as long as reading so many events, before any is read; reaching it through the index so many."""

MANY_STEPS = 100_000
"""Reading so many events takes longer than having a second thread begin."""

COPIES = 32
"""So many positions are copied in the time that handing out one takes."""

IN_ORDER = np.zeros(0, np.int32)
"""Where instants came from that are in order, and the ids of events that have none but their positions."""

NO_RUNS = np.zeros(0, np.int64), np.zeros(0, np.int64)
"""What starts within instants."""

Answers = tuple[Ticks, Ticks]
"""The ids for question j are ``ids[offsets[j]:offsets[j + 1]]``."""


def stabs(index: EventIndex, ts: Ticks, c: int) -> Answers:
    """The events active at each instant."""
    return _listed(index, ts, None, c)


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
    """The events active at any time of each window: those when it opens, and what starts within it."""
    return _listed(index, begins, ends, THRESHOLD)


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


def _listed(index: EventIndex, ts: Ticks, ends: Ticks | None, c: int) -> Answers:
    """The events active at each instant, and, if windows open there, what starts until they end."""
    rows, offsets = IN_ORDER, np.zeros(ts.size + 1, np.int64)
    if not ts.size:
        return offsets, offsets[:0].copy()
    if not in_order(ts):
        order = sort(ts, cores())
        rows, ts, ends = order.ids, order.values, None if ends is None else ends[order.ids]
    answer = partial(answered, index.forest, sealed(ts), c, rows, offsets)
    tasks = [partial(answer, *part) for part in _parts(index, ts.size)]
    pages = [page for part in in_parallel(tasks, cores()) for page in part]
    runs = NO_RUNS
    if ends is not None:
        starts = index.starts()
        runs = np.searchsorted(starts, ts, side="right"), np.searchsorted(starts, ends, side="left")
        add_runs(rows, *runs, offsets)
    out = np.empty(place(offsets), np.int64)
    ids = IN_ORDER if index.ids is None else index.ids
    hand = partial(hand_out, rows, *runs, offsets, ids, out)
    copied = not rows.size and ends is None and not ids.size
    in_parallel([partial(hand, *page) for page in pages], worth(cores(), out.size // (COPIES if copied else 1)))
    return offsets, out


def _parts(index: EventIndex, instants: int) -> list[tuple[int, int]]:
    """Cut instants into a range for each core that is worth it: a step reads events up to the next, or the index."""
    steps = instants * (BEGUN + min(STEP, len(index) // instants))
    parts = max(1, min(cores(), steps // MANY_STEPS, instants))
    return list(pairwise(instants * part // parts for part in range(parts + 1)))
