"""The plan of an exchange: rows of one table or more, sent to tasks by bucket and slice, shuffled once, in blocks."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from timeloom.engines.spark.cluster.pipelines import in_pipeline
from timeloom.engines.spark.cluster.versions import sent_by_number
from timeloom.engines.spark.cluster.workers import Piped, Task, mapped
from timeloom.engines.spark.exchange.agreement import Agreement, CommonWriter
from timeloom.engines.spark.exchange.blocks import BLOCKS, TASK
from timeloom.engines.spark.exchange.forecast import FORECAST, ForecastTask
from timeloom.engines.spark.exchange.writing import SOURCE, BlockWriter, MixedWriter, RowReader
from timeloom.engines.spark.slicing.boundaries import sample_size
from timeloom.engines.spark.slicing.cuts import CHOSEN, CUTS, TOLD, CutTask
from timeloom.engines.spark.slicing.sample import FIRST_ROW, least_ranks, sampled
from timeloom.engines.spark.slicing.slices import Slicing

_ALL, _AT = "all_cuts", "cut_at"
"""Columns with all numbers of the cuts, and with the position of one among them, that do not leave the plan."""


@dataclass(frozen=True)
class Source:
    """A table whose rows are sent: ``rows`` has what travels, and the hash of the key if that decides.

    The sample is drawn from the rows of ``timed``, which all have a period: ``ticks`` and ``key`` are SQL over these.
    They are asked for only if there is a sample, as most small plans need none. ``long`` are the columns of ``rows``
    whose values may be long. The ``writer`` puts what travels into blocks: rows as they are, unless another is given.
    """

    rows: DataFrame
    timed: Callable[[], DataFrame]
    ticks: tuple[str, str]
    key: str
    reader: RowReader
    long: tuple[str, ...] = ()
    writer: Callable[..., BlockWriter] = BlockWriter


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
        chooser = self._chooser()
        return mapped(self._sample(), chooser, TOLD if chooser.as_text else CHOSEN, kernels=False).scalar()

    def forecast(self, row_bytes: int) -> dict[str, Any]:
        """What the exchange of rows of this size would cost. Runs a job over periods and keys."""
        found = mapped(self._sample(), ForecastTask(self._chooser(), row_bytes), FORECAST, kernels=False).first()
        facts: dict[str, Any] = {} if found is None else json.loads(found[0])
        return facts | {"bytes shuffled": 0} if self.slicing.alone else facts

    def _chooser(self) -> CutTask:
        return CutTask(self.slicing, tuple(source.reader.range for source in self.sources), in_pipeline())

    def _sample(self) -> DataFrame:
        samples = [
            sampled(source.timed(), number, source.ticks, source.key, self.slicing.share)
            for number, source in enumerate(self.sources)
        ]
        return least_ranks(samples, sample_size(self.slicing.slices))

    def written(self, number: int) -> DataFrame:
        """The blocks of a source; if there may be cuts, the first row of each partition has them."""
        source = self.sources[number]
        return mapped(self._with_cuts(source.rows, source.long), self.writer(number), BLOCKS)

    def rows(self) -> DataFrame | Piped:
        """The blocks of all sources, shuffled. Spark shuffles them once, however often a plan asks for them.

        If one task takes all, it writes the blocks itself.
        """
        numbers = range(len(self.sources))
        if self.slicing.alone:
            return Piped(self._together().coalesce(1), self._common_writer())
        if self.slicing.agreed:
            return self._agreed()
        if self.mixed:
            long = dict.fromkeys(name for source in self.sources for name in source.long)
            blocks = mapped(self._with_cuts(self._together(), long), self._common_writer(), BLOCKS)
        else:
            blocks = _union([self.written(number) for number in numbers])
        return sent_by_number(blocks, self.slicing.tasks, TASK)

    def _agreed(self) -> Piped:
        """All rows for each task, which keeps its own part."""
        tasks, numbered = self.slicing.tasks, enumerate(self.sources)
        blocks = [mapped(one.rows, CommonWriter(at, one.reader, tasks), BLOCKS) for at, one in numbered]
        writers = tuple(replace(self.writer(at), travels=False) for at in range(len(self.sources)))
        return Piped(sent_by_number(_union(blocks), tasks, TASK), Agreement(writers), partitions=tasks)

    def _together(self) -> DataFrame:
        """The rows of all sources, told apart by a column if there are several.

        What one task takes is put together by name, without a word of SQL. That is no way for declarative pipelines,
        where plans may not be looked at: Spark must, to know which columns are missing.
        """
        if not self.mixed:
            return self.sources[0].rows
        if self.slicing.alone:
            told = [source.rows.withColumn(SOURCE, F.lit(number)) for number, source in enumerate(self.sources)]
            return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), told)
        return _union(
            [source.rows.selectExpr("*", f"{number} AS {SOURCE}") for number, source in enumerate(self.sources)]
        )

    def _common_writer(self) -> Task:
        """Writes the rows of all sources."""
        if not self.mixed:
            return self.writer(0)
        return MixedWriter(tuple(map(self.writer, range(len(self.sources)))), self.mixed)

    def _with_cuts(self, rows: DataFrame, long: Iterable[str]) -> DataFrame:
        """The rows with a number of the cuts in each of as many copies of the first row of a partition.

        A column of numbers that are null costs Spark a third of what one of texts or lists does. Copies after the first
        need no values that may be long. In declarative pipelines, where plans must not be deep, they come as a text.
        """
        if self.slicing.slices == 1:
            return rows
        if in_pipeline():
            return rows.withColumn(CUTS, self._in_first_row)
        first = rows.withColumn(_ALL, self._in_first_row)
        short = [f"CASE WHEN coalesce({_AT}, 0) = 0 THEN {name} END AS {name}" for name in long]
        if not short:
            return first.selectExpr(f"* EXCEPT ({_ALL})", f"explode_outer({_ALL}) AS {CUTS}")
        copied = first.selectExpr(f"* EXCEPT ({_ALL})", f"posexplode_outer({_ALL}) AS ({_AT}, {CUTS})")
        return copied.selectExpr(f"* EXCEPT ({', '.join([_AT, *long])})", *short)

    @cached_property
    def _in_first_row(self) -> Column:
        return F.when(F.expr(FIRST_ROW), self.cuts)

    def writer(self, number: int) -> BlockWriter:
        """The task that writes the blocks of a source."""
        source, travels = self.sources[number], not self.slicing.alone
        return source.writer(number, source.reader, self.slicing, self.marked, travels)


def _union(frames: Sequence[DataFrame]) -> DataFrame:
    return reduce(lambda one, other: one.unionAll(other), frames)
