"""Streaming joins with equality keys: one join on arrays for each key that is in use."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeloom.engines.tables.key_types import as_key, common_type
from timeloom.engines.tables.taking import taken
from timeloom.errors import InvalidInputError, StorageError
from timeloom.model.ticks import FOREVER
from timeloom.streaming import saved
from timeloom.streaming.guarding import Guarded, guarded
from timeloom.streaming.intake import Events, Ids, Intake, Until
from timeloom.streaming.many_keys import ManyKeys, OfKeys
from timeloom.streaming.names import SPARE, check_hashable, family, hashable, plain_type
from timeloom.streaming.operator import Emitted, EndpointJoin
from timeloom.streaming.restoring import SHAPES, sound_arrays
from timeloom.streaming.saved import Place
from timeloom.streaming.storage import VERSION, malformed
from timeloom.streaming.versions import migrated, require_known

KIND = "keyed-stream-join"
"""What files of keyed joins hold."""


class Keys:
    """The values of key columns as numbers, and back.

    Equal values are one key: 1 and 1.0, 0.0 and -0.0, equal instants of different units, and all NaNs. Results have the
    left side's values in its types where each of them has a left row. Keys that are ``shared`` may come from the right
    side alone, and have the type that holds the values of both sides, as far as these have come.
    """

    def __init__(self, columns: tuple[str, ...], *, shared: bool = False) -> None:
        self.columns = columns
        self.shared = shared
        self._types: dict[str, list[pa.DataType]] = {}
        self._numbers: dict[tuple[object, ...], int] = {}
        self._values: dict[int, tuple[object, ...]] = {}
        self._free: list[int] = []
        self._next = self._at_last = 0

    def numbers(self, table: pa.Table, side: str) -> tuple[Ids, NDArray[np.bool_]]:
        """The number of each row's key, and which rows have none: a null equals nothing."""
        if not self.columns:
            return np.zeros(len(table), np.int64), np.zeros(len(table), np.bool_)
        self._check_types(table, side)
        values = list(zip(*(hashable(table[name]) for name in self.columns), strict=True))
        missing = np.array([any(one is None for one in value) for value in values], np.bool_)
        return np.array([self._number(value, decides=side == "left") for value in values], np.int64), missing

    def _check_types(self, table: pa.Table, side: str) -> None:
        """Keys of one side keep their types; those of both sides can be equal, and have a type that holds them."""
        types = [table.schema.field(name).type for name in self.columns]
        for name, kind, known in zip(self.columns, types, self._types.get(side, types), strict=True):
            if not kind.equals(known):
                raise InvalidInputError(
                    f"the keys {name!r} of the {side} side were {known} and are {kind} now; keep one type"
                )
            check_hashable(kind, f"the key column {name!r} of the {side} table")
        other = self._types.get("right" if side == "left" else "left", types)
        for name, kind, theirs in zip(self.columns, types, other, strict=True):
            if family(kind) != family(theirs) and not (pa.types.is_null(kind) or pa.types.is_null(theirs)):
                raise InvalidInputError(f"the keys {name!r} ({kind}) and {name!r} ({theirs}) cannot be equal; cast one")
            if self.shared:
                as_key(table[name], common_type(kind, theirs) or kind, name)
        self._types[side] = types

    def arrays(self, numbers: Ids) -> dict[str, pa.Array]:
        """The key columns of rows with the keys of these numbers."""
        if not self.columns:
            return {}
        used, positions = np.unique(numbers, return_inverse=True)
        values = [self._values[number] for number in used.tolist()]
        return {
            name: taken(_column([value[at] for value in values], kind), pa.array(positions), name)
            for at, (name, kind) in enumerate(zip(self.columns, self._result_types(), strict=True))
        }

    def _result_types(self) -> list[pa.DataType]:
        left, right = (self._types.get(side) for side in ("left", "right"))
        if left and right and self.shared:
            return [common_type(*kinds) or kinds[0] for kinds in zip(left, right, strict=True)]
        return left or right or [pa.null()] * len(self.columns)

    def tables(self) -> dict[str, pa.Table]:
        """The keys as tables: the types of each side's columns, and values by number, in a type that has them."""
        found = {
            f"{side} keys": pa.schema(zip(self.columns, kinds, strict=True)).empty_table()
            for side, kinds in self._types.items()
        }
        numbers = sorted(self._values) if self.columns else []
        for side, kinds in self._types.items():
            own = [number for number in numbers if _fits(self._values[number], kinds)]
            numbers = [number for number in numbers if number not in set(own)]
            columns = {
                f"key {at}": pa.array([self._values[number][at] for number in own], plain_type(kind))
                for at, kind in enumerate(kinds)
            }
            found[f"{side} values"] = pa.table({"number": pa.array(own, pa.int64()), **columns})
        assert not numbers, "a key is of no side's type"
        return found

    def read(self, parts: Mapping[str, Any], used: "set[int]") -> None:
        """Go on from such tables, which must have a key for each number in use."""
        for side in ("left", "right"):
            if f"{side} keys" not in parts:
                continue
            schema, values = parts[f"{side} keys"].schema, parts[f"{side} values"]
            if tuple(schema.names) != self.columns:
                raise malformed("the keys are other columns")
            self._types[side] = list(schema.types)
            keys = list(zip(*(hashable(values[f"key {at}"]) for at in range(len(self.columns))), strict=True))
            for number, value in zip(values["number"].to_pylist(), keys, strict=bool(self.columns)):
                if value in self._numbers or number in self._values or number < 0:
                    raise malformed("two keys share a number, or two numbers a key")
                self._numbers[value], self._values[number] = number, value
        if self.columns and not used <= self._values.keys():
            raise malformed("a row has a number without a key")
        self._next = max(self._values, default=-1) + 1

    def keep_only(self, used: set[int]) -> None:
        """Forget the keys that are not in use, once there are many of them; their numbers are given again."""
        self._at_last = len(used)
        if len(self._values) > 2 * len(used) + SPARE:
            self._free += [number for number in self._values if number not in used]
            self._values = {number: value for number, value in self._values.items() if number in used}
            self._numbers = {value: number for number, value in self._values.items()}

    @property
    def is_roomy(self) -> bool:
        """Whether it is time to ask which keys are in use."""
        return len(self._values) > 2 * self._at_last + SPARE

    def _number(self, value: tuple[object, ...], *, decides: bool) -> int:
        number = self._numbers.get(value)
        if number is None:
            number = self._free.pop() if self._free else self._next
            self._next = max(self._next, number + 1)
            self._numbers[value], self._values[number] = number, value
        elif decides:
            self._values[number] = value
        return number


