"""What a task of a sequenced join has of each table: its rows, and where the table begins in later slices.

A row is whole in each slice that it touches, or at which it ends. A result belongs to the slice in which it begins: all
that decides where that is, is there. Where it ends may be decided by a row that begins in a later slice. Of these rows
the first one counts, so a task is told when that is: a marker, an instant of its own.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeloom.engines.spark.columns.faults import judged
from timeloom.engines.spark.exchange.dispatch import sealed_column
from timeloom.engines.tables.keys import NO_KEY, Keys, shared_keys
from timeloom.engines.tables.ticks import Ticks
from timeloom.model.period import Period
from timeloom.model.policy import Policy
from timeloom.model.ticks import MIN_TICK

FIRSTS = "firsts"
"""The column whose first value in a partition has the first starts of all tables in all slices but the first."""

START, END, SLICE, TABLE = "start", "end", "slice", "table"


@dataclass(frozen=True)
class Part:
    """The rows of one table, and after them its markers, which have ticks and keys only.

    A result is kept if it begins from ``since`` on and before ``until``, as none does with a marker.
    """

    rows: pa.Table
    keys: pa.Table
    starts: Ticks
    ends: Ticks
    since: Ticks
    until: Ticks


@dataclass(frozen=True)
class Arrivals:
    """How rows of several tables arrive; ``keys`` are the places of each table's key columns.

    The tag of a row is the slice (from 1; 0 if its group is not cut), the table and the partition, in this order.
    """

    verb: str
    sides: tuple[tuple[str, Period], ...]
    policy: Policy
    keys: tuple[tuple[str, ...], ...]
    partitions: int
    sliced: bool

    def parts(self, table: pa.Table) -> list[Part]:
        """The rows of each table, without those that are dropped; the policy may refuse some."""
        markers: list[pa.Table] = []
        if FIRSTS in table.column_names:
            sent = table[FIRSTS][0]
            markers = list(_streams(sent.as_buffer())) if sent.is_valid else []
            table = table.drop_columns([FIRSTS])
        found = []
        for rows, (side, period), places in zip(self._split(table), self.sides, self.keys, strict=True):
            if "fault" in rows.column_names:
                rows = judged(rows, "fault", period, side, self.policy, self.verb)
            found.append(self._part(rows, places))
        return _with_markers(found, markers) if markers else found

    def first_starts(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        """The first start of each table and key in each slice but the first."""
        for number, (rows, places) in enumerate(zip(self._split(table), self.keys, strict=True)):
            part = self._part(rows.filter(pc.is_valid(rows["start"])), places)
            later = _numbers(part.keys, SLICE) > 1
            home = pa.array(np.flatnonzero(later & (part.starts >= part.since)))
            found = _earliest(part.keys.take(home).append_column(START, pa.array(part.starts).take(home)))
            if found.num_rows:
                tables = pa.array(np.full(found.num_rows, number))
                yield pa.RecordBatch.from_arrays([sealed_column(found.append_column(TABLE, tables))], names=["parcel"])

    def _split(self, table: pa.Table) -> Iterator[pa.Table]:
        numbers = _numbers(table, "tag") // self.partitions % len(self.sides)
        for number in range(len(self.sides)):
            yield table.filter(pa.array(numbers == number))

    def _part(self, rows: pa.Table, places: Sequence[str]) -> Part:
        slices = pa.array(_numbers(rows, "tag") // self.partitions // len(self.sides))
        names = [*(f"k{number}" for number in range(len(places))), SLICE]
        keys = pa.table([*(rows[place] for place in places), slices], names=names)
        starts, ends = _numbers(rows, START), _numbers(rows, END)
        home = (_numbers(rows, "since"), _numbers(rows, "until")) if self.sliced else (starts, ends)
        return Part(rows, keys, starts, ends, *home)


def shared_ids(keys: Sequence[pa.Table]) -> tuple[list[Keys], int]:
    """Number the keys of several tables; equal keys get equal numbers. Returns the number of keys, too."""
    names = keys[0].column_names
    before = pa.concat_tables(keys[:-1], promote_options="permissive")
    ids, last, count = shared_keys(before, keys[-1], names, names)
    edges = np.cumsum([table.num_rows for table in keys[:-1]])
    return [*np.split(ids, edges[:-1]), last], count


def _with_markers(parts: list[Part], firsts: list[pa.Table]) -> list[Part]:
    """Mark in each slice that is here when each table next begins, by key, after it."""
    here = np.unique(np.concatenate([_numbers(part.keys, SLICE) for part in parts]))
    found = []
    for number, part in enumerate(parts):
        mine = [table.drop_columns([TABLE]) for table in firsts if table[TABLE][0].as_py() == number]
        found.append(_marked(part, pa.concat_tables(mine), here[here > 0].tolist()) if mine else part)
    return found


def _marked(part: Part, firsts: pa.Table, slices: "list[int]") -> Part:
    marks = [_next_starts(firsts, number) for number in slices]
    if not marks:
        return part
    added = pa.concat_tables(marks)
    starts, never = _numbers(added, START), np.full(added.num_rows, MIN_TICK)
    return Part(
        part.rows,
        pa.concat_tables([part.keys, added.select(part.keys.column_names)]),
        np.concatenate([part.starts, starts]),
        np.concatenate([part.ends, starts + 1]),
        np.concatenate([part.since, never]),
        np.concatenate([part.until, never]),
    )


def _next_starts(firsts: pa.Table, number: int) -> pa.Table:
    """The first start of each key after a slice, as if it were seen in this one."""
    later = firsts.filter(pa.array(_numbers(firsts, SLICE) > number))
    at = later.schema.get_field_index(SLICE)
    return _earliest(later.set_column(at, SLICE, pa.array(np.full(later.num_rows, number))))


def _earliest(rows: pa.Table) -> pa.Table:
    """Of the rows of each key and slice one with the first start; rows without a key go: they meet nobody."""
    names = [name for name in rows.column_names if name != START]
    ids, _, _ = shared_keys(rows, rows.slice(0, 0), names, names)
    order = np.lexsort((_numbers(rows, START), ids))
    ordered = ids[order]
    first = np.ones(order.size, np.bool_)
    first[1:] = ordered[1:] != ordered[:-1]
    return rows.take(pa.array(order[first & (ordered != NO_KEY)]))


def _streams(sealed: pa.Buffer) -> Iterator[pa.Table]:
    """Tables in Arrow streams, one after the other."""
    reader = pa.BufferReader(sealed)
    while reader.tell() < reader.size():
        yield pa.ipc.open_stream(reader).read_all()


def _numbers(table: pa.Table, name: str) -> Ticks:
    return np.asarray(table[name].combine_chunks())
