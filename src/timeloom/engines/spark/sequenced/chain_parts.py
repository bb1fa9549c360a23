"""What a task of a sequenced join has of each table: its rows, and where the table begins in later slices.

A row is whole in each slice that it touches, or at which it ends. A result belongs to the slice in which it begins: all
that decides where that is, is there. Where it ends may be decided by a row that begins in a later slice. Of these rows
the first one counts, so a task is told when that is: a marker, an instant of its own.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeloom.engines.spark.columns.faults import FAULT, judged
from timeloom.engines.spark.exchange.blocks import BLOCK, Block, ipc_column, received
from timeloom.engines.spark.exchange.narrowing import widened
from timeloom.engines.spark.sequenced.tick_columns import END, START, numbers
from timeloom.engines.tables.arrays import from_numpy
from timeloom.engines.tables.keys import NO_KEY, Keys, shared_keys
from timeloom.engines.tables.ticks import Ticks
from timeloom.kernels.order import distinct
from timeloom.model.period import Period
from timeloom.model.policy import Policy
from timeloom.model.ticks import MIN_TICK

FIRSTS = "firsts"
"""The column whose first value in a partition has the first starts of all tables in all slices but the first."""

SLICE, SINCE, UNTIL, TABLE = "slice", "since", "until", "table"


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
class ChainTable:
    """A table of a chain: what messages call it, its period, the columns that are sent, and which of them are keys."""

    side: str
    period: Period
    schema: pa.Schema
    keys: tuple[str, ...]


@dataclass(frozen=True)
class Arrivals:
    """How rows of several tables arrive: in blocks, each of one table."""

    verb: str
    tables: tuple[ChainTable, ...]
    policy: Policy
    sliced: bool

    def parts(self, batches: Iterator[pa.RecordBatch]) -> list[Part]:
        """What a task has of each table, without rows that are dropped, or nothing; the policy may refuse some."""
        known = [batch for batch in batches if batch.num_rows]
        if not known:
            return []
        blocks = list(received(iter(known)))
        found = [self._part(number, blocks, self._judged) for number in range(len(self.tables))]
        if FIRSTS not in known[0].schema.names or not known[0].column(FIRSTS)[0].is_valid:
            return found
        return _with_markers(found, list(_streams(known[0].column(FIRSTS)[0].as_buffer())))

    def first_starts(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The first start of each table and key in each slice but the first."""
        blocks = [block for block in received(batches) if block.destination.slice > 1]
        for number in range(len(self.tables)):
            part = self._part(number, blocks, _timed)
            begun = from_numpy(np.flatnonzero(part.starts >= part.since))
            found = _earliest(part.keys.take(begun).append_column(START, from_numpy(part.starts).take(begun)))
            if found.num_rows:
                tables = from_numpy(np.full(found.num_rows, number))
                yield pa.RecordBatch.from_arrays([ipc_column(found.append_column(TABLE, tables))], names=[BLOCK])

    def _judged(self, rows: pa.Table, table: ChainTable) -> pa.Table:
        if FAULT not in rows.column_names:
            return rows
        return judged(rows, FAULT, table.period, table.side, self.policy, self.verb)

    def _part(self, number: int, blocks: Sequence[Block], admit: Callable[[pa.Table, ChainTable], pa.Table]) -> Part:
        """The rows of one table that are in some blocks, and are admitted."""
        table = self.tables[number]
        mine = [block for block in blocks if block.source == number]
        rows = pa.concat_tables([_placed(block) for block in mine]) if mine else _none(table.schema)
        rows = admit(rows, table)
        names = [*(f"k{at}" for at in range(len(table.keys))), SLICE]
        keys = pa.table([rows[name] for name in (*table.keys, SLICE)], names=names)
        ticks = (numbers(rows, name) for name in (START, END, SINCE, UNTIL))
        return Part(rows, keys, *ticks)


def _placed(block: Block) -> pa.Table:
    """The rows of a block, with the slice to which they were sent."""
    rows = block.rows
    for name, number in zip((SLICE, SINCE, UNTIL), block.destination[1:], strict=True):
        rows = rows.append_column(name, from_numpy(np.full(rows.num_rows, number, np.int64)))
    return rows


def _none(schema: pa.Schema) -> pa.Table:
    for name in (START, END, SLICE, SINCE, UNTIL):
        schema = schema.append(pa.field(name, pa.int64()))
    return schema.empty_table()


def _timed(rows: pa.Table, _: ChainTable) -> pa.Table:
    return rows.filter(pc.is_valid(rows[START]))


def shared_ids(keys: Sequence[pa.Table]) -> tuple[list[Keys], int]:
    """Number the keys of several tables; equal keys get equal numbers. Returns the number of keys, too."""
    names = keys[0].column_names
    before = _together(keys[:-1])
    ids, last, count = shared_keys(before, keys[-1], names, names)
    edges = np.cumsum([table.num_rows for table in keys[:-1]])
    return [*np.split(ids, edges[:-1]), last], count


def _with_markers(parts: list[Part], firsts: list[pa.Table]) -> list[Part]:
    """Mark in each slice that is here when each table next begins, by key, after it."""
    here = distinct(np.concatenate([numbers(part.keys, SLICE) for part in parts]))
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
    starts, never = numbers(added, START), np.full(added.num_rows, MIN_TICK)
    return Part(
        part.rows,
        _together([part.keys, added.select(part.keys.column_names)]),
        np.concatenate([part.starts, starts]),
        np.concatenate([part.ends, starts + 1]),
        np.concatenate([part.since, never]),
        np.concatenate([part.until, never]),
    )


def _next_starts(firsts: pa.Table, number: int) -> pa.Table:
    """The first start of each key after a slice, as if it were seen in this one."""
    later = firsts.filter(from_numpy(numbers(firsts, SLICE) > number))
    at = later.schema.get_field_index(SLICE)
    return _earliest(later.set_column(at, SLICE, from_numpy(np.full(later.num_rows, number))))


def _earliest(rows: pa.Table) -> pa.Table:
    """Of the rows of each key and slice one with the first start; rows without a key go: they meet nobody."""
    names = [name for name in rows.column_names if name != START]
    ids, _, _ = shared_keys(rows, rows.slice(0, 0), names, names)
    order = np.lexsort((numbers(rows, START), ids))
    ordered = ids[order]
    first = np.ones(order.size, np.bool_)
    first[1:] = ordered[1:] != ordered[:-1]
    return rows.take(from_numpy(order[first & (ordered != NO_KEY)]))


def _together(tables: Sequence[pa.Table]) -> pa.Table:
    """Rows of several tables; those without rows may have other time zones."""
    return pa.concat_tables([table for table in tables if table.num_rows] or tables[:1], promote_options="permissive")


def _streams(stream: pa.Buffer) -> Iterator[pa.Table]:
    """Tables in Arrow streams, one after the other."""
    reader = pa.BufferReader(stream)
    while reader.tell() < reader.size():
        yield widened(pa.ipc.open_stream(reader).read_all())
