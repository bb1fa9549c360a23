"""Groups of rows handed to Python: a task takes all groups of its partition at once.

Rows are sent to partitions by their keys, and the work must give for many groups what it gives for each of them: a call
for each group, as Spark's own grouping makes it, takes longer than its work. Two tables are grouped by Spark; but it
looks at such plans when it receives them, and in dataset functions of a pipeline the tables do not exist yet. There
rows of both sides go to partitions, too.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from timeloom.engines.spark.cluster.pipelines import in_pipeline
from timeloom.engines.spark.cluster.workers import mapped, plan_name

Work = Callable[[pa.Table], pa.Table]
PairWork = Callable[[pa.Table, pa.Table], pa.Table]

SIDE, ROWS = "side", ("left", "right")
"""The columns in which rows of two sides travel together: which side, and one column for each."""


@dataclass(frozen=True)
class Side:
    """Rows whose first columns, of these types, a task sees, and their keys; ``shown`` may be fewer than there are."""

    rows: DataFrame
    shown: Sequence[str]
    kinds: Sequence[T.DataType]
    keys: Sequence[Column]

    @property
    def struct(self) -> T.StructType:
        """The type of the column that has all others."""
        return T.StructType([T.StructField(f"c{at}", kind) for at, kind in enumerate(self.kinds)])


def grouped(rows: DataFrame, keys: Sequence[str], work: Work, schema: T.StructType) -> DataFrame:
    """Run work on the rows of each key, all keys of a partition at once; without keys, on all rows."""
    return mapped(_sent(rows, keys), WholePartition(work), schema)


def cogrouped(sides: tuple[Side, Side], work: PairWork, schema: T.StructType) -> DataFrame:
    """Run work on the rows of each key, of both sides; without keys, on all rows."""
    if in_pipeline():
        left, right = (_travelling(sides, at) for at in (0, 1))
        keys = [f"k{number}" for number in range(len(sides[0].keys))]
        return mapped(_sent(left.unionAll(right), keys), WholePartitions(work), schema)

    def run(ours: pa.Table, theirs: pa.Table) -> pa.Table:  # Spark counts the parameters of what it calls
        return work(ours, theirs)

    run.__name__ = plan_name(work)
    ours, theirs = (side.rows.groupBy(*(side.keys or [F.lit(0).alias("all")])) for side in sides)
    return ours.cogroup(theirs).applyInArrow(run, schema)


@dataclass(frozen=True)
class WholePartition:
    """Runs work on all rows of a partition."""

    work: Work

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The result for a partition; nothing for one without rows."""
        found = [batch for batch in batches if batch.num_rows]
        if found:
            yield from self.work(pa.Table.from_batches(found)).to_batches()


@dataclass(frozen=True)
class WholePartitions:
    """Runs work on all rows of a partition, of both sides."""

    work: PairWork

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The result for a partition; nothing for one without rows."""
        found = [batch for batch in batches if batch.num_rows]
        if found:
            rows = pa.Table.from_batches(found)
            yield from self.work(*(_of_side(rows, number) for number in (0, 1))).to_batches()


def _of_side(rows: pa.Table, number: int) -> pa.Table:
    mine = rows.filter(pc.equal(rows[SIDE], number))
    return pa.Table.from_struct_array(mine[ROWS[number]])


def _sent(rows: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Rows with equal keys in one partition."""
    return rows.repartition(*keys) if keys else rows.coalesce(1)


def _travelling(sides: tuple[Side, Side], number: int) -> DataFrame:
    """The rows of a side with the columns of both."""
    mine = sides[number]
    shown = F.struct(*(F.col(name).alias(f"c{at}") for at, name in enumerate(mine.shown)))
    columns = [shown if at == number else F.lit(None).cast(side.struct) for at, side in enumerate(sides)]
    return mine.rows.select(
        F.lit(number).cast("int").alias(SIDE),
        *(column.alias(name) for column, name in zip(columns, ROWS, strict=True)),
        *(key.alias(f"k{at}") for at, key in enumerate(mine.keys)),
    )
