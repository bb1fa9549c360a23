"""The rows that a Spark task has received: packed rows of two sides, with their periods read as ticks."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeloom.engines.admission import Admitted, admit
from timeloom.engines.keys import Keys, shared_keys
from timeloom.engines.local.gather import Source
from timeloom.engines.ticks import PeriodTicks, Ticks
from timeloom.errors import InvalidInputError
from timeloom.model.period import Period
from timeloom.model.policy import Policy

Positions = NDArray[np.int32]

RIGHT, START_HOME, END_HOME, SOLE = 1, 2, 4, 8
"""Bits of a tag: the row's side, whether its start or its end lies in this slice, whether this is its only copy."""

BITS = 16
"""A tag is ``(slice * BITS + bits) * partitions + partition``."""


@dataclass(frozen=True)
class SideLayout:
    """Where a side's period and keys stand in a packed row."""

    name: str
    period: Period
    start: str
    end: str
    keys: tuple[str, ...]


@dataclass(frozen=True)
class PackedSide:
    """The rows of one side: their positions among all rows of the task, their ticks, and the bits of their tags."""

    rows: Positions
    starts: Ticks
    ends: Ticks
    bits: NDArray[np.int64]
    ticks: PeriodTicks
    keys: Keys | None = None

    def taken(self, chosen: NDArray[np.bool_]) -> "PackedSide":
        """Some of the rows."""
        keys = None if self.keys is None else self.keys[chosen]
        return replace(
            self,
            rows=self.rows[chosen],
            starts=self.starts[chosen],
            ends=self.ends[chosen],
            bits=self.bits[chosen],
            keys=keys,
        )


@dataclass(frozen=True)
class Parcel:
    """All rows of a task, split by side. Rows of different slices have different keys and so never meet."""

    source: Source
    size: int
    bytes: int
    left: PackedSide
    right: PackedSide
    keys: int

    @classmethod
    def read(
        cls,
        batches: Iterable[pa.RecordBatch],
        layouts: tuple[SideLayout, SideLayout],
        policy: Policy,
        partitions: int,
    ) -> "Parcel | None":
        """Read the batches of a task; None when there are none."""
        received = [batch for batch in batches if batch.num_rows]
        if not received:
            return None
        table = pa.Table.from_batches(received)
        source = Source(table)
        tags = np.asarray(source.column("tag")) // partitions
        bits, slices = tags % BITS, tags // BITS
        is_right = (bits & RIGHT) != 0
        rows = [np.flatnonzero(chosen).astype(np.int32) for chosen in (~is_right, is_right)]
        sides = [_read_side(source, at, bits, layout, policy) for at, layout in zip(rows, layouts, strict=True)]
        keyed = [_key_table(source, at, slices, layout) for at, layout in zip(rows, layouts, strict=True)]
        if layouts[0].keys or slices.min() != slices.max():
            names = keyed[0].column_names, keyed[1].column_names
            left_keys, right_keys, count = shared_keys(keyed[0], keyed[1], *names)
            sides = [replace(side, keys=keys) for side, keys in zip(sides, (left_keys, right_keys), strict=True)]
            return cls(source, table.num_rows, table.nbytes, sides[0], sides[1], count)
        return cls(source, table.num_rows, table.nbytes, sides[0], sides[1], 0)

    @cached_property
    def starts(self) -> Ticks:
        """The starts of all rows."""
        return self._together(self.left.starts, self.right.starts)

    @cached_property
    def ends(self) -> Ticks:
        """The ends of all rows."""
        return self._together(self.left.ends, self.right.ends)

    def _together(self, left: Ticks, right: Ticks) -> Ticks:
        ticks = np.empty(self.size, np.int64)
        ticks[self.left.rows], ticks[self.right.rows] = left, right
        return ticks


def _read_side(
    source: Source, rows: Positions, bits: NDArray[np.int64], layout: SideLayout, policy: Policy
) -> PackedSide:
    at = pa.array(rows)
    columns = {name: source.take(place, at) for name, place in _period_places(layout)}
    admitted = _admitted(pa.table(columns), layout, policy)
    form = layout.period.sentinels[0] if layout.period.sentinels else None
    ticks = replace(admitted.ticks, open_form=form)
    return PackedSide(rows, admitted.starts, admitted.ends, bits[rows], ticks)


def _period_places(layout: SideLayout) -> list[tuple[str, str]]:
    return [(layout.period.start, layout.start), (layout.period.end, layout.end)]


def _admitted(periods: pa.Table, layout: SideLayout, policy: Policy) -> Admitted:
    """Judge the rows; only an error can come of it, all other policies were carried out before the shuffle."""
    try:
        return admit(periods, layout.period, layout.name, Policy("error", "point" if policy.empty == "point" else None))
    except InvalidInputError as error:
        raise InvalidInputError(f"in one task of the join, {error}") from None


def _key_table(source: Source, rows: Positions, slices: NDArray[np.int64], layout: SideLayout) -> pa.Table:
    at = pa.array(rows)
    columns = [source.take(place, at) for place in layout.keys]
    names = [f"k{number}" for number in range(len(columns))]
    return pa.table([*columns, pa.array(slices[rows])], names=[*names, "slice"])
