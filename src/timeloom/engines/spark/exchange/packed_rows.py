"""Packed rows of the two sides of a join, as they are sent and as they arrive, with their periods read as ticks."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeloom.engines.spark.columns.faults import admitted_in_task
from timeloom.engines.spark.exchange.routing import Positions, RowTicks
from timeloom.engines.spark.slicing.reaches import Reach
from timeloom.engines.spark.slicing.tick_ranges import TickRange
from timeloom.engines.tables.arrays import from_numpy, to_numpy
from timeloom.engines.tables.gather import Source
from timeloom.engines.tables.keys import Keys, group_keys, shared_keys
from timeloom.engines.tables.ticks import PeriodTicks, Ticks, read_period
from timeloom.engines.tables.verdicts import VALID, judge
from timeloom.kernels import order
from timeloom.model.period import Period
from timeloom.model.policy import Policy

RIGHT = 16
"""The bit of rows of the right side, beside those of copies."""


class Packed(NamedTuple):
    """Packed rows of both sides, with the bits and the slice of each."""

    table: pa.Table
    bits: NDArray[np.int8]
    slices: NDArray[np.int32]


class Reader(Protocol):
    """Reads what a task receives; rows that may meet come at once."""

    def read(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Packed]:
        """The rows of a task, at once or one after the other."""


@dataclass(frozen=True)
class SideLayout:
    """Where a side's period and keys stand in a packed row, and where all its columns do.

    Tasks that write rows carry ``columns``, though they do not ask for it: Spark takes plans that differ in names only
    for one, and would give the rows of one to the other.
    """

    name: str
    period: Period
    start: str
    end: str
    keys: tuple[str, ...]
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class SideReader:
    """How packed rows of a side are read that are sent on; ``range`` says where they must be present.

    Rows that are to be dropped are dropped here, and told of once. Those that must be refused are sent on, as if they
    need be present nowhere: they meet in one task, which tells of all.
    """

    layout: SideLayout
    policy: Policy
    range: TickRange

    def admitted(self, rows: pa.Table) -> pa.Table:
        """The rows without those that are dropped."""
        if self.policy.on_invalid != "drop":
            return rows
        kept = admitted(rows, self.layout, self.policy)[0]
        return rows if kept.size == rows.num_rows else rows.take(from_numpy(kept))

    def ticks(self, rows: pa.Table) -> RowTicks:
        """The ticks of rows, and where they must be present."""
        layout = self.layout
        columns = {layout.period.start: rows[layout.start], layout.period.end: rows[layout.end]}
        period = read_period(pa.table(columns), layout.period, layout.name)
        ends, verdict = judge(period, self.policy)
        low, high = self.range.of(period.starts, ends)
        invalid = verdict != VALID
        low[invalid], high[invalid] = 1, 0
        return RowTicks(period.starts, ends, low, high)


@dataclass(frozen=True)
class ReachingReader(SideReader):
    """The same for rows that are looked for from other ticks than their own."""

    reach: Reach

    def ticks(self, rows: pa.Table) -> RowTicks:
        """The ticks of rows, and from where to where they may be found; invalid ones are nowhere."""
        found = super().ticks(rows)
        valid = np.flatnonzero(found.low <= found.high)
        keys = group_keys(rows, list(self.layout.keys))[0][valid] if self.layout.keys else None
        low, high = found.low, found.high
        low[valid], high[valid] = self.reach.of(low[valid], high[valid], keys)
        return found


@dataclass(frozen=True)
class PackedSide:
    """The rows of one side: their positions among all rows of the task, their ticks and their bits."""

    rows: Positions
    starts: Ticks
    ends: Ticks
    bits: NDArray[np.int8]
    keys: Keys | None = None

    def by_start(self) -> "PackedSide":
        """The rows in the order of their starts."""
        found = order.sort(self.starts, beside=self.ends)
        keys = None if self.keys is None else self.keys[found.ids]
        return PackedSide(self.rows[found.ids], found.values, found.beside, self.bits[found.ids], keys)

    def where(self, chosen: NDArray[np.bool_]) -> "PackedSide":
        """Some of the rows."""
        return self if chosen.all() else self.take(chosen)

    def take(self, chosen: "NDArray[np.bool_] | NDArray[np.integer]") -> "PackedSide":
        """Some of the rows, or all in another order."""
        return replace(
            self,
            rows=self.rows[chosen],
            starts=self.starts[chosen],
            ends=self.ends[chosen],
            bits=self.bits[chosen],
            keys=None if self.keys is None else self.keys[chosen],
        )


@dataclass(frozen=True)
class JoinRows:
    """Rows of a task that may meet, split by side. Rows of different slices have different keys, and so never do."""

    packed: Packed
    source: Source
    left: PackedSide
    right: PackedSide
    keys: int

    @classmethod
    def of(cls, packed: Packed, layouts: tuple[SideLayout, SideLayout], policy: Policy) -> "JoinRows":
        """Split packed rows by side, judge their periods, and number the keys of those that are admitted."""
        source = Source(packed.table)
        is_right = (packed.bits & RIGHT) != 0
        rows = [np.flatnonzero(chosen).astype(np.int32) for chosen in (~is_right, is_right)]
        sides = [_side(source, at, packed.bits, layout, policy) for at, layout in zip(rows, layouts, strict=True)]
        if not layouts[0].keys and not np.diff(packed.slices).any():
            return cls(packed, source, sides[0], sides[1], 0)
        tables = [
            _key_table(source, side.rows, packed.slices, layout) for side, layout in zip(sides, layouts, strict=True)
        ]
        names = tables[0].column_names
        *keys, count = shared_keys(tables[0], tables[1], names, names)
        left, right = (replace(side, keys=ids) for side, ids in zip(sides, keys, strict=True))
        return cls(packed, source, left, right, count)

    def __len__(self) -> int:
        return int(self.packed.table.num_rows)

    @property
    def row_bytes(self) -> int:
        """The size of a row on average."""
        return int(self.packed.table.nbytes) // max(1, len(self))

    @cached_property
    def starts(self) -> Ticks:
        """The starts of all rows."""
        return self._together(self.left.starts, self.right.starts)

    @cached_property
    def ends(self) -> Ticks:
        """The ends of all rows."""
        return self._together(self.left.ends, self.right.ends)

    def _together(self, left: Ticks, right: Ticks) -> Ticks:
        ticks = np.zeros(len(self), np.int64)
        ticks[self.left.rows], ticks[self.right.rows] = left, right
        return ticks


def _side(source: Source, rows: Positions, bits: NDArray[np.int8], layout: SideLayout, policy: Policy) -> PackedSide:
    at = from_numpy(rows)
    table = pa.table({name: source.take(name, at) for name in dict.fromkeys((layout.start, layout.end))})
    kept, starts, ends, _ = admitted(table, layout, policy)
    kept = rows if kept.size == rows.size else rows[kept]
    return PackedSide(kept, starts, ends, bits[kept])


def admitted(table: pa.Table, layout: SideLayout, policy: Policy) -> tuple[Positions, Ticks, Ticks, PeriodTicks]:
    """Judge the packed rows of a side: positions and ticks of the valid ones. The log tells of dropped ones."""
    period = layout.period
    position = f"{period.start} {period.end} row"
    rows = from_numpy(np.arange(table.num_rows, dtype=np.int32))
    periods = pa.table({period.start: table[layout.start], period.end: table[layout.end], position: rows})
    found = admitted_in_task(periods, period, layout.name, policy, "the join")
    return to_numpy(found.table[position]), found.starts, found.ends, found.ticks


def _key_table(source: Source, rows: Positions, slices: NDArray[np.int32], layout: SideLayout) -> pa.Table:
    at = from_numpy(rows)
    columns = [source.take(column, at) for column in layout.keys]
    names = [f"k{number}" for number in range(len(columns))]
    return pa.table([*columns, from_numpy(slices[rows])], names=[*names, "slice"])
