"""Verbs whose groups a task takes whole: the local verb runs on all groups of a task.

Columns are named by position, so that any name of the user's is safe. Small tables that are merely read are not
shuffled: one task takes all groups. The types of a result are those of the local verb on a table without rows, so
nothing runs before the user's action.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from timeloom.engines.spark.cluster.sizes import all_within, estimate
from timeloom.engines.spark.cluster.versions import from_arrow_schema, to_arrow_schema
from timeloom.engines.spark.cluster.workers import mapped
from timeloom.engines.spark.columns.validity import JudgedFrame, merge_rejected
from timeloom.engines.spark.sequenced.whole_partitions import WholePartition, grouped
from timeloom.engines.spark.slicing.slices import ALONE_BYTES
from timeloom.engines.tables.validity import Quarantined
from timeloom.kernels.jit import as_written
from timeloom.model.policy import Policy

Work = Callable[[pa.Table], pa.Table]
"""A local verb on a table with the user's names."""


def result_schema(work: Work, schema: T.StructType) -> T.StructType:
    """The fields that the local verb writes for a DataFrame of this schema."""
    with as_written():
        return from_arrow_schema(work(empty_table(schema)).schema)


def empty_table(schema: T.StructType) -> pa.Table:
    """A table without rows as tasks see it."""
    return to_arrow_schema(schema).empty_table()


@dataclass(frozen=True)
class GroupWork:
    """Runs a local verb on one group of rows, whose columns are named by position."""

    work: Work
    names: tuple[str, ...]
    order: tuple[str, ...]
    result: T.StructType

    def __call__(self, rows: pa.Table) -> pa.Table:
        """The result for a group. Rows come in no order, so they are put into one."""
        named = in_utc(rows.select(range(len(self.names))).rename_columns(list(self.names)))
        if self.order:
            named = named.sort_by([(name, "ascending") for name in self.order])
        return written(self.work(named), self.result)

    def each(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The same for batches that need no group."""
        for batch in batches:
            yield from self(pa.Table.from_batches([batch])).to_batches()


def by_group(
    rows: DataFrame,
    by: Sequence[str],
    schema: T.StructType,
    work: Work,
    order: Sequence[str],
    names: Sequence[str] | None = None,
) -> DataFrame:
    """Run a local verb on groups of rows; it must take many groups at once. Rows may have other ``names``."""
    result = result_schema(work, schema)
    task = GroupWork(work, tuple(schema.names), tuple(order), result)
    numbered = T.StructType([T.StructField(f"c{at}", field.dataType) for at, field in enumerate(result)])
    if taken_alone(rows):
        return mapped(rows.coalesce(1), WholePartition(task), numbered).toDF(*result.names)
    known = names or [f"c{at}" for at in range(len(schema))]
    return grouped(rows, [known[schema.names.index(name)] for name in by], task, numbered).toDF(*result.names)


def taken_alone(rows: DataFrame) -> bool:
    """Whether one task takes all groups: rows are few, and merely read."""
    return all_within([estimate(rows)], ALONE_BYTES)


def by_batch(rows: DataFrame, schema: T.StructType, work: Work) -> DataFrame:
    """Run a local verb on batches of rows, which stay where they are."""
    result = result_schema(work, schema)
    task = GroupWork(work, tuple(schema.names), (), result)
    numbered = T.StructType([T.StructField(f"c{at}", field.dataType) for at, field in enumerate(result)])
    return mapped(rows, task.each, numbered).toDF(*result.names)


def in_utc(table: pa.Table) -> pa.Table:
    """Instants in UTC, whatever the zone of the session."""
    kinds = [
        field.with_type(pa.timestamp("us", "UTC")) if pa.types.is_timestamp(field.type) and field.type.tz else field
        for field in table.schema
    ]
    return table.cast(pa.schema(kinds))


def written(table: pa.Table, schema: T.StructType) -> pa.Table:
    """A result in the types of the schema, its columns named by position."""
    target = to_arrow_schema(schema)
    arrays = [column.cast(kind) for column, kind in zip(table.columns, target.types, strict=True)]
    return pa.Table.from_arrays(arrays, names=[f"c{at}" for at in range(len(arrays))])


def needed_rows(admitted: JudgedFrame, needed: Collection[str]) -> tuple[DataFrame, T.StructType]:
    """The rows that tasks see with some of their columns, named by position, and their fields: no others travel."""
    schema = T.StructType([field for field in admitted.schema if field.name in needed])
    rows = admitted.only(needed)
    return rows if len(schema) == len(admitted.schema) else rows.toDF(*(f"c{at}" for at in range(len(schema)))), schema


def inner_policy(policy: Policy) -> Policy:
    """What tasks do with invalid rows: those of a quarantine do not come to them."""
    return Policy("error" if policy.on_invalid == "quarantine" else policy.on_invalid, policy.empty)


def handed_out(result: DataFrame, inputs: Sequence[JudgedFrame], policy: Policy) -> Any:
    """A result, with the rejected rows when they were asked for."""
    if policy.on_invalid != "quarantine":
        return result
    return Quarantined(result, inputs[0].rejected if len(inputs) == 1 else merge_rejected(inputs[0], inputs[1]))
