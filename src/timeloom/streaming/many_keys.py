"""All keys of a streaming join in one sweep, whatever kind of join it is, and however its sides arrive."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.order import distinct
from timeloom.kernels.streaming.arrival import ACCEPTED
from timeloom.kernels.streaming.foresight import NEAR_TICK
from timeloom.kernels.streaming.gapless import Cells
from timeloom.kernels.streaming.layout import EVENT_HANDLE, EVENT_SIDE, HANDLES, VERDICT
from timeloom.model.ticks import FOREVER
from timeloom.streaming.intake import Events, Ids, refused
from timeloom.streaming.key_pools import KeyPools
from timeloom.streaming.operator import Emitted, EndpointJoin, ended_rows
from timeloom.streaming.restoring import FAR, LEFT_HANDLE, Stored

Arrays = list[NDArray[np.int64]]


class OfKeys(NamedTuple):
    """What has become certain, and the key of each pair and of each single row."""

    keys: Ids
    row_keys: Ids
    emitted: Emitted


class ManyKeys:
    """The events of all keys that are held back, and the sweep over the keys that events or plans touch."""

    def __init__(self, make: Callable[[], EndpointJoin]) -> None:
        model = make()
        self.numbered, self.intake = model.numbered, model.intake
        self.pools = KeyPools(model)
        self._held_keys: list[Cells] = [np.empty((2, 0), np.int64), np.empty((2, 0), np.int64)]
        self._next = [0, 0]

    @property
    def keys(self) -> set[int]:
        """The keys that have rows or plans, or events that are held back."""
        held = np.concatenate([some[1] for some in self._held_keys])
        return {*self.pools.keys.tolist(), *held.tolist()}

    def push(self, events: tuple[Events, Events], keys: tuple[Ids, Ids], complete: int) -> OfKeys:
        """Sweep all keys with events or plans up to an instant; answers what is certain."""
        if not self.pools.takes_care and (complete >= NEAR_TICK or _are_far(events)):
            self.pools.take_care()
        left, right = (
            self._numbered(side, some, own) for side, (some, own) in enumerate(zip(events, keys, strict=True))
        )
        cells = self.intake.take(left, right, complete)
        good = cells[:, VERDICT] == ACCEPTED
        own = self._keys_of(cells[good])
        order = np.argsort(own, kind="stable")
        swept, own = np.ascontiguousarray(cells[good][order]), own[order]
        given = swept[:, EVENT_HANDLE].copy()
        due = self.pools.keys if complete == FOREVER else self.pools.due(complete)
        touched = distinct(np.concatenate([own, due]))
        found = self.pools.sweep(swept, np.append(np.searchsorted(own, touched), own.size), touched, complete)
        bad = refused(np.concatenate([cells[~good], swept]))
        used = len(cells) - sum(len(some.verdicts) for some in bad)
        self._forget_held()
        ended = ended_rows(swept, given if self.numbered else given[:0])
        (lefts, rights, instants), (rows, row_instants, row_sides) = found.pairs, found.rows
        emitted = Emitted(lefts, rights, instants, rows, row_instants, row_sides, bad, used, ended)
        pair_keys, row_keys = (np.repeat(touched, np.diff(counts, prepend=0)) for counts in found.counts)
        return OfKeys(pair_keys, row_keys, emitted)

    def close(self) -> OfKeys:
        """End both streams: what is open never ends, and nothing is kept."""
        nothing = np.empty(0, np.int64)
        found = self.push((Events.none(), Events.none()), (nothing, nothing), FOREVER)
        self.pools.forget()
        return found

    def _numbered(self, side: int, events: Events, keys: Ids) -> Events:
        """The events with numbers, by which their keys are found again when their instants are complete."""
        if events.numbers is None:
            first, self._next[side] = self._next[side], self._next[side] + events.ids.size
            events = events._replace(numbers=np.arange(first, self._next[side]))
        self._held_keys[side] = np.concatenate([self._held_keys[side], np.stack([events.row_numbers, keys])], axis=1)
        return events

    def _keys_of(self, events: Cells) -> Ids:
        found = np.zeros(len(events), np.int64)
        for side in (0, 1):
            own = events[:, EVENT_SIDE] == side
            numbers, keys = self._held_keys[side]
            found[own] = keys[np.searchsorted(numbers, events[own, EVENT_HANDLE])]
        return found

    def _forget_held(self) -> None:
        """Only events that are held back must find their keys later."""
        for side, some in enumerate(self.intake.sides):
            if not some.held.ids.size:
                self._held_keys[side] = np.empty((2, 0), np.int64)
                continue
            kept = np.isin(self._held_keys[side][0], some.held.row_numbers)
            self._held_keys[side] = self._held_keys[side][:, kept]

    def next_number(self, side: int) -> int:
        """A number that no row of a side has."""
        held = self._held_keys[side][0]
        return max(int(self.pools.state[HANDLES + side]), self._next[side], int(held.max(initial=-1)) + 1)

    def restore(self, states: dict[int, Stored]) -> None:
        """Put the rows of keys at rest, and hold their events back."""
        planned = any(len(some.plans) or some.waiters.size for some in states.values())
        if any(some.numbers[FAR] for some in states.values()) or (planned and not self.pools.is_plain):
            self.pools.take_care()
        for key, some in states.items():
            self.pools.put(key, some)
            for side, (ids, times, starting, ends, numbers) in enumerate((some.left_held, some.right_held)):
                own = self.intake.sides[side]
                own.held = own.held.and_then(Events(ids, times, starting.astype(np.bool_), ends, numbers))
                keys = np.full(numbers.size, key)
                self._held_keys[side] = np.concatenate([self._held_keys[side], np.stack([numbers, keys])], axis=1)
                handles = int(some.numbers[LEFT_HANDLE + side])
                state = self.pools.state
                state[HANDLES + side] = max(int(state[HANDLES + side]), handles)
                self._next[side] = max(self._next[side], handles, int(numbers.max(initial=-1)) + 1)
        self._settle()

    def _settle(self) -> None:
        """Give numbers to events that have none, and bring those that are held back into the order of numbers."""
        for side, some in enumerate(self._held_keys):
            own = self.intake.sides[side]
            without = some[0] < 0
            if without.any():
                first, self._next[side] = self._next[side], self._next[side] + int(without.sum())
                some[0, without] = np.arange(first, self._next[side])
                own.held = own.held._replace(numbers=some[0].copy())
            self._held_keys[side] = some[:, np.argsort(some[0], kind="stable")]

    def snapshot(self, key: int) -> Arrays:
        """The state of one key as that of a join of its own."""
        opened, live, plans, waiters, before = self.pools.stored_rows(key)
        handles = [self.next_number(side) for side in (0, 1)]
        numbers = [self.intake.clock, *handles, before, self.pools.takes_care, *self.intake.clocks]
        held = []
        for side, own in enumerate(self.intake.sides):
            mine = self._held_keys[side][0, self._held_keys[side][1] == key]
            some = own.held.pick(np.isin(own.held.row_numbers, mine))
            held.append(np.array([column.astype(np.int64) for column in some.arrays]))
        return [np.array(numbers, np.int64), *held, *opened, *live, plans, waiters]


def _are_far(events: tuple[Events, Events]) -> bool:
    """Whether ticks are near the ends of the axis, where sums must saturate."""
    return any(some.ids.size and int(np.abs(some.times).max()) > NEAR_TICK for some in events)
