"""The plan of an exchange: rows of one table or more, sent to tasks by bucket and slice, shuffled once, in blocks."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from timeloom.engines.spark.cluster.versions import sent_by_number
from timeloom.engines.spark.cluster.workers import mapped
from timeloom.engines.spark.exchange.blocks import BLOCKS, TASK
from timeloom.engines.spark.exchange.writing import SOURCE, BlockWriter, MixedWriter, RowReader
from timeloom.engines.spark.slicing.cuts import CHOSEN, CUTS, CutTask
from timeloom.engines.spark.slicing.sample import in_first_row, least_ranks, sampled
from timeloom.engines.spark.slicing.slices import Slicing


@dataclass(frozen=True)
class Source:
    """A table whose rows are sent: ``rows`` has what travels, and the hash of the key if that decides.

    The sample is drawn from the rows of ``timed``, which all have a period: ``ticks`` and ``key`` are SQL over these.
    """

    rows: DataFrame
    timed: DataFrame
    ticks: tuple[str, str]
    key: str
    reader: RowReader


@dataclass(frozen=True)
class Exchange:
    """Sources whose rows are to meet in tasks.

    If sources are ``mixed``, their rows have the same columns, of which each needs those that are named here. They go
    to the tasks that write blocks together, so that the cuts stand once in the plan, however many sources there are.
    """

    sources: tuple[Source, ...]
    slicing: Slicing
    marked: bool = False
    mixed: tuple[tuple[str, ...], ...] = ()

    @cached_property
    def cuts(self) -> Column:
        """Where time is cut, as the value of a query inside the plan."""
        samples = [
            sampled(source.timed, number, source.ticks, source.key, self.slicing.share)
            for number, source in enumerate(self.sources)
        ]
        task = CutTask(self.slicing, tuple(source.reader.range for source in self.sources))
        return mapped(least_ranks(samples), task, CHOSEN).scalar()

    def written(self, number: int) -> DataFrame:
        """The blocks of a source; if there may be cuts, the first row of each partition has them."""
        return mapped(self._with_cuts(self.sources[number].rows), self._writer(number), BLOCKS)

    def rows(self) -> DataFrame:
        """The blocks of all sources, shuffled. Spark shuffles them once, however often a plan asks for them."""
        numbers = range(len(self.sources))
        if self.mixed:
            rows = _union([self.sources[number].rows.withColumn(SOURCE, F.lit(number)) for number in numbers])
            blocks = mapped(self._with_cuts(rows), MixedWriter(tuple(map(self._writer, numbers)), self.mixed), BLOCKS)
        else:
            blocks = _union([self.written(number) for number in numbers])
        return sent_by_number(blocks, self.slicing.tasks, TASK)

    def _with_cuts(self, rows: DataFrame) -> DataFrame:
        return rows if self.slicing.slices == 1 else rows.withColumn(CUTS, in_first_row(self.cuts))

    def _writer(self, number: int) -> BlockWriter:
        return BlockWriter(number, self.sources[number].reader, self.slicing, self.marked)


def _union(frames: Sequence[DataFrame]) -> DataFrame:
    return reduce(lambda one, other: one.unionAll(other), frames)
