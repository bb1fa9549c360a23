"""Rows sent to tasks by group and time slice, each copy cut to its slice.

Rows are sorted by their next place before the shuffle and travel in parcels, which are Arrow streams: the shuffle moves
a few large values instead of many rows.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from timeloom.engines.spark.columns.faults import Judgement
from timeloom.engines.tables.ticks import Ticks
from timeloom.model.ticks import FOREVER, MIN_TICK

KEY, START, END, SLICE, CHOSEN = "key", "start", "end", "slice", "chosen"

PARCELS = "place int, parcel binary"

CHUNK_BYTES = 64 << 20
"""How much is sorted at a time."""


class Copies(NamedTuple):
    """Copies of rows: positions, ticks cut to the slice, and slices, from 1; 0 if the group is not cut."""

    rows: Ticks
    starts: Ticks
    ends: Ticks
    slices: Ticks


@dataclass(frozen=True)
class Dispatch:
    """Sorts rows by place. The first row of a partition may carry the boundaries of the groups that are cut."""

    partitions: int
    judgement: Judgement | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Turn rows (key, start, end, and whatever) into parcels; without a key, rows are of one group."""
        bounds: dict[int, Ticks] | None = None
        chunk: list[pa.RecordBatch] = []
        size = 0
        for batch in batches:
            if not batch.num_rows:
                continue
            if bounds is None:
                bounds = _read_bounds(batch)
            chunk.append(batch.drop_columns([CHOSEN]) if CHOSEN in batch.schema.names else batch)
            size += chunk[-1].nbytes
            if size >= CHUNK_BYTES:
                yield from self._sorted(pa.Table.from_batches(chunk), bounds)
                chunk, size = [], 0
        if chunk:
            yield from self._sorted(pa.Table.from_batches(chunk), bounds or {})

    def _sorted(self, table: pa.Table, bounds: dict[int, Ticks]) -> Iterator[pa.RecordBatch]:
        if self.judgement is not None:
            table = self.judgement.admitted(table)
        if self.partitions == 1 and not bounds:
            yield from self._whole(table)
            return
        starts, ends = _ticks(table, START), _ticks(table, END)
        keyed = KEY in table.column_names
        keys = _ticks(table, KEY) if keyed else np.zeros(starts.size, np.int64)
        found = cut(keys, starts, ends, bounds)
        places = (keys[found.rows] % self.partitions + np.maximum(found.slices - 1, 0)) % self.partitions
        order = np.argsort(places.astype(np.int16 if self.partitions < 2**15 else np.int64), kind="stable")
        rest = table.drop_columns([START, END, *([KEY] if keyed else [])]).combine_chunks()
        columns = {name: rest[name].take(pa.array(found.rows[order])) for name in rest.column_names}
        columns |= {START: found.starts[order], END: found.ends[order], SLICE: found.slices[order]}
        arranged = pa.table(columns)
        edges = np.searchsorted(places[order], np.arange(self.partitions + 1))
        for place in range(self.partitions):
            first, last = int(edges[place]), int(edges[place + 1])
            if first < last:
                yield parcel(arranged.slice(first, last - first), place)

    def _whole(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        """All rows in one parcel, as they are: they are in no slice."""
        yield parcel(table.drop_columns([KEY]) if KEY in table.column_names else table, 0)


def _ticks(table: pa.Table, name: str) -> Ticks:
    return np.asarray(table[name].combine_chunks())


def cut(keys: Ticks, starts: Ticks, ends: Ticks, bounds: dict[int, Ticks]) -> Copies:
    """Copy the rows of groups with boundaries to each slice that they touch; rows without time go to the first."""
    none = np.zeros(keys.size, np.int64)
    if not bounds:
        return Copies(np.arange(keys.size), starts, ends, none)
    whole = np.isin(keys, list(bounds), invert=True)
    parts = [Copies(np.flatnonzero(whole), starts[whole], ends[whole], none[whole])]
    for key, inner in bounds.items():
        rows = np.flatnonzero(keys == key)
        timed = starts[rows] < ends[rows]
        first = np.where(timed, np.searchsorted(inner, starts[rows], side="right"), 0)
        last = np.where(timed, np.searchsorted(inner, ends[rows] - timed, side="right"), 0)
        touched = last - first + 1
        copies = np.repeat(rows, touched)
        slices = np.arange(copies.size) - np.repeat(np.cumsum(touched) - touched - first, touched)
        edges = np.concatenate([[MIN_TICK], inner, [FOREVER]])
        begun, ended = np.maximum(starts[copies], edges[slices]), np.minimum(ends[copies], edges[slices + 1])
        parts.append(Copies(copies, begun, ended, slices + 1))
    return Copies(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def parcel(table: pa.Table, place: int, **marks: bool) -> pa.RecordBatch:
    """One row with a table as an Arrow stream, its next place, and marks."""
    columns = {"place": pa.array([place], pa.int32()), **{name: pa.array([mark]) for name, mark in marks.items()}}
    columns["parcel"] = sealed_column(table)
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def sealed_column(table: pa.Table) -> pa.Array:
    """A column of one value: a table as an Arrow stream."""
    sealed = sealed_stream(table)
    ends = pa.py_buffer(np.array([0, sealed.size], np.int32))
    return pa.Array.from_buffers(pa.binary(), 1, [None, ends, sealed])


def sealed_stream(table: pa.Table) -> pa.Buffer:
    """A table as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue()


def opened(batches: Iterator[pa.RecordBatch]) -> tuple[pa.Table | None, int]:
    """The rows of all parcels of a partition, and the partition's number; None if there are none."""
    tables: list[pa.Table] = []
    place = 0
    for batch in batches:
        tables += [unsealed(sealed) for sealed in batch.column("parcel")]
        if batch.num_rows:
            place = batch.column("place")[0].as_py()
    return (pa.concat_tables(tables) if tables else None), place


def unsealed(sealed: pa.BinaryScalar) -> pa.Table:
    """The table in a parcel."""
    return pa.ipc.open_stream(sealed.as_buffer()).read_all()


def _read_bounds(batch: pa.RecordBatch) -> dict[int, Ticks]:
    if CHOSEN not in batch.schema.names:
        return {}
    found = json.loads(batch.column(CHOSEN)[0].as_py() or "{}")
    return {int(key): np.array(bounds, np.int64) for key, bounds in found.items()}
