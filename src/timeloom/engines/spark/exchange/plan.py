"""The plan of an exchange: rows of one table or more, sent to tasks by bucket and slice, shuffled once, in blocks."""

from dataclasses import dataclass
from functools import cached_property, reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from timeloom.engines.spark.cluster.workers import mapped
from timeloom.engines.spark.exchange.blocks import BLOCKS, TASK
from timeloom.engines.spark.exchange.writing import BlockWriter, RowReader
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
    """Sources whose rows are to meet in tasks."""

    sources: tuple[Source, ...]
    slicing: Slicing
    marked: bool = False

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
        source = self.sources[number]
        rows = source.rows if self.slicing.slices == 1 else source.rows.withColumn(CUTS, in_first_row(self.cuts))
        return mapped(rows, BlockWriter(number, source.reader, self.slicing, self.marked), BLOCKS)

    def rows(self) -> DataFrame:
        """The blocks of all sources, shuffled. Spark shuffles them once, however often a plan asks for them."""
        blocks = [self.written(number) for number in range(len(self.sources))]
        together = reduce(lambda one, other: one.unionAll(other), blocks)
        return together.repartitionById(self.slicing.tasks, F.col(TASK))
