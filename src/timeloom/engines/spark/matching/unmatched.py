"""Rows that several tasks have: whether they match anything is known only when all tasks are heard.

A row matches or not by its period, its key and what a condition reads of it. So tasks report which of these have
matched, and the rows are compared with them: no row needs an identity, and a task that runs twice does no harm.

Pairs are not looked for again. One more pass over what was shuffled, for both sides together, looks at rows with copies
in several tasks only, and counts their partners without listing any. Each such row is reported by the task that has its
first copy; the other tasks report the periods and keys that match there, once each.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from timeloom.engines.spark.cluster.workers import mapped
from timeloom.engines.spark.exchange.packed_rows import JoinRows, PackedSide
from timeloom.engines.spark.matching.inputs import JoinInputs
from timeloom.engines.spark.matching.tasks import Matcher, batch_rows, one_of_each
from timeloom.engines.tables.arrays import from_numpy
from timeloom.engines.tables.gather import NO_ROW, positions
from timeloom.kernels.slicing.copies import FIRST, SOLE
from timeloom.model.naming import OutputColumn

REPORT = {"is_right": T.BooleanType(), "start": T.LongType(), "end": T.LongType()}
"""What a report is about: the side and the period, and then the key."""

FATE = {"has_row": T.BooleanType(), "matched": T.BooleanType()}
"""Whether a report carries a row, and whether its period and key match something in the task."""


@dataclass(frozen=True)
class FateTask:
    """Tells of the rows of some sides that are in several tasks which have a partner here. ``columns`` are carried.

    ``read`` are the columns of either side that a condition reads.

    Unless rows that match are kept, those that do so here are not told of: they are decided.
    """

    matcher: Matcher
    sides: tuple[str, ...]
    columns: tuple[str, ...]
    keep_matched: bool
    read: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Report the rows of one partition."""
        for held in self.matcher.held(batches):
            for side in self.sides:
                yield from self._reports(held, side)

    def _reports(self, held: JoinRows, side: str) -> Iterator[pa.RecordBatch]:
        whole = held.right if side == "right" else held.left
        several = whole.where((whole.bits & SOLE) == 0)
        if not several.rows.size:
            return
        matched = self.matcher.exists(held, side, several)
        mine, first = matched[several.rows], (several.bits & FIRST) != 0
        kept = several.where(first if self.keep_matched else first & ~mine)
        yield from self._written(held, side, kept, matched)
        others = several.where(mine & ~first)
        yield from self._written(held, side, others if any(self.read) else one_of_each(others), None)

    def _written(
        self, held: JoinRows, side: str, rows: PackedSide, matched: NDArray[np.bool_] | None
    ) -> Iterator[pa.RecordBatch]:
        """Reports with their rows, or of periods and keys that have matched."""
        layout = self.matcher.right if side == "right" else self.matcher.left
        count, at = rows.rows.size, from_numpy(rows.rows)
        carried = at if matched is not None else positions(np.full(count, NO_ROW, np.int32))
        arrays = [
            from_numpy(np.full(count, side == "right")),
            from_numpy(rows.starts),
            from_numpy(rows.ends),
            *(held.source.take(name, at).combine_chunks() for name in layout.keys),
            *(held.source.take(name, rows).combine_chunks() for name, rows in self._read_at(side, at)),
            from_numpy(np.full(count, matched is not None)),
            from_numpy(np.ones(count, np.bool_) if matched is None else matched[rows.rows]),
            *(held.source.take(name, carried).combine_chunks() for name in self.columns),
        ]
        names = [*REPORT, *key_names(len(layout.keys)), *read_names(self.read), *FATE, *self.columns]
        yield from pa.table(arrays, names).to_batches(max_chunksize=batch_rows(held))

    def _read_at(self, side: str, at: pa.Array) -> Iterator[tuple[str, pa.Array]]:
        """The columns that a condition reads, and the rows to take them from: those of the other side are null."""
        absent = positions(np.full(len(at), NO_ROW, np.int32))
        for own, names in zip(("left", "right"), self.read, strict=True):
            yield from ((name, at if own == side else absent) for name in names)