class Keyed(NamedTuple):
    """What has become certain for one key, or for several."""

    key: int | Ids
    """Its number; or of several keys that of each pair."""
    emitted: Emitted
    row_keys: Ids | None = None
    """Of several keys that of each single row."""


PAIR = -1
"""In position of a side: of both."""


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
        parts: list[tuple[Ids, ...]] = [(np.empty(0, np.int64),) * 5]
        for key, emitted, row_keys in found:
            if emitted.lefts.size:
                parts.append(_laid_out(key, emitted.lefts, emitted.rights, PAIR, emitted.instants))
            for side in (0, 1) if emitted.rows.size else ():
                own = emitted.row_sides == side
                rows, theirs = emitted.rows[own], key if row_keys is None else row_keys[own]
                parts.append(_laid_out(theirs, rows, rows, side, emitted.row_instants[own]))
        if len(parts) == 2:
            return cls(*parts[1])
        return cls(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def pick(self, which: "NDArray[np.generic]") -> "Found":
        """Some of them."""
        return Found(*(column[which] for column in self))


def _laid_out(key: int | Ids, lefts: Ids, rights: Ids, side: int, instants: Ids) -> tuple[Ids, ...]:
    size = instants.shape
    return (
        np.broadcast_to(np.asarray(key, np.int64), size),
        lefts,
        rights,
        np.broadcast_to(np.int64(side), size),
        instants,
    )


class KeyedJoin(Guarded):
    """A join for each key; a key without rows has none. Instants are complete for all keys at once.

    Where ``pooled``, keys share one sweep and the memory for their rows: then a key at rest costs little more than its
    rows, and events cost what those of one key do.
    """

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
        return sum(intake.waiting for intake in self._intakes)

    @property
    def _intakes(self) -> list[Intake]:
        own = [] if self._many is None else [self._many.intake]
        return [*own, *(join.intake for join in self._joins.values())]

    @guarded
    def used_ids(self, side: int) -> Ids:
        """The ids, or numbers, of a side's rows that are open or may still match, and of events held back."""
        parts = [join.used_ids(side) for join in self._joins.values()]
        if self._many is not None:
            held = self._many.intake.sides[side].held
            numbers = self._many.numbered
            parts += [self._many.pools.rows(side, numbers=numbers), held.row_numbers if numbers else held.ids]
        return np.concatenate([np.empty(0, np.int64), *parts])

    @guarded
    def held_ids(self, side: int) -> Ids:
        """The ids of a side's events that are held back."""
        return np.concatenate([np.empty(0, np.int64), *(intake.sides[side].held.ids for intake in self._intakes)])

    @guarded
    def kept_rows(self, side: int) -> Ids:
        """The numbers of a side's rows: of those that are open or may still match, and of starts that are held back."""
        parts = [join.kept_rows(side) for join in self._joins.values()]
        if self._many is not None:
            held = self._many.intake.sides[side].held
            starts = held.row_numbers[held.starting]
            parts += [self._many.pools.rows(side, numbers=True), starts[starts >= 0]]
        return np.concatenate([np.empty(0, np.int64), *parts])

    @guarded
    def push(self, events: tuple[Events, Events], keys: tuple[Ids, Ids], until: Until = None) -> list[Keyed]:
        """Take events of both sides with the numbers of their keys; answer what is certain, key by key."""
        complete, before = self._clocks.complete(*events, until), self._clocks.clocks
        if self._many is not None:
            return [_of_many(self._many.push(events, keys, complete))]
        parts = [dict(_by_key(some, numbers)) for some, numbers in zip(events, keys, strict=True)]
        due = {key for key, join in self._joins.items() if join.next_instant <= complete}
        found = [self._advance(key, parts, complete, before) for key in sorted(due.union(*parts))]
        self._clocks.take(Events.none(), Events.none(), complete)
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
        """The whole state as arrays: the clocks, and each key with the state of its join."""
        clocks = np.array([self._clocks.clock, *self._clocks.clocks], np.int64)
        keys = np.array(sorted(self.keys), np.int64)
        states = (
            self._joins[key].snapshot() if self._many is None else self._many.snapshot(key) for key in keys.tolist()
        )
        return [clocks, keys, *(array for state in states for array in state)]

    @guarded
    def restore(self, arrays: list[NDArray[np.int64]], version: int = VERSION) -> None:
        """Go on from a snapshot, also of an earlier version; one that cannot be is a StorageError."""
        require_known(version)
        if len(arrays) < 2 or arrays[0].shape != (3,) or len(arrays) != 2 + len(SHAPES) * arrays[1].size:
            raise malformed(f"{len(arrays)} parts are not those of a clock and of joins")
        clocks, keys = arrays[0].tolist(), arrays[1].tolist()
        if min(clocks) != clocks[0] or len(set(keys)) < len(keys) or min(keys, default=0) < 0:
            raise malformed("the clocks or the keys cannot be")
        own = [arrays[2 + at * len(SHAPES) : 2 + (at + 1) * len(SHAPES)] for at in range(len(keys))]
        states = dict(zip(keys, (migrated(some, version) for some in own), strict=True))
        stored = {key: sound_arrays(some, self._clocks.arrivals) for key, some in states.items()}
        self._clocks.restore((clocks[0], clocks[1], clocks[2]), *self._clocks.held())
        if self._many is not None:
            self._many.restore(stored)
            return
        for key, some in states.items():
            self._joins[key] = self._make()
            self._joins[key].restore(some)

    def save(self, path: Place) -> None:
        """Write all keys to one file, hashed and versioned; `load` goes on from there."""
        saved.save(path, KIND, {"query": self._make().query, "state": VERSION}, {"state": self.snapshot()})

    @classmethod
    def load(cls, path: Place, make: Callable[[], EndpointJoin]) -> "KeyedJoin":
        """Go on from a file; ``make`` makes the joins that were saved, without state."""

        def read(meta: dict[str, Any], parts: saved.Parts) -> "KeyedJoin":
            if meta["query"] != make().query:
                raise StorageError(
                    f"the file has the state of another query ({meta['query']}); go on with that, not with "
                    f"{make().query}"
                )
            join = cls(make)
            join.restore(parts["state"], meta["state"])
            return join

        return saved.load(path, KIND, read)

    def _advance(self, key: int, parts: list[dict[int, Events]], complete: int, clocks: tuple[int, int]) -> Keyed:
        join = self._joins.get(key) or self._make()
        join.intake.clock = max(join.intake.clock, self._clocks.clock)
        for side, clock in zip(join.intake.sides, clocks, strict=True):
            side.clock = max(side.clock, clock)
        left, right = (part.get(key, Events.none()) for part in parts)
        emitted = join.push(left, right, complete)
        if join.is_idle:
            self._joins.pop(key, None)
        else:
            self._joins[key] = join
        return Keyed(key, emitted)


def _of_many(found: OfKeys) -> Keyed:
    return Keyed(found.keys, found.emitted, found.row_keys)


def _fits(values: tuple[Any, ...], kinds: list[pa.DataType]) -> bool:
    """Tell whether values of a key are what these types hold, without any change."""
    try:
        arrays = [pa.array([value], plain_type(kind)) for value, kind in zip(values, kinds, strict=True)]
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return False
    return tuple(hashable(pa.chunked_array([array]))[0] for array in arrays) == values


def _column(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Values in a type that holds them; Arrow makes no decimals of floats, nor the other way, but casts them."""
    try:
        return pa.array(values, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        return pa.concat_arrays([pa.array([value]).cast(kind) for value in values])


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
