"""Streaming joins with equality keys: one join on arrays for each key that is in use."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from timeloom.errors import StorageError, UsageError
from timeloom.kernels.order import distinct
from timeloom.model.options import checked
from timeloom.model.ticks import FOREVER
from timeloom.streaming import saved
from timeloom.streaming.emitted import Emitted
from timeloom.streaming.guarding import Guarded, guarded
from timeloom.streaming.intake import Events, Ids, Until, repeated
from timeloom.streaming.many_keys import ManyKeys, OfKeys
from timeloom.streaming.operator import EndpointJoin
from timeloom.streaming.restoring import sound_tables
from timeloom.streaming.saved import Place
from timeloom.streaming.state_layout import apart, together
from timeloom.streaming.storage import VERSION, malformed
from timeloom.streaming.versions import migrated_keys, require_known

KIND = "keyed-stream-join"
"""What files of keyed joins hold."""


MOST_KEYS = 1 << 26
"""Numbers of keys that share a sweep are below: there are lists for each number, so keys are numbered densely."""


class Keyed(NamedTuple):
    """What has become certain for one key, or for several."""

    key: int | Ids
    """Its number; or of several keys that of each pair."""
    emitted: Emitted
    row_keys: Ids | None = None
    """Of several keys that of each single row."""


PAIR = -1
"""In position of a side: of both."""


_NOTHING = np.empty(0, np.int64)


class Found(NamedTuple):
    """Pairs and single rows of all keys, side by side: keys, rows (of a single row, twice), sides and instants."""

    keys: Ids
    lefts: Ids
    rights: Ids
    sides: Ids
    instants: Ids

    @classmethod
    def of(cls, found: list[Keyed]) -> "Found":
        """Lay out what is certain, key by key: pairs, then left rows, then right ones."""
        parts: list[tuple[Ids, ...]] = []
        for key, emitted, row_keys in found:
            if emitted.lefts.size:
                parts.append(_laid_out(key, emitted.lefts, emitted.rights, PAIR, emitted.instants))
            for side in (0, 1) if emitted.rows.size else ():
                own = emitted.row_sides == side
                rows, theirs = emitted.rows[own], key if row_keys is None else row_keys[own]
                parts.append(_laid_out(theirs, rows, rows, side, emitted.row_instants[own]))
        if len(parts) == 1:
            return cls(*parts[0])
        return cls(*(np.concatenate(columns) for columns in zip((_NOTHING,) * 5, *parts, strict=True)))

    def alone(self, side: int) -> "NDArray[np.bool_] | None":
        """Which are single rows of a side, or None if none is: where only pairs are found, all share one number."""
        if self.sides.strides == (0,) and self.sides.size and self.sides[0] == PAIR:
            return None
        single = self.sides == side
        return single if single.any() else None

    def pick(self, which: "NDArray[np.generic]") -> "Found":
        """Some of them."""
        return Found(*(column[which] for column in self))


def _laid_out(key: int | Ids, lefts: Ids, rights: Ids, side: int, instants: Ids) -> tuple[Ids, ...]:
    keys = repeated(key, instants.size) if isinstance(key, int) else key
    return keys, lefts, rights, repeated(side, instants.size), instants


class KeyedJoin(Guarded):
    """Join two streams of endpoints by key, on arrays; instants are complete for all keys at once.

    Parameters
    ----------
    make
        Makes the join of a key, an `EndpointJoin`, without state. A key without rows has none.
    pooled
        Whether keys share one sweep and the memory for their rows: then a key at rest costs little more than its rows,
        and events cost what those of one key do. Keys have numbers below 2**26 then.

    Examples
    --------
    >>> from functools import partial
    >>> import numpy as np
    >>> from timeloom.model.names import relation
    >>> from timeloom.streaming import EndpointJoin, KeyedJoin
    >>> from timeloom.streaming.intake import Events
    >>> join = KeyedJoin(partial(EndpointJoin, relation("intersects")), pooled=True)
    >>> begun = Events.endpoints(np.array([7]), np.array([3]), np.array([True]))
    >>> key, other = np.array([0]), np.array([1])
    >>> [found] = join.push((begun, begun), (key, key), until=3)
    >>> found.emitted.lefts, found.emitted.rights, found.emitted.instants, found.key
    (array([7]), array([7]), array([3]), array([0]))
    >>> later = Events.endpoints(np.array([8]), np.array([4]), np.array([True]))
    >>> [found] = join.push((later, Events.none()), (other, other[:0]), until=4)
    >>> found.emitted.lefts.size, join.keys
    (0, {0, 1})
    """

    @checked
    def __init__(self, make: Callable[[], EndpointJoin], *, pooled: bool = False) -> None:
        super().__init__()
        self._make = make
        self._many = ManyKeys(make) if pooled else None
        self._clocks = make().intake if self._many is None else self._many.intake
        self._joins: dict[int, EndpointJoin] = {}

    @property
    @guarded
    def keys(self) -> set[int]:
        """The keys that have rows."""
        return set(self._joins) if self._many is None else self._many.keys

    @property
    @guarded
    def state_size(self) -> int:
        """Rows that are kept because they may still match."""
        own = 0 if self._many is None else self._many.pools.state_size
        return own + sum(join.state_size for join in self._joins.values())

    @property
    @guarded
    def waiting(self) -> int:
        """How many events are held back."""
        return sum(join.intake.waiting for join in self._all)

    @property
    def _all(self) -> "list[ManyKeys | EndpointJoin]":
        return [*self._joins.values(), *([] if self._many is None else [self._many])]

    @guarded
    def used_ids(self, side: int) -> Ids:
        """The ids, or numbers, of a side's rows that are open or may still match, and of held events; each once."""
        parts = [join.used_ids(side) for join in self._all]
        return distinct(np.concatenate([np.empty(0, np.int64), *parts]))

    @guarded
    def held_ids(self, side: int) -> Ids:
        """The ids of a side's events that are held back."""
        return distinct(np.concatenate([np.empty(0, np.int64), *(join.held_ids(side) for join in self._all)]))

    @guarded
    def kept_rows(self, side: int) -> Ids:
        """The numbers of a side's rows: of those that are open or may still match, and of starts that are held back."""
        parts = [join.kept_rows(side) for join in self._all]
        return distinct(np.concatenate([np.empty(0, np.int64), *parts]))

    @checked
    def push(self, events: tuple[Events, Events], keys: tuple[Ids, Ids] | None, until: Until = None) -> list[Keyed]:
        """Take events of both sides with the numbers of their keys; answer what is certain, key by key.

        Without ``keys`` all events are of one key, whose number is 0.
        """
        return self.take(events, keys, until)

    @guarded
    def take(self, events: tuple[Events, Events], keys: tuple[Ids, Ids] | None, until: Until = None) -> list[Keyed]:
        """Do what `push` does, for callers whose arguments need no look."""
        if keys is None and self._many is not None:
            keys = (np.zeros(events[0].ids.size, np.int64), np.zeros(events[1].ids.size, np.int64))
        if keys is not None:
            self._check_keys(keys)
        complete, before = self._clocks.complete(*events, until), self._clocks.clocks
        if self._many is not None and keys is not None:
            return [_of_many(self._many.push(events, keys, complete))]
        if keys is None:
            parts = [{0: some} if some.ids.size else {} for some in events]
        else:
            parts = [dict(_by_key(some, numbers)) for some, numbers in zip(events, keys, strict=True)]
        due = {key for key, join in self._joins.items() if join.next_instant <= complete}
        found = [self._advance(key, parts, complete, before) for key in sorted(due.union(*parts))]
        self._clocks.pass_to(complete)
        return found

    @guarded
    def close(self) -> list[Keyed]:
        """End both streams: what is open never ends."""
        if self._many is not None:
            return [_of_many(self._many.close())]
        found = [Keyed(key, join.close()) for key, join in sorted(self._joins.items())]
        self._clocks.clock, self._joins = FOREVER, {}
        return found

    @guarded
    def snapshot(self) -> list[NDArray[np.int64]]:
        """The whole state as arrays: the clocks, and tables of all keys."""
        clocks = np.array([self._clocks.clock, *self._clocks.clocks], np.int64)
        if self._many is not None:
            return [clocks, *self._many.snapshot()]
        return [clocks, *together({key: join.snapshot() for key, join in self._joins.items()})]

    @guarded
    def restore(self, arrays: list[NDArray[np.int64]], version: int = VERSION) -> None:
        """Go on from a snapshot, also of an earlier version; one that cannot be is a StorageError."""
        require_known(version)
        clocks, *parts = migrated_keys(arrays, version)
        stored = sound_tables(parts, self._clocks.arrivals)
        if clocks.shape != (3,) or clocks.min() != clocks[0]:
            raise malformed("the clocks cannot be")
        if self._many is not None and stored.keys.max(initial=0) >= MOST_KEYS:
            raise malformed(f"its keys have numbers from {MOST_KEYS:,} on")
        self._clocks.restore(tuple(clocks.tolist()), *self._clocks.held())
        if self._many is not None:
            self._many.restore(stored)
            return
        for key, some in apart(stored).items():
            self._joins[key] = self._make()
            self._joins[key].restore(list(some))

    @checked
    def save(self, path: Place) -> None:
        """Write all keys to one file, hashed and versioned; `load` goes on from there."""
        saved.save(path, KIND, {"query": self._make().query, "state": VERSION}, {"state": self.snapshot()})

    @classmethod
    @checked
    def load(cls, path: Place, make: Callable[[], EndpointJoin], *, pooled: bool = False) -> "KeyedJoin":
        """Go on from a file; ``make`` makes the joins that were saved, without state. Keys may be ``pooled`` or not."""

        def read(meta: dict[str, Any], parts: saved.Parts) -> "KeyedJoin":
            if meta["query"] != make().query:
                raise StorageError(
                    f"the file has the state of another query ({meta['query']}); go on with that, not with "
                    f"{make().query}"
                )
            join = cls(make, pooled=pooled)
            join.restore(parts["state"], meta["state"])
            return join

        return saved.load(path, KIND, read)

    def _check_keys(self, keys: tuple[Ids, Ids]) -> None:
        """Refuse numbers for which there can be no lists."""
        for some in keys:
            if some.size and (some.min() < 0 or (self._many is not None and some.max() >= MOST_KEYS)):
                raise UsageError(
                    f"keys have numbers from {some.min():,} to {some.max():,}, expected numbers from 0 to "
                    f"{MOST_KEYS - 1:,}; number them one after the other, or give each a join of its own: pooled=False"
                )

    def _advance(self, key: int, parts: list[dict[int, Events]], complete: int, clocks: tuple[int, int]) -> Keyed:
        join = self._joins.get(key) or self._make()
        join.intake.clock = max(join.intake.clock, self._clocks.clock)
        for side, clock in zip(join.intake.sides, clocks, strict=True):
            side.clock = max(side.clock, clock)
        left, right = (part.get(key, Events.none()) for part in parts)
        emitted = join.take(left, right, complete)
        if join.is_idle:
            self._joins.pop(key, None)
        else:
            self._joins[key] = join
        return Keyed(key, emitted)


def _of_many(found: OfKeys) -> Keyed:
    return Keyed(found.keys, found.emitted, found.row_keys)


def _by_key(events: Events, keys: Ids) -> Iterator[tuple[int, Events]]:
    if not keys.size:
        return
    if keys[0] == keys[-1] and (keys == keys[0]).all():
        yield int(keys[0]), events
        return
    order = np.argsort(keys, kind="stable")
    numbers, firsts = np.unique(keys[order], return_index=True)
    for number, rows in zip(numbers.tolist(), np.split(order, firsts[1:]), strict=True):
        yield number, events.pick(rows)
