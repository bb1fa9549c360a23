"""All keys of a streaming join in one sweep, whatever kind of join it is, and however its sides arrive."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from timeloom.kernels.order import distinct
from timeloom.kernels.streaming.arrival import ACCEPTED
from timeloom.kernels.streaming.foresight import NEAR_TICK
from timeloom.kernels.streaming.gapless import Cells
from timeloom.kernels.streaming.layout import EVENT_HANDLE, EVENT_SIDE, HANDLES, VERDICT
from timeloom.model.ticks import FOREVER
from timeloom.streaming.emitted import Emitted, ended_rows
from timeloom.streaming.intake import Events, Ids, refused
from timeloom.streaming.key_pools import KeyPools
from timeloom.streaming.operator import EndpointJoin
from timeloom.streaming.state_layout import BEFORE, FAR, LEFT_HANDLE, OF_KEY, Tables


class OfKeys(NamedTuple):
    """What has become certain, and the key of each pair and of each single row.

    ``refused_keys`` are the keys of refused events, side by side with them (-1 for those that came too late), and
    ``touched`` are the keys that were at work.
    """

    keys: Ids
    row_keys: Ids
    emitted: Emitted
    refused_keys: tuple[Ids, ...]
    touched: Ids


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

    @property
    def next_instant(self) -> int:
        """The next instant at which something is to be done even if nothing happens, or FOREVER."""
        return min(self.pools.next_due, self.intake.first_held)

    def used_ids(self, side: int) -> Ids:
        """The ids, or numbers, of a side's rows that are open or may still match, and of events held back."""
        held = self.intake.sides[side].held
        rows = self.pools.rows(side, numbers=self.numbered)
        return np.concatenate([rows, held.row_numbers if self.numbered else held.ids])

    def held_ids(self, side: int) -> Ids:
        """The ids of a side's events that are held back."""
        return self.intake.sides[side].held.ids

    def kept_rows(self, side: int) -> Ids:
        """The numbers of a side's rows: of those that are open or may still match, and of starts that are held back."""
        held = self.intake.sides[side].held
        starts = held.row_numbers[held.starting]
        return np.concatenate([self.pools.rows(side, numbers=True), starts[starts >= 0]])

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
        every, every_key = np.concatenate([cells[~good], swept]), np.concatenate([self._keys_of(cells[~good]), own])
        bad, bad_keys = refused(every), _by_side(every, every_key)
        used = len(cells) - sum(len(some.verdicts) for some in bad)
        self._forget_held()
        ended = ended_rows(swept, given if self.numbered else given[:0])
        (lefts, rights, instants), (rows, row_instants, row_sides) = found.pairs, found.rows
        emitted = Emitted(lefts, rights, instants, rows, row_instants, row_sides, bad, used, ended)
        pair_keys, row_keys = (np.repeat(touched, np.diff(counts, prepend=0)) for counts in found.counts)
        return OfKeys(pair_keys, row_keys, emitted, bad_keys, distinct(np.concatenate([every_key, due])))

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
            given = events[own, EVENT_HANDLE]
            found[own] = np.where(given < 0, -1, keys[np.searchsorted(numbers, given)])
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

    def restore(self, stored: Tables) -> None:
        """Put the rows of keys at rest, and hold their events back."""
        planned = stored.plans.size or stored.waiters.size
        if stored.numbers[:, FAR].any() or (planned and not self.pools.is_plain):
            self.pools.take_care()
        self.pools.fill(stored)
        for side, held in enumerate((stored.left_held, stored.right_held)):
            of_key, ids, times, starting, ends, numbers = held
            self.intake.sides[side].held = Events(ids, times, starting.astype(np.bool_), ends, numbers)
            self._held_keys[side] = np.stack([numbers, stored.keys[of_key]])
            handles = int(stored.numbers[:, LEFT_HANDLE + side].max(initial=0))
            self.pools.state[HANDLES + side] = handles
            self._next[side] = max(handles, int(numbers.max(initial=-1)) + 1)
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

    def snapshot(self) -> Tables:
        """The states of all keys, each as that of a join of its own."""
        keys = np.array(sorted(self.keys), np.int64)
        handles = [self.next_number(side) for side in (0, 1)]
        one = [self.intake.clock, *handles, 0, self.pools.takes_care, *self.intake.clocks]
        numbers = np.repeat(np.array([one], np.int64), keys.size, axis=0)
        numbers[:, BEFORE] = self.pools.last_work(keys)
        return Tables(keys, numbers, *(self._held_table(side, keys) for side in (0, 1)), *self.pools.tables(keys))

    def _held_table(self, side: int, keys: Ids) -> Cells:
        """The events of a side that are held back, key by key."""
        held, (numbers, own) = self.intake.sides[side].held, self._held_keys[side]
        of_key = np.searchsorted(keys, own[np.searchsorted(numbers, held.row_numbers)])
        table = np.stack([of_key, *(column.astype(np.int64) for column in held.arrays)])
        return table[:, np.argsort(table[OF_KEY], kind="stable")]


def _by_side(events: Cells, keys: Ids) -> tuple[Ids, ...]:
    """The keys of events that take no part, for each side that has such."""
    bad = events[:, VERDICT] != ACCEPTED
    found = (keys[bad & (events[:, EVENT_SIDE] == side)] for side in (0, 1))
    return tuple(some for some in found if some.size)


def _are_far(events: tuple[Events, Events]) -> bool:
    """Whether ticks are near the ends of the axis, where sums must saturate."""
    return any(some.ids.size and int(np.abs(some.times).max()) > NEAR_TICK for some in events)
