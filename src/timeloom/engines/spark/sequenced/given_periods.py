"""Rows that are sent with the period columns that the user gave, which the task that sends them on reads as ticks.

To compute ticks in SQL, and a text for each row that is not valid, takes Spark longer than a task takes to judge rows.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeloom.engines.spark.columns.faults import TOLD, Judgement, report
from timeloom.engines.spark.exchange.routing import RowTicks
from timeloom.engines.spark.exchange.writing import KEY
from timeloom.engines.spark.sequenced.tick_columns import END, START, numbers
from timeloom.engines.spark.slicing.sharing import content
from timeloom.engines.spark.slicing.tick_ranges import PeriodRange
from timeloom.engines.tables.arrays import from_numpy
from timeloom.engines.tables.ticks import read_period
from timeloom.engines.tables.verdicts import VALID, Verdicts, judge


@dataclass(frozen=True)
class GivenPeriods:
    """How such rows are read; ``start`` and ``end`` are the names of the period columns in them.

    ``columns`` are those that go on beside the ticks. Rows whose hashes do not come with them get those of the columns
    that are ``hashed``.
    """

    range: PeriodRange
    judgement: Judgement
    start: str
    end: str
    columns: tuple[str, ...]
    hashed: tuple[str, ...] = ()

    def admitted(self, rows: pa.Table) -> pa.Table:
        """The rows with their ticks, without those that are dropped; some may be refused."""
        period = self.judgement.period
        given = {period.start: rows[self.start], period.end: rows[self.end]}
        found = read_period(pa.table(given), period, "input")
        ends, verdict = judge(found, self.judgement.policy)
        kept = rows.select(list(self.columns))
        if self.hashed:
            kept = kept.append_column(KEY, from_numpy(content(rows.select(list(self.hashed))).view(np.int64)))
        ticked = kept.add_column(0, START, from_numpy(found.starts)).add_column(1, END, from_numpy(ends))
        if not verdict.any():
            return ticked
        self._report(rows, verdict)
        return ticked.filter(from_numpy(verdict == VALID))

    def ticks(self, rows: pa.Table) -> RowTicks:
        """The ticks of rows, and where they must be present."""
        starts, ends = numbers(rows, START), numbers(rows, END)
        return RowTicks(starts, ends, *self.range.of(starts, ends))

    def _report(self, rows: pa.Table, verdict: Verdicts) -> None:
        """Refuse rows that are not valid, or tell that they are dropped."""
        invalid = np.flatnonzero(verdict != VALID)
        told = rows.select([self.start]).add_column(1, "other", rows[self.end]).take(from_numpy(invalid))
        texts = [pc.cast(column, pa.string()).combine_chunks() for column in told.columns]
        found = pa.StructArray.from_arrays([pa.array(verdict[invalid]), *texts], fields=list(TOLD))
        judgement = self.judgement
        report(found, judgement.period, "input", judgement.policy, judgement.verb)
