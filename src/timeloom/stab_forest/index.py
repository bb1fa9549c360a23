"""The event list and its index as they grow: room, identities, the tail's order, and open events' places."""

import numpy as np

from timeloom.errors import InvalidInputError
from timeloom.kernels.order import MAX_ROWS, Positions, Ticks
from timeloom.kernels.stab_forest.build import build, event_order
from timeloom.kernels.stab_forest.finish import finish
from timeloom.kernels.stab_forest.layout import EVENTS, FOREVER, NODES, Forest, allocate, append_events, resized


class EventIndex:
    """A forest and the names of its events: the event at position p has the id ``ids[p]``, or p if ids is None.

    While ``readers`` is not 0 nothing here may change: whoever wants to change something changes a copy.
    """

    def __init__(self, forest: Forest | None = None, ids: Positions | None = None) -> None:
        self.forest = allocate(0) if forest is None else forest
        self.ids = ids
        self.places: dict[int, int] = {}
        self.stale = False
        self.readers = 0

    def copied(self) -> "EventIndex":
        """A copy of its own arrays, with room to grow; handles are followed in the copy only."""
        copy = EventIndex(resized(self.forest, _roomy(len(self))), None if self.ids is None else self.ids.copy())
        copy.places, copy.stale = self.places, self.stale
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

    def starts(self) -> Ticks:
        """The starts in the order of the event list."""
        return self.forest.starts[: len(self)]

    def ends(self) -> Ticks:
        """The ends in the order of the event list."""
        return self.forest.ends[: len(self)]

    def names(self, positions: Ticks) -> Ticks:
        """The ids of the events at these positions."""
        return positions if self.ids is None else self.ids[positions].astype(np.int64)

    def add(self, starts: Ticks, ends: Ticks, ids: Ticks) -> None:
        """Append events, in any order among themselves, none of which starts before the tail."""
        if not starts.size:
            return
        self.refresh()
        before, tail = len(self), self.tail
        self._reserve(before + starts.size)
        rows = event_order(starts, ends)
        if rows is not None:
            starts, ends, ids = starts[rows], ends[rows], ids[rows]
        if rows is not None or self.ids is not None or not np.array_equal(ids, np.arange(before, before + ids.size)):
            self._own_ids()[before : before + ids.size] = ids
        shared = 0
        if before and starts[0] == self.forest.starts[before - 1] and ends[0] < self.forest.ends[before - 1]:
            shared = int(np.searchsorted(starts, starts[0], side="right"))
            append_events(self.forest, starts[:shared], ends[:shared])
            self._sort_tail()
        append_events(self.forest, starts[shared:], ends[shared:])
        self._find_open(tail)

    def locate(self, event: int) -> int:
        """The position of an event, wherever it stands."""
        return event if self.ids is None else int(np.flatnonzero(self.ids[: len(self)] == event)[0])

    def finish(self, event: int, end: int) -> None:
        """Give an open event its end."""
        place = self.places.pop(event)
        opened, target, sound = finish(self.forest, place, end)
        self.stale = self.stale or not sound
        if place == opened == target:
            return
        ids = self._own_ids()
        other = int(ids[opened])
        ids[place] = other
        if other in self.places:
            self.places[other] = place
        ids[target + 1 : opened + 1] = ids[target:opened].copy()
        ids[target] = event

    def refresh(self) -> None:
        """Rebuild the index if an event was finished too late to keep it; the event list is right at all times."""
        if self.stale:
            self.forest = build(self.starts(), self.ends())
            self.stale = False

    def require_room(self, more: int) -> None:
        """Refuse more events than can be held."""
        _require_room(len(self) + more)

    def _reserve(self, events: int) -> None:
        _require_room(events)
        if events > self.forest.starts.size:
            self.forest = resized(self.forest, _roomy(events))
        if self.ids is not None and self.ids.size < self.forest.starts.size:
            self.ids = np.resize(self.ids, self.forest.starts.size)

    def _own_ids(self) -> Positions:
        if self.ids is None:
            self.ids = np.arange(self.forest.starts.size, dtype=np.int32)
        return self.ids

    def _sort_tail(self) -> None:
        tail, stop = self.tail, len(self)
        order = np.argsort(self.forest.ends[tail:stop], kind="stable")
        self.forest.ends[tail:stop] = self.forest.ends[tail:stop][order]
        ids = self._own_ids()
        ids[tail:stop] = ids[tail:stop][order]

    def follow(self, events: list[int]) -> None:
        """Note where some open events stand that have handles."""
        self.places = dict.fromkeys(events, -1)
        self._find_open(0)

    def _find_open(self, begin: int) -> None:
        """Note where the open events that have handles stand, from a position on."""
        if not self.places:
            return
        positions = begin + np.flatnonzero(self.ends()[begin:] == FOREVER)
        for position, event in zip(positions.tolist(), self.names(positions).tolist(), strict=True):
            if event in self.places:
                self.places[event] = position


def _roomy(events: int) -> int:
    return min(MAX_ROWS, max(64, events + events // 2))


def _require_room(events: int) -> None:
    if events > MAX_ROWS:
        raise InvalidInputError(f"{events} events; a forest holds at most {MAX_ROWS}: split them into several forests")
