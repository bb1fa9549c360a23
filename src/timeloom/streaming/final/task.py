"""A task of a stream of final results on Spark: rows of keys that share states, page by page."""

import copy
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from timeloom.engines.tables.key_types import plain
from timeloom.model.ticks import FOREVER, MIN_TICK
from timeloom.streaming.buckets import MILLISECOND, States
from timeloom.streaming.final.packed import from_bytes, to_bytes
from timeloom.streaming.final.rows import Mask, Numbers, StreamRows
from timeloom.streaming.final.stored import VERSION, opened_table, read_state, write_state
from timeloom.streaming.final.stream import FinalStream
from timeloom.streaming.pages import Pages


@dataclass
class FinalPage:
    """The rows of some keys, and the types in which keys of all streams meet."""

    stream: FinalStream
    kinds: tuple[pa.DataType, ...]

    @property
    def next_instant(self) -> int:
        """The next instant at which something is to be done even if nothing comes, or FOREVER."""
        return self.stream.next_instant

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to keep."""
        return self.stream.is_idle

    def read(self, version: int, body: bytes, names: str) -> None:
        """Go on from what was written; anything else is a StorageError."""
        read_state(self.stream, body)

    def write(self) -> tuple[int, bytes, str]:
        """What is to be stored."""
        return VERSION, write_state(self.stream), ""

    @property
    def beside_largest(self) -> float:
        """The share of rows that are not of the key that has the most."""
        found = np.concatenate([np.empty(0, np.int64), *(each for part in self._hashes for each in part)])
        _, counts = np.unique(found, return_counts=True)
        return 1 - float(counts.max()) / found.size if found.size else 0.0

    def divided(self, bits: int, values: Sequence[int]) -> "list[FinalPage]":
        """For each of these values the state of the keys whose hashes have it in these bits."""
        return [FinalPage(self._part(bits, value), self.kinds) for value in values]

    def _part(self, bits: int, value: int) -> FinalStream:
        part, hashed, held = _fresh(self.stream), iter(self._hashes), 0
        for at, rows in enumerate(part.streams):
            if rows is not None:
                live, waiting, opened = ((some & bits) == value for some in next(hashed))
                part.streams[at] = _only(rows, live, waiting, opened)
                held += int(waiting.sum())
        part.counts = [held, 0, 0]
        return part

    @cached_property
    def _hashes(self) -> list[tuple[Numbers, Numbers, Numbers]]:
        """Once nothing changes any more: the hashes of each stream's keys."""
        return [self._hashes_of(rows) for rows in self.stream.streams if rows is not None]

    def _hashes_of(self, rows: StreamRows) -> tuple[Numbers, Numbers, Numbers]:
        """The hashes of the keys of live rows, of held events, and of open ids."""
        keys, opened = rows.role.keys, opened_table(rows).columns[:-1]
        live, held = ([table[name] for name in keys] for table in (rows.live.table, rows.held.table))
        return (
            hashes(live, self.kinds, len(rows.live.starts)),
            hashes(held, self.kinds, len(rows.held.times)),
            hashes(opened, self.kinds, len(rows.opened)),
        )


def _only(rows: StreamRows, live: Mask, held: Mask, opened: Mask) -> StreamRows:
    chosen = {name: place for (name, place), kept in zip(rows.opened.items(), opened.tolist(), strict=True) if kept}
    return replace(rows, live=rows.live.only(live), held=rows.held.only(held), opened=chosen)