@dataclass(frozen=True)
class Undecided:
    """The rows of a result that no task can decide alone."""

    inputs: JoinInputs
    columns: tuple[OutputColumn, ...]
    keep_matched: bool

    def rows(self, schema: T.StructType) -> DataFrame:
        """Those of them that have matched, or those that have not, as rows of the result."""
        found = self._reported()
        keys = key_names(len(self.inputs.sides.keys.left))
        equal = Window.partitionBy(*REPORT, *keys, *read_names(self._read))
        known = found.withColumn("matched", F.max("matched").over(equal))
        kept = known.where("has_row AND matched" if self.keep_matched else "has_row AND NOT matched")
        values = [self._value(column).cast(schema[column.name].dataType) for column in self.columns]
        return kept.select(*(value.alias(column.name) for value, column in zip(values, self.columns, strict=True)))

    def _reported(self) -> DataFrame:
        """What all tasks report. The rows of a side that was broadcast are in every task, so they are taken from it."""
        inputs = self.inputs
        carried = tuple(f"p{position}" for position in sorted(self._carried))
        task = FateTask(inputs.matcher(), inputs.undecided, carried, self.keep_matched, self._read)
        found = mapped(inputs.plan.rows(), task, self._schema(carried))
        if inputs.strategy.name != "broadcast":
            return found
        return found.unionAll(self._broadcast_rows(inputs.strategy.small, found.schema))

    def _broadcast_rows(self, side: str, schema: T.StructType) -> DataFrame:
        rows = self.inputs.plan.undecided(side)
        assert rows is not None
        judged = self.inputs.sides.right if side == "right" else self.inputs.sides.left
        own = self.inputs.packing.positions(judged)
        known = {"is_right": F.lit(side == "right"), "has_row": F.lit(True), "matched": F.lit(False)}
        known |= {name: F.col(name) for name in ("start", "end", *(f"p{position}" for position in own.values()))}
        keys = self.inputs.sides.key_names(judged)
        known |= {name: F.col(f"p{own[key]}") for name, key in zip(key_names(len(keys)), keys, strict=True)}
        which = ("left", "right").index(side)
        known |= {
            number: F.col(name) for number, name in zip(_numbered(self._read)[which], self._read[which], strict=True)
        }
        absent = F.lit(None)
        return rows.select(*(known.get(field.name, absent).cast(field.dataType).alias(field.name) for field in schema))

    def _schema(self, carried: Sequence[str]) -> T.StructType:
        sides, packing = self.inputs.sides, self.inputs.packing
        kinds = [sides.left.schema[key].dataType for key in sides.keys.left]
        fields = REPORT | dict(zip(key_names(len(kinds)), kinds, strict=True))
        read = [packing.types[int(name[1:])] for names in self._read for name in names]
        fields |= dict(zip(read_names(self._read), read, strict=True)) | FATE
        fields |= {name: packing.types[int(name[1:])] for name in carried}
        return T.StructType([T.StructField(name, kind) for name, kind in fields.items()])

    @property
    def _read(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What a condition reads of either side, besides keys: these are known."""
        columns = [column for _, column in self.inputs.residual.columns]
        left = {f"p{self.inputs.packing.left[column.left]}" for column in columns if column.origin == "left"}
        right = {f"p{self.inputs.packing.right[column.right]}" for column in columns if column.origin == "right"}
        return tuple(sorted(left)), tuple(sorted(right))

    @property
    def _carried(self) -> set[int]:
        """The positions of the columns that results need."""
        found = [self._position(column, side) for column in self.columns for side in self.inputs.undecided]
        return {position for position in found if position is not None}

    def _position(self, column: OutputColumn, side: str) -> int | None:
        """Where a side has a column of the result; nowhere, if it is the other side's, or tells of both."""
        if side == "left":
            return self.inputs.packing.left[column.left] if column.origin in ("left", "key") else None
        return self.inputs.packing.right[column.right] if column.origin in ("right", "key") else None

    def _value(self, column: OutputColumn) -> Column:
        left, right = (
            F.lit(None) if position is None else F.col(f"p{position}")
            for position in (
                self._position(column, side) if side in self.inputs.undecided else None for side in ("left", "right")
            )
        )
        return F.when(F.col("is_right"), right).otherwise(left)


def key_names(count: int) -> list[str]:
    """The names of key columns in reports."""
    return [f"k{number}" for number in range(count)]


def _numbered(read: tuple[tuple[str, ...], tuple[str, ...]]) -> tuple[list[str], list[str]]:
    """The names in reports of columns that a condition reads, for the left and the right side."""
    return [f"l{number}" for number in range(len(read[0]))], [f"r{number}" for number in range(len(read[1]))]


def read_names(read: tuple[tuple[str, ...], tuple[str, ...]]) -> list[str]:
    """The names in reports of columns that a condition reads."""
    left, right = _numbered(read)
    return [*left, *right]
