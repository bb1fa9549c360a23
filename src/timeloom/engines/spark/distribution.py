"""Rows of two tables sent to the tasks that join them: packed, copied to each slice they touch, shuffled once."""

from dataclasses import dataclass
from functools import cached_property

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from timeloom.engines.admission import VALID
from timeloom.engines.spark.admission import Admitted
from timeloom.engines.spark.boundaries import Slicing
from timeloom.engines.spark.packing import Packing
from timeloom.engines.spark.parcels import BITS, END_HOME, SOLE, START_HOME
from timeloom.engines.spark.pieces import Piece
from timeloom.engines.spark.reach import reach
from timeloom.engines.spark.readers import ShuffledRows
from timeloom.engines.spark.slices import boundaries, number, sample_rank, within

SIDES = {"left": 0, "right": 1}

SCATTERED = "first < last"
"""Tells the rows that go to several slices."""

SLICES = f"CASE WHEN {SCATTERED} THEN sequence(first, last) ELSE array(first) END"
"""The slices of a row; most rows have one, for which an array is cheaper than a sequence."""


@dataclass(frozen=True)
class Sent:
    """A side to be sent to tasks: its rows, and the hash of their keys."""

    admitted: Admitted
    rows: DataFrame
    key: str


@dataclass(frozen=True)
class Distribution:
    """A plan that shuffles the rows of both sides to tasks by time slice and key."""

    left: Sent
    right: Sent
    pieces: tuple[Piece, ...]
    packing: Packing
    slicing: Slicing
    partitions: int

    @property
    def reader(self) -> ShuffledRows:
        """How a task reads its rows."""
        return ShuffledRows(self.partitions)

    def rows(self) -> DataFrame:
        """The shuffled rows of both sides: a ``tag``, and the packed columns."""
        return self._shuffled(self.placed)

    def rows_to_decide(self, side: str) -> DataFrame:
        """The same, but of one side only the rows that are in several tasks."""
        return self._shuffled(self.placed.where(f"side <> {SIDES[side]} OR {SCATTERED}"))

    def undecided(self, side: str) -> DataFrame:
        """The rows of a side that are in several tasks, none of which can tell alone that they match nothing."""
        return self.placed.where(f"side = {SIDES[side]} AND {SCATTERED}")

    @cached_property
    def placed(self) -> DataFrame:
        """The packed rows of both sides with the first and the last slice that each goes to."""
        rows = self._reaching(self.left).unionAll(self._reaching(self.right))
        bounded = rows.join(F.broadcast(boundaries(rows, self.slicing)), F.lit(True), "left")
        numbered = number(bounded, {"first": "low", "last": "high"}, self.slicing.slices)
        if not self.slicing.by_key:
            return numbered
        hot = F.expr("coalesce(array_contains(hot, key), false)")
        sliced = {name: F.expr(f"CASE WHEN hot THEN {name} ELSE 0 END") for name in ("first", "last")}
        return numbered.withColumn("hot", hot).withColumns(sliced)

    def _reaching(self, side: Sent) -> DataFrame:
        """Packed rows with the ticks from ``low`` to ``high`` at which they must be present; invalid rows have none."""
        admitted = side.admitted
        valid = f"{admitted.verdict} = {VALID}"
        ticked = side.rows.select(
            F.expr(f"{SIDES[admitted.side]} AS side"),
            F.expr(f"CAST({side.key} AS BIGINT) AS key"),
            F.expr(f"CASE WHEN {valid} THEN {admitted.columns.start} END AS start"),
            F.expr(f"CASE WHEN {valid} THEN {admitted.columns.end} END AS end"),
            F.expr(f"{sample_rank(admitted, side.key)} AS rank"),
            *self.packing.columns(admitted),
        )
        low, high = reach(admitted.side, self.pieces)
        return ticked.withColumns({"low": F.expr(low), "high": F.expr(high)})

    def _shuffled(self, placed: DataFrame) -> DataFrame:
        count = self.partitions
        copied = placed.withColumn("slice", F.explode(F.expr(SLICES)))
        place = f"pmod(pmod(key, {count}) + slice, {count})"
        tag = F.expr(f"CAST(slice * {BITS} + {self._bits()} AS BIGINT) * {count} + {place} AS tag")
        return copied.select(tag, *self.packing.names).repartitionById(
            count, F.expr(f"CAST(pmod(tag, {count}) AS INT)")
        )

    def _bits(self) -> str:
        driven = {piece.driver.by_end for piece in self.pieces}
        bits = f"side + CASE WHEN {SCATTERED} THEN 0 ELSE {SOLE} END"
        for by_end, name, bit in ((False, "start", START_HOME), (True, "end", END_HOME)):
            if by_end in driven:
                whole = "NOT hot OR " if self.slicing.by_key else ""
                bits += f" + CASE WHEN {whole}{within(name, 'slice')} THEN {bit} ELSE 0 END"
        return bits
