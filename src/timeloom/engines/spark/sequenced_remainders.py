"""What is left of one table's periods without another's, on Spark.

A row is sent whole to each slice that it touches, and a remainder is found in the slice in which it begins. A slice
knows all rows of the other table that touch it, even those that end where it begins, so it can tell where a remainder
begins; and it knows the first start of the other table in each later slice, so it can tell where one ends that leaves
the slice. Remainders are therefore whole from the beginning, and rows need no identity.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema

from timeloom.engines.admission import VALID
from timeloom.engines.keys import shared_keys
from timeloom.engines.local.gather import Source
from timeloom.engines.matching import Side
from timeloom.engines.period_writer import PeriodWriter
from timeloom.engines.sequenced import TwoSides
from timeloom.engines.spark.admission import Admitted
from timeloom.engines.spark.keys import key_hashes, no_key
from timeloom.engines.spark.packing import Packing
from timeloom.engines.spark.sequenced_faults import fault, judged
from timeloom.engines.spark.sequenced_slices import GroupSlicing
from timeloom.engines.spark.slices import sample_rank
from timeloom.engines.spark.ticks import literal
from timeloom.engines.spark.workers import mapped
from timeloom.kernels.sequenced import Pieces
from timeloom.model.naming import Keys
from timeloom.model.period import Period
from timeloom.model.policy import Policy
from timeloom.model.ticks import FOREVER

OTHER, HOME, BITS = 1, 2, 4
"""Bits of a row: whether it is of the other table, and whether it starts in this slice."""

NUMBERS = ("tag", "start", "end", "until")

BATCH_ROWS = 1 << 18


@dataclass(frozen=True)
class Remainders:
    """The plan that sends the rows of both tables to tasks; of ``other`` only the keys are packed."""

    verb: str
    mine: Admitted
    other: Admitted
    keys: Keys
    packing: Packing
    slicing: GroupSlicing
    algorithm: str = "auto"

    @property
    def _sides(self) -> tuple[Admitted, Admitted]:
        return (self.mine, self.other) if self.mine.side == "left" else (self.other, self.mine)

    def _key_places(self, side: Admitted) -> list[str]:
        names, places = (self.keys.left, self.packing.left)
        if side.side == "right":
            names, places = self.keys.right, self.packing.right
        return [f"p{places[name]}" for name in names]

    def result(self, columns: "tuple[Output, ...]", schema: T.StructType, writer: PeriodWriter) -> DataFrame:
        """The remainders, with these columns."""
        task = RemainderTask(
            self.verb,
            tuple((side.side, side.period) for side in (self.mine, self.other)),
            self.mine.policy,
            tuple(tuple(self._key_places(side)) for side in (self.mine, self.other)),
            self.slicing.partitions,
            self.algorithm,
            columns,
            schema,
            writer,
        )
        return mapped(self._sent(), task, schema)

    def _sent(self) -> DataFrame:
        ranked = [self._ticked(side, [F.expr(f"{self._rank(side)} AS rank")]) for side in (self.mine, self.other)]
        packed = [self._ticked(side, self._packed(side)) for side in (self.mine, self.other)]
        placed = self.slicing.placed(packed[0].unionAll(packed[1]), ranked[0].unionAll(ranked[1]))
        if self.slicing.slices > 1:
            placed = placed.unionAll(self._first_starts(placed))
        count = self.slicing.partitions
        number = f"CASE WHEN bounds IS NULL THEN 0 ELSE slice + 1 END * {BITS}"
        bits = f"other * {OTHER} + IF(slice = first, {HOME}, 0)"
        place = f"pmod(pmod(key, {count}) + slice, {count})"
        cut = self.slicing.copied(placed).selectExpr(
            f"CAST({number} + {bits} AS BIGINT) * {count} + {place} AS tag",
            "CASE WHEN other = 1 OR slice = first THEN start ELSE get(bounds, slice - 1) - 1 END AS start",
            "end",
            f"coalesce(get(bounds, slice), {literal(FOREVER)}) AS until",
            *(["fault"] if self._judging else []),
            *self.packing.names,
        )
        return cut.repartitionById(count, F.expr(f"CAST(pmod(tag, {count}) AS INT)"))

    @property
    def _judging(self) -> bool:
        return self.mine.policy.judges

    def _packed(self, side: Admitted) -> list[Column]:
        faults = [F.expr(f"{fault(side)} AS fault")] if self._judging else []
        return [*faults, *self.packing.columns(side)]

    def _hash(self, side: Admitted) -> str:
        if not self.keys:
            return "0L"
        left, right = key_hashes(*self._sides, self.keys)
        return left if side.side == "left" else right

    def _rank(self, side: Admitted) -> str:
        return sample_rank(side, self._hash(side))

    def _ticked(self, side: Admitted, columns: list[Column]) -> DataFrame:
        """Rows with key and ticks, and the ticks from ``low`` to ``high`` at which they must be present."""
        rows, is_other = side.rows, side is self.other
        if is_other and self.keys:
            names = self.keys.right if side.side == "right" else self.keys.left
            rows = rows.where(f"NOT {no_key(side, names)} OR {side.verdict} <> {VALID}")
        valid = f"{side.verdict} = {VALID}"
        ticked = rows.select(
            F.lit(int(is_other)).alias("other"),
            F.expr(f"CAST({self._hash(side)} AS BIGINT) AS key"),
            F.expr(f"CASE WHEN {valid} THEN {side.columns.start} END AS start"),
            F.expr(f"CASE WHEN {valid} THEN {side.columns.end} END AS end"),
            *columns,
        )
        return ticked.withColumns({"low": F.col("start"), "high": F.expr("end" if is_other else "end - 1")})

    def _first_starts(self, placed: DataFrame) -> DataFrame:
        """For each slice but the first, the first instant of the other table in it, sent to all slices before it."""
        keys = self._key_places(self.other)
        later = placed.where("other = 1 AND bounds IS NOT NULL AND first > 0").groupBy("key", *keys, "first")
        found = later.agg(F.min("start").alias("start"), F.first("bounds").alias("bounds"))
        known = {
            "other": F.lit(1),
            "end": F.expr("start + 1"),
            "low": F.col("start"),
            "high": F.col("start"),
            "last": F.expr("first - 1"),
            "first": F.lit(0),
        }
        moved = found.withColumns({name: known[name] for name in ("other", "end", "low", "high", "last")})
        moved = moved.withColumn("first", known["first"])
        kinds = {f"p{at}": kind for at, kind in enumerate(self.packing.types)} | {"fault": T.StringType()}
        missing = [name for name in placed.columns if name not in moved.columns]
        moved = moved.withColumns({name: F.lit(None).cast(kinds[name]) for name in missing})
        return moved.select(*placed.columns)


@dataclass(frozen=True)
class Output:
    """A column of the result: a packed column, an endpoint of the remainder, or (``place`` is empty) null."""

    name: str
    place: str


@dataclass(frozen=True)
class RemainderTask:
    """Finds the remainders that begin in the slices of one partition."""

    verb: str
    sides: tuple[tuple[str, Period], ...]
    policy: Policy
    keys: tuple[tuple[str, ...], ...]
    partitions: int
    algorithm: str
    columns: tuple[Output, ...]
    schema: T.StructType
    writer: PeriodWriter

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Find the remainders of one partition."""
        received = [batch for batch in batches if batch.num_rows]
        if not received:
            return
        mine, other = self._split(pa.Table.from_batches(received))
        pieces = self._begun_here(mine, self._sides(mine, other).alone(self.algorithm))
        source = Source(mine)
        for first in range(0, pieces.rows.size, BATCH_ROWS):
            part = slice(first, first + BATCH_ROWS)
            yield self._written(source, Pieces(pieces.rows[part], pieces.starts[part], pieces.ends[part]))

    def _split(self, table: pa.Table) -> tuple[pa.Table, pa.Table]:
        is_other = (_numbers(table, "tag") // self.partitions & OTHER) != 0
        parts = [table.filter(pa.array(chosen)) for chosen in (~is_other, is_other)]
        if "fault" in table.column_names:
            parts = [
                judged(part, "fault", period, side, self.policy, self.verb)
                for part, (side, period) in zip(parts, self.sides, strict=True)
            ]
        return parts[0], parts[1]

    def _sides(self, mine: pa.Table, other: pa.Table) -> TwoSides:
        """Both sides; the slice is part of the key."""
        tables = []
        for table, places in zip((mine, other), self.keys, strict=True):
            slices = pa.array(_numbers(table, "tag") // self.partitions // BITS)
            tables.append(
                pa.table([*(table[place] for place in places), slices], names=[*map(str, range(len(places) + 1))])
            )
        names = tables[0].column_names
        *ids, count = shared_keys(tables[0], tables[1], names, names)
        periods = [(_numbers(table, "start"), _numbers(table, "end")) for table in (mine, other)]
        left, right = (Side(*period, key) for period, key in zip(periods, ids, strict=True))
        return TwoSides(left, right, count, 1)

    def _begun_here(self, mine: pa.Table, pieces: Pieces) -> Pieces:
        """Leave out what began in an earlier slice, where the row was uncovered already, or begins in a later one."""
        rows = pieces.rows
        home = (_numbers(mine, "tag") // self.partitions & HOME) != 0
        begun = home[rows] | (pieces.starts > _numbers(mine, "start")[rows])
        kept = begun & (pieces.starts < _numbers(mine, "until")[rows])
        return Pieces(rows[kept], pieces.starts[kept], pieces.ends[kept])

    def _written(self, source: Source, pieces: Pieces) -> pa.RecordBatch:
        target = to_arrow_schema(self.schema, timezone="UTC")
        made = {"start": self.writer.starts, "end": self.writer.ends}
        at, arrays = pa.array(pieces.rows), []
        for column, kind in zip(self.columns, target.types, strict=True):
            if not column.place:
                arrays.append(pa.nulls(len(at), kind))
            elif column.place in made:
                ticks = pieces.starts if column.place == "start" else pieces.ends
                arrays.append(made[column.place](ticks).cast(kind))
            else:
                arrays.append(source.take(column.place, at).combine_chunks().cast(kind))
        if not arrays:
            return pa.RecordBatch.from_struct_array(pa.array([{}] * len(at), pa.struct([])))
        return pa.RecordBatch.from_arrays(arrays, schema=target)


def _numbers(table: pa.Table, name: str) -> NDArray[np.int64]:
    return np.asarray(table[name].combine_chunks())
