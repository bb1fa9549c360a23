"""Rows that are sent with their ticks, which SQL has computed, in columns of their own."""

from dataclasses import dataclass

import pyarrow as pa

from timeloom.engines.spark.columns.faults import NO_TIME, Judgement
from timeloom.engines.spark.exchange.routing import RowTicks
from timeloom.engines.spark.slicing.tick_ranges import PeriodRange
from timeloom.engines.tables.arrays import filled, to_numpy
from timeloom.engines.tables.ticks import Ticks

START, END = "start", "end"


@dataclass(frozen=True)
class TickColumns:
    """How such rows are read that are sent on; without a judgement, whoever receives invalid rows judges them."""

    range: PeriodRange
    judgement: Judgement | None = None

    def admitted(self, rows: pa.Table) -> pa.Table:
        """The rows without those that are dropped."""
        return rows if self.judgement is None else self.judgement.admitted(rows)

    def ticks(self, rows: pa.Table) -> RowTicks:
        """The ticks of rows, and where they must be present; invalid rows have no ticks."""
        starts, ends = (_filled(rows[name], tick) for name, tick in zip((START, END), NO_TIME, strict=True))
        return RowTicks(starts, ends, *self.range.of(starts, ends))


def numbers(table: pa.Table, name: str) -> Ticks:
    """A column of numbers without nulls."""
    return to_numpy(table[name])


def _filled(ticks: pa.ChunkedArray, missing: int) -> Ticks:
    return to_numpy(filled(ticks, missing))
