"""The state that keys share on Spark: their joins, the names of their ids, and the columns that their rows carry."""

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeloom.kernels.order import distinct
from timeloom.kernels.streaming.arrival import TOO_LATE
from timeloom.model.ticks import MIN_TICK
from timeloom.streaming.carried import ID, KEY, Carried
from timeloom.streaming.intake import Events, Ids
from timeloom.streaming.many_keys import ManyKeys, OfKeys
from timeloom.streaming.names import Names
from timeloom.streaming.operator import EndpointJoin
from timeloom.streaming.restoring import sound_tables
from timeloom.streaming.state_layout import CLOCK, OF_KEY, Tables, chosen
from timeloom.streaming.storage import malformed

Arrays = list[NDArray[np.int64]]


class Unused(NamedTuple):
    """Events of one side that take no part, with the numbers of their keys and of the reasons."""

    side: int
    events: Events
    keys: Ids
    verdicts: Ids


class SharedState:
    """What is known of some keys, while a task works on them.

    Each key has a clock: how far it has gone. One that is kept has gone as far as the watermark was when it was last at
    work; one that is not kept has nothing that could be missed, and goes as far as the watermark is.
    """

    def __init__(self, make: Callable[[], EndpointJoin], integers: tuple[bool, bool]) -> None:
        self._make = make
        self.join = ManyKeys(make)
        self.names = (Names("left"), Names("right"))
        self.carried = (Carried("left"), Carried("right"))
        self.keys: list[str] = []
        self._numbers: dict[str, int] = {}
        self._clocks = np.empty(0, np.int64)
        self.beside_largest = 0.0
        for side, is_integer in zip(self.names, integers, strict=True):
            side.type = pa.int64() if is_integer else pa.string()

    def numbers(self, keys: Sequence[str], complete: int) -> Ids:
        """The numbers of keys; those without state have gone as far as all is complete."""
        fresh = [key for key in dict.fromkeys(keys) if key not in self._numbers]
        self._numbers |= {key: len(self.keys) + at for at, key in enumerate(fresh)}
        self.keys += fresh
        self._clocks = np.append(self._clocks, np.full(len(fresh), complete))
        return np.array([self._numbers[key] for key in keys], np.int64)

    def push(self, events: tuple[Events, Events], keys: tuple[Ids, Ids], complete: int) -> tuple[OfKeys, list[Unused]]:
        """Take events of keys, which the clock of each judges; answers what is certain, and what takes no part."""
        intake, unused, timely = self.join.intake, [], []
        for side, (some, own) in enumerate(zip(events, keys, strict=True)):
            late = intake.sides[side].known(some) <= self._clocks[own]
            if late.any():
                unused.append(Unused(side, some.pick(late), own[late], np.full(int(late.sum()), TOO_LATE)))
            timely.append((some.pick(~late), own[~late]) if late.any() else (some, own))
        intake.clock = intake.sides[0].clock = intake.sides[1].clock = MIN_TICK
        (lefts, left_keys), (rights, right_keys) = timely
        coming = intake.waiting + sum(some.ids.size for some in events)
        found = self.join.push((lefts, rights), (left_keys, right_keys), complete)
        for refused, own in zip(found.emitted.refused, found.refused_keys, strict=True):
            unused.append(Unused(refused.side, refused.events, own, refused.verdicts))
        refused_events = sum(some.keys.size for some in unused)
        assert coming == found.emitted.used + intake.waiting + refused_events, "an event was lost"
        self._clocks[distinct(np.concatenate([*keys, found.touched]))] = complete
        return found, unused

    def load(self, arrays: Arrays, known: str) -> None:
        """Go on from what was stored; what cannot be is a StorageError."""
        tables = sound_tables(arrays[1 : 1 + len(Tables._fields)], self.join.intake.arrivals)
        rest = arrays[1 + len(Tables._fields) :]
        parts = 5 if self.join.numbered else 3
        dumped = _parsed(known, parts)
        size = tables.keys.size
        if len(rest) != parts - 3 or arrays[0].shape != (size,) or (tables.keys != np.arange(size)).any():
            raise malformed(f"it has {len(rest)} parts for what rows carry, expected {parts - 3}, or keys are missing")
        self.keys = _checked_keys(dumped[0], size)
        self._numbers, self._clocks = {key: number for number, key in enumerate(self.keys)}, arrays[0]
        self._restore(tables)
        for side, names in enumerate(self.names):
            used = self.join.used_ids(side)
            if self.join.numbered:
                self.carried[side].restore(rest[side], _texts(dumped[3 + side]), self.join.kept_rows(side))
                used = np.concatenate([self.carried[side].fields[ID], self.join.held_ids(side)])
            names.load(dumped[1 + side], used)

    def keep_only(self, wanted: NDArray[np.bool_]) -> None:
        """Forget all but some keys."""
        tables = self.join.snapshot()
        self.join = ManyKeys(self._make)
        self._restore(chosen(tables, wanted[tables.keys]))

    def _restore(self, tables: Tables) -> None:
        self.join.restore(tables)
        intake = self.join.intake
        intake.clock = int(tables.numbers[:, CLOCK].max(initial=MIN_TICK))

    def dump(self) -> tuple[Arrays, str]:
        """What is to be stored of the keys that have anything to keep: arrays, and text beside them."""
        tables, texts = self.join.snapshot(), []
        kept = tables.keys
        self.beside_largest = _beside_largest(tables)
        arrays = [self._clocks[kept], *tables._replace(keys=np.arange(kept.size))]
        for side, (names, carried) in enumerate(zip(self.names, self.carried, strict=True)):
            used = self.join.used_ids(side)
            if self.join.numbered:
                carried.keep_only(used)
                used = np.concatenate([carried.fields[ID], self.join.held_ids(side)])
                carried.fields[KEY] = np.searchsorted(kept, carried.fields[KEY])
                arrays.append(carried.fields)
                texts.append({name: column.to_pylist() for name, column in carried.columns.items()})
            names.keep_only(used, spare=0)
        keys = [self.keys[number] for number in kept.tolist()]
        return arrays, json.dumps([keys, *(names.dump() for names in self.names), *texts])


def _beside_largest(tables: Tables) -> float:
    """The share of rows that are not of the key that has the most."""
    counts = np.bincount(np.concatenate([table[OF_KEY] for table in tables[2:]]), minlength=1)
    return 1 - float(counts.max()) / max(int(counts.sum()), 1)


def _parsed(known: str, parts: int) -> list[Any]:
    try:
        dumped = json.loads(known)
    except (ValueError, RecursionError) as error:
        raise malformed(f"its names are no JSON ({error})") from error
    if not isinstance(dumped, list) or len(dumped) != parts:
        raise malformed("it has not the names of keys and of two sides")
    return dumped


def _checked_keys(keys: Any, size: int) -> list[str]:
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys) or len(set(keys)) != size:
        raise malformed("its keys are not what is stored of them")
    return keys


def _texts(columns: Any) -> dict[str, pa.ChunkedArray]:
    if not isinstance(columns, dict):
        raise malformed("the columns of a side are not what is stored of them")
    try:
        return {name: pa.chunked_array([pa.array(values, pa.string())]) for name, values in columns.items()}
    except (pa.ArrowException, TypeError) as error:
        raise malformed(f"the columns of a side are no texts ({error})") from error
