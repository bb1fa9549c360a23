"""Patterns of small tables on Spark: a task has the rows of all of them, and finds the matches as on local tables.

One task takes tables that are merely read and have little; tables with keys that are not large go to tasks by these.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from timeloom.engines.joins.chains import chained_in_parts
from timeloom.engines.joins.problem import Side
from timeloom.engines.spark.cluster.pipelines import in_pipeline
from timeloom.engines.spark.cluster.sizes import all_within, estimate
from timeloom.engines.spark.cluster.versions import to_arrow_schema
from timeloom.engines.spark.cluster.workers import mapped
from timeloom.engines.spark.columns.arrow_types import arrow_schema, numbered
from timeloom.engines.spark.columns.faults import admitted_in_task
from timeloom.engines.spark.columns.packing import shared_positions
from timeloom.engines.spark.matching.inputs import ALONE_BYTES
from timeloom.engines.tables.arrays import from_numpy, to_numpy
from timeloom.engines.tables.keys import keys_of_all
from timeloom.engines.tables.taking import taken
from timeloom.engines.tables.validity import Admitted
from timeloom.model.pattern import PatternRequest
from timeloom.model.ticks import Axis

SOURCE = "source"
"""The column that tells the tables apart."""

MOST = 1 << 18
"""So many matches are written at a time."""

KEYED_BYTES = 64 << 20
"""Tables with so many bytes together are not cut by time, even if all rows have one key."""

ALONE = f"the tables have no more than {ALONE_BYTES:,} bytes together, so one task reads and takes them"
KEYED = f"the tables have no more than {KEYED_BYTES:,} bytes together, so rows go to tasks by key, once for all steps"

Output = Mapping[str, tuple[str, str]]


@dataclass(frozen=True)
class WholePattern:
    """Small tables, and the matches that are looked for; ``output`` has the table and column of each result column."""

    frames: Mapping[str, DataFrame]
    schemas: Mapping[str, T.StructType]
    request: PatternRequest
    axis: Axis
    output: Output

    @cached_property
    def why(self) -> str:
        """Why tasks take all steps: nothing if they do not, as tables may be large, or keys are of several types."""
        if self.rows is None:
            return ""
        found = estimate(self.rows)
        if all_within([found], ALONE_BYTES):
            return ALONE
        return KEYED if self.request.keys and found.size is not None and found.size <= KEYED_BYTES else ""

    @cached_property
    def _tables(self) -> tuple[tuple[str, dict[str, int]], ...]:
        """The tables by name, and where their columns stand; keys have the same places in all of them."""
        names = list(self.frames)
        wanted = [self._wanted(name) for name in names]
        for name, columns in zip(names, wanted, strict=True):
            arrow_schema(T.StructType([self.schemas[name][column] for column in columns]), name)
        compared = [T.StructType([self.schemas[name][key] for key in self.request.keys]) for name in names]
        keys = [arrow_schema(each, name, comparing=True) for each, name in zip(compared, names, strict=True)]
        keys_of_all([each.empty_table() for each in keys], list(self.request.keys))
        positions = shared_positions([self.schemas[name] for name in names], wanted)[1]
        return tuple(zip(names, positions, strict=True))

    @cached_property
    def rows(self) -> DataFrame | None:
        """The rows of all tables; None where they cannot be put together."""
        kinds = [{str(schema[key].dataType) for schema in self.schemas.values()} for key in self.request.keys]
        if in_pipeline() or not self.output or any(len(each) > 1 for each in kinds):
            return None
        packed = [self._packed(number, *table) for number, table in enumerate(self._tables)]
        return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), packed)

    def result(self) -> DataFrame:
        """The plan of the matches."""
        assert self.rows is not None
        keys = [f"p{self._tables[0][1][key]}" for key in self.request.keys]
        sent = self.rows.coalesce(1) if self.why == ALONE else self.rows.repartition(*keys)
        fields = [self.schemas[table][column] for table, column in self.output.values()]
        target = T.StructType(
            [
                T.StructField(name, field.dataType, metadata=field.metadata)
                for name, field in zip(numbered(len(fields)), fields, strict=True)
            ]
        )
        task = PatternTask(self.request, self._tables, self.axis, tuple(self.output.values()), target)
        return mapped(sent, task, target).toDF(*self.output)

    def _wanted(self, name: str) -> list[str]:
        """The columns of a table that its rows are found by, or that the result has."""
        shown = [column for table, column in self.output.values() if table == name]
        return list(dict.fromkeys([*self.request.keys, *self.request.periods[name].columns, *shown]))

    def _packed(self, number: int, name: str, positions: dict[str, int]) -> DataFrame:
        """The rows of a table, their columns named by what they share with other tables."""
        names = self.schemas[name].names
        rows = self.frames[name].toDF(
            *(f"p{positions[one]}" if one in positions else f"x{at}" for at, one in enumerate(names))
        )
        others = [f"x{at}" for at, one in enumerate(names) if one not in positions]
        return (rows.drop(*others) if others else rows).withColumn(SOURCE, F.lit(number))


@dataclass(frozen=True)
class PatternTask:
    """Finds the matches of a pattern in the rows of all tables, whose columns stand at these positions."""

    request: PatternRequest
    tables: tuple[tuple[str, dict[str, int]], ...]
    axis: Axis
    output: tuple[tuple[str, str], ...]
    result: T.StructType

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The matches, some at a time."""
        found = [batch for batch in batches if batch.num_rows]
        if not found:
            return
        admitted = self._admitted(pa.Table.from_batches(found))
        keys, count, _ = keys_of_all([some.table for some in admitted.values()], list(self.request.keys))
        sides = {
            name: Side(some.starts, some.ends, numbers if self.request.keys else None)
            for (name, some), numbers in zip(admitted.items(), keys, strict=True)
        }
        target = to_arrow_schema(self.result)
        matches = chained_in_parts(self.request.pattern, sides, count if self.request.keys else 0, self.axis, MOST)
        for rows in matches:
            columns = [
                taken(admitted[table].table[column], from_numpy(rows[table]), column).cast(kind)
                for (table, column), kind in zip(self.output, target.types, strict=True)
            ]
            yield from pa.Table.from_arrays(columns, schema=target).to_batches()

    def _admitted(self, rows: pa.Table) -> dict[str, Admitted]:
        sources = to_numpy(rows[SOURCE])
        found = {}
        for number, (name, positions) in enumerate(self.tables):
            mine = rows.filter(from_numpy(sources == number)).select([f"p{at}" for at in positions.values()])
            table = mine.rename_columns(list(positions))
            found[name] = admitted_in_task(table, self.request.periods[name], name, self.request.policy, "pattern")
        return found