class FinalTask:
    """Pushes the events of buckets of keys, and lets time pass up to the watermark."""

    def __init__(self, empty: FinalStream, kinds: tuple[pa.DataType, ...], states: States) -> None:
        self._empty, self._kinds, self._handle = empty, kinds, states.handle
        self._pages = Pages(states, empty.query, lambda: FinalPage(_fresh(empty), kinds))
        self._done: dict[Any, int] = {}

    def take(self, bucket: Any, rows: Iterator[pd.DataFrame], watermark: int) -> Iterator[pd.DataFrame]:
        """Take a micro-batch of events of one bucket."""
        parts: list[list[pa.Table]] = [[] for _ in self._empty.roles]
        for frame in rows:
            for side, packed in zip(frame["side"], frame["rows"], strict=True):
                parts[side].append(from_bytes(packed))
        tables = [pa.concat_tables(some) if some else None for some in parts]
        yield from self._advance(bucket, tables, watermark)

    def wake(self, bucket: Any, watermark: int) -> Iterator[pd.DataFrame]:
        """Do what was waiting for the watermark, unless events of this micro-batch have had it done already."""
        if self._done.get(bucket[0]) != watermark:
            yield from self._advance(bucket, [None] * len(self._empty.roles), watermark)

    def _advance(self, bucket: Any, tables: Sequence[pa.Table | None], watermark: int) -> Iterator[pd.DataFrame]:
        """Push what has come for a bucket, page by page, and what is due."""
        complete = watermark * MILLISECOND if watermark else MIN_TICK
        self._pages.open(bucket)
        found = []
        sizes = [0 if table is None else table.num_rows for table in tables]
        bounds = np.cumsum([0, *sizes])
        for page, own in self._pages.touched(self._spread(tables), complete):
            state = self._pages.load(page)
            if own.size < bounds[-1]:
                some = [
                    None if table is None else table.take(own[(own >= first) & (own < first + size)] - first)
                    for table, first, size in zip(tables, bounds.tolist(), sizes, strict=False)
                ]
            else:
                some = list(tables)
            found.append(self._push(state.stream, some, complete))
            self._pages.save(page, state)
        self._pages.close()
        self._done[bucket[0]] = watermark
        if self._pages.next_due < FOREVER:
            self._handle.registerTimer(-(-self._pages.next_due // MILLISECOND))
        packed = [to_bytes(result) for result in found if result.num_rows]
        if packed:
            yield pd.DataFrame({"rows": packed})

    def _spread(self, tables: Sequence[pa.Table | None]) -> "Numbers | int":
        """The hashes of the keys of all events, one stream behind the other; their number if there is one page."""
        given = [(role, table) for role, table in zip(self._empty.roles, tables, strict=True) if table is not None]
        if self._pages.count == 1:
            return int(sum(table.num_rows for _, table in given))
        parts = [hashes([table[key] for key in role.keys], self._kinds, table.num_rows) for role, table in given]
        return np.concatenate([np.empty(0, np.int64), *parts])

    def _push(self, stream: FinalStream, tables: Sequence[pa.Table | None], complete: int) -> pa.Table:
        """Push the events of some keys; answers what is final, and what takes no part."""
        before = stream.tally
        result = stream.push_complete(tables, complete)
        after, coming = stream.tally, sum(table.num_rows for table in tables if table is not None)
        assert after.events == before.events + coming == after.used + after.held + after.refused, "an event was lost"
        return stream.with_refused(result)


def _fresh(empty: FinalStream) -> FinalStream:
    """A stream of its own, without rows."""
    stream = copy.copy(empty)
    stream.streams = list(empty.streams)
    return stream


def hashes(columns: Sequence[pa.ChunkedArray], kinds: Sequence[pa.DataType], size: int) -> Numbers:
    """By which keys are spread over pages: equal ones have one hash, whatever types the streams have them in."""
    found = np.zeros(size, np.int64)
    for column, kind in zip(columns, kinds, strict=True):
        same = plain(column) if column.type == kind else plain(column).cast(kind, safe=False)
        if pa.types.is_floating(kind):
            same = pc.add(same, pa.scalar(0.0, kind))  # there are two zeros, which are equal
        encoded = same.combine_chunks().dictionary_encode()
        each = [zlib.crc32(repr(value).encode()) for value in encoded.dictionary.to_pylist()]
        codes = np.asarray(encoded.indices.fill_null(len(each)))
        found = (found * 31 + np.array([*each, 0], np.int64)[codes]) & 0xFFFFFFFF
    return found
