"""The event list and its index as they grow: room, identities, the tail's order, and ends that are kept apart."""

from typing import cast

import numpy as np
from numpy.typing import NDArray

from timeloom.errors import InvalidInputError
from timeloom.kernels.order import MAX_ROWS, Positions, Ticks
from timeloom.kernels.stab_forest.build import build, event_order, sort_runs
from timeloom.kernels.stab_forest.bulk_append import append_many
from timeloom.kernels.stab_forest.finish import finish
from timeloom.kernels.stab_forest.layout import (
    EVENTS,
    LATE,
    LOOSE,
    NODES,
    Forest,
    allocate,
    append_events,
    ends_of,
    resized,
)

_INT64 = np.dtype(np.int64)

MANY = 256
"""So many events are sooner appended together than one by one."""


class EventIndex:
    """A forest and the names of its events: the event at position p has the id ``ids[p]``, or p if ids is None.

    ``by_id`` knows positions by id, once anyone has asked. If events have been forgotten, ``kept`` holds the ids that
    were left then, in ascending order, and the first id that came later. While ``readers`` is not 0 nothing here may
    change: whoever wants to change something changes a copy. ``moved`` counts the events that maintenance wrote again.
    """

    def __init__(self, forest: Forest | None = None, ids: Positions | None = None) -> None:
        self.forest = allocate(0) if forest is None else forest
        self.ids = ids
        self.by_id: Positions | None = None
        self._base = 0
        self.kept: tuple[Ticks, int] | None = None
        self.readers = 0
        self.moved = 0

    def copied(self) -> "EventIndex":
        """A copy of its own arrays, with room to grow; positions by id are kept up in the copy only."""
        copy = EventIndex(resized(self.forest, _roomy(len(self))), None if self.ids is None else self.ids.copy())
        copy._base = self._base
        copy.by_id, self.by_id = self.by_id, None
        copy.kept, copy.moved = self.kept, self.moved + len(self)
        if copy.ids is not None:
            copy.ids = np.resize(copy.ids, copy.forest.starts.size)
        return copy

    @classmethod
    def of(cls, starts: Ticks, ends: Ticks) -> "EventIndex":
        """Index events in any order; ids are their rows."""
        _require_room(starts.size)
        rows = event_order(starts, ends)
        return cls(build(starts, ends)) if rows is None else cls(build(starts[rows], ends[rows]), rows)

    def __len__(self) -> int:
        return int(self.forest.counts[EVENTS])

    @property
    def tail(self) -> int:
        """The position where the tail begins."""
        return int(self.forest.nodes[self.forest.counts[NODES] + 1]["first"]) if len(self) else 0

    @property
    def untidy(self) -> bool:
        """Whether ends are kept apart, or the tail is in runs."""
        return bool(self.forest.counts[LATE] or self.forest.counts[LOOSE])

    def starts(self) -> Ticks:
        """The starts in the order of the event list."""
        return self.forest.starts[: len(self)]

    def ends(self) -> Ticks:
        """The ends in the order of the event list."""
        return ends_of(self.forest, slice(0, len(self))) if self.forest.counts[LATE] else self.forest.ends[: len(self)]

    def names(self, positions: NDArray[np.integer]) -> Ticks:
        """The ids of the events at these positions."""
        if self.ids is None and positions.dtype == _INT64:
            return cast("Ticks", positions)
        return (positions if self.ids is None else self.ids[positions]).astype(_INT64)

    def ranks(self, positions: NDArray[np.integer]) -> Ticks:
        """How many ids lesser than those at these positions have not been forgotten."""
        return self.ranks_of(self.names(positions))

    def ranks_of(self, ids: Ticks) -> Ticks:
        """How many lesser ids than these have not been forgotten."""
        if self.kept is None:
            return ids
        known, following = self.kept
        return np.where(ids < following, np.searchsorted(known, ids), ids - following + known.size)

    def add(self, starts: Ticks, ends: Ticks, ids: Ticks) -> None:
        """Append events, in any order among themselves, none of which starts before the tail."""
        if not starts.size:
            return
        before, tail = len(self), self.tail
        rows = event_order(starts, ends)
        if rows is not None:
            starts, ends, ids = starts[rows], ends[rows], ids[rows]
        if before:
            self._reserve(before + starts.size)
        else:
            _require_room(starts.size)
            self.forest = build(starts, ends)
        if rows is not None or self.ids is not None or not np.array_equal(ids, np.arange(before, before + ids.size)):
            self._own_ids()[before : before + ids.size] = ids
        self._note(ids, np.arange(before, before + ids.size))
        if not before:
            return
        shared = 0
        if starts[0] == self.forest.starts[before - 1]:
            shared = int(np.searchsorted(starts, starts[0], side="right"))
            append_events(self.forest, starts[:shared], ends[:shared])
            self._restore_tail(tail, before, int(ends[0]))
        if shared < starts.size:
            self._sort(tail, len(self))
            append = append_many if starts.size - shared >= MANY else append_events
            append(self.forest, starts[shared:], ends[shared:])

    def locate_all(self, events: Ticks) -> Ticks:
        """The positions of events, -1 for each that is not here."""
        if self.ids is None or not len(self):
            return np.where((events >= 0) & (events < len(self)), events, -1)
        by_id = self._positions_by_id()
        slots = events - self._base
        positions = by_id[np.clip(slots, 0, by_id.size - 1)].astype(np.int64)
        found = (slots >= 0) & (slots < by_id.size) & (self.ids[positions] == events)
        return np.where(found, positions, -1)

    def _positions_by_id(self) -> Positions:
        if self.by_id is None:
            ids = self.ids[: len(self)]  # type: ignore[index]
            self._base = int(ids.min())
            self.by_id = np.zeros(_roomy(int(ids.max()) + 1 - self._base), np.int32)
            self.by_id[ids - self._base] = np.arange(len(self), dtype=np.int32)
        return self.by_id

    def locate(self, event: int) -> int:
        """The position of an event, -1 if it is not here."""
        if self.ids is None:
            return event if event < len(self) else -1
        if not len(self):
            return -1
        by_id = self._positions_by_id()
        slot = event - self._base
        position = int(by_id[slot]) if 0 <= slot < by_id.size else 0
        return position if position < len(self) and self.ids[position] == event else -1

    def event(self, event: int) -> tuple[int, int] | None:
        """The start and the end of an event, None if it is not here."""
        position = self.locate(event)
        if position < 0:
            return None
        forest = self.forest
        end, late = int(forest.ends[position]), forest.late[position]
        return int(forest.starts[position]), int(forest.late_ends[late - 1]) if late else end

    def finish(self, event: int, end: int) -> None:
        """Give an open event its end."""
        position = self.locate(event)
        opened = finish(self.forest, position, end)
        if opened >= 0 and opened != position:
            ids = self._own_ids()
            self.locate(event)
            ids[position] = ids[opened]
            ids[opened] = event
            self._note(ids[[position, opened]], np.array([position, opened]))
        if self.forest.counts[LATE] == self.forest.late_at.size:
            self.tidy()

    def tidy(self) -> None:
        """Bring the ends that are kept apart into the index, and the tail into one run."""
        if self.forest.counts[LATE]:
            starts, ends = self.starts(), self.ends()
            rows = np.arange(starts.size, dtype=np.int32)
            sort_runs(starts, ends, rows)
            ids = self.names(rows)
            self.forest = build(starts, ends[rows])
            self._own_ids()[: ids.size] = ids
            self._note(ids, np.arange(ids.size))
            self.moved += ids.size
        self._sort(self.tail, len(self))

    def require_room(self, more: int) -> None:
        """Refuse more events than can be held."""
        _require_room(len(self) + more)

    def _reserve(self, events: int) -> None:
        _require_room(events)
        if events > self.forest.starts.size:
            self.moved += len(self)
            self.forest = resized(self.forest, _roomy(events))
        if self.ids is not None and self.ids.size < self.forest.starts.size:
            self.ids = np.resize(self.ids, self.forest.starts.size)

    def _own_ids(self) -> Positions:
        if self.ids is None:
            self.ids = np.arange(self.forest.starts.size, dtype=np.int32)
        elif self.ids.size < self.forest.starts.size:
            self.ids = np.resize(self.ids, self.forest.starts.size)
        return self.ids

    def _note(self, ids: NDArray[np.integer], positions: NDArray[np.integer]) -> None:
        """Note where some events stand, if anyone has asked for positions by id."""
        if self.by_id is None:
            return
        if int(ids.min()) < self._base:
            self.by_id = None
            return
        most = int(ids.max()) + 1 - self._base
        if most > self.by_id.size:
            self.by_id = np.resize(self.by_id, _roomy(most))
        self.by_id[ids - self._base] = positions

    def _restore_tail(self, tail: int, before: int, end: int) -> None:
        """Sort a grown tail into runs; one that goes on in order stays one run.

        Its sizes before and after agree in their leading digits, and those runs stay as they are.
        """
        counts, size = self.forest.counts, len(self) - tail
        if not counts[LOOSE] and end >= self.forest.ends[before - 1]:
            return
        counts[LOOSE] = 1
        level = int((before - tail) ^ size).bit_length()
        self._permute(tail + (size >> level << level), len(self))

    def _sort(self, tail: int, stop: int) -> None:
        """Bring a tail in runs into one."""
        if self.forest.counts[LOOSE]:
            self._permute(tail, stop)
            self.forest.counts[LOOSE] = 0

    def _permute(self, begin: int, stop: int) -> None:
        """Sort events of one start by the ends under which they stand."""
        part, forest = slice(begin, stop), self.forest
        order = np.argsort(forest.ends[part], kind="stable")
        forest.ends[part] = forest.ends[part][order]
        ids = self._own_ids()
        ids[part] = ids[part][order]
        self._note(ids[part], np.arange(begin, stop))
        if forest.counts[LATE]:
            forest.late[part] = forest.late[part][order]
            kept = begin + np.flatnonzero(forest.late[part])
            forest.late_at[forest.late[kept] - 1] = kept
        self.moved += stop - begin


def _roomy(events: int) -> int:
    return min(MAX_ROWS, max(64, events + events // 2))


def _require_room(events: int) -> None:
    if events > MAX_ROWS:
        raise InvalidInputError(f"{events} events; a forest holds at most {MAX_ROWS}: split them into several forests")
