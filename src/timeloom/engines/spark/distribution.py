"""Rows of two tables sent to the tasks that join them: packed, copied to each slice they touch, shuffled once."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from timeloom.engines.admission import VALID
from timeloom.engines.spark.admission import Admitted
from timeloom.engines.spark.boundaries import Slicing
from timeloom.engines.spark.packing import Packing
from timeloom.engines.spark.parcels import BITS, END_HOME, SOLE, START_HOME
from timeloom.engines.spark.pieces import Piece
from timeloom.engines.spark.reach import reach
from timeloom.engines.spark.slices import boundaries, number, sample_rank, within


@dataclass(frozen=True)
class Sent:
    """A side to be distributed: its rows, the hash of their keys, and which of them may be left at home."""

    admitted: Admitted
    rows: DataFrame
    key: Column


@dataclass(frozen=True)
class Distribution:
    """A plan that sends rows to tasks."""

    pieces: tuple[Piece, ...]
    packing: Packing
    slicing: Slicing
    partitions: int

    def rows(self, sides: Sequence[Sent]) -> DataFrame:
        """The shuffled rows of both sides: a ``tag``, and the packed columns."""
        copied = self.placed(sides).withColumn("slice", F.explode(_slices()))
        count = F.lit(self.partitions)
        place = F.pmod(F.pmod(F.col("key"), count) + F.col("slice"), count)
        tag = (F.col("slice") * F.lit(BITS) + self._bits()).cast("long") * count + place
        packed = copied.select(tag.alias("tag"), *self.packing.names)
        return packed.repartitionById(self.partitions, F.pmod(F.col("tag"), count).cast("int"))

    def placed(self, sides: Sequence[Sent]) -> DataFrame:
        """The packed rows of both sides with the first and the last slice that each goes to."""
        bounds = boundaries(_stacked([self._reaching(side, [_rank(side)]) for side in sides]), self.slicing)
        rows = _stacked([self._reaching(side, self.packing.columns(side.admitted)) for side in sides])
        both = rows.join(F.broadcast(bounds), F.lit(True), "left")
        numbered = number(both, {"first": F.col("low"), "last": F.col("high")}, self.slicing.slices)
        if not self.slicing.by_key:
            return numbered
        numbered = numbered.withColumn("hot", F.coalesce(F.array_contains("hot", F.col("key")), F.lit(False)))
        sliced = {name: F.when(F.col("hot"), F.col(name)).otherwise(F.lit(0)) for name in ("first", "last")}
        return numbered.withColumns(sliced)

    def _reaching(self, side: Sent, columns: list[Column]) -> DataFrame:
        """Rows with the ticks from ``low`` to ``high`` at which they must be present; invalid rows have none."""
        admitted = side.admitted
        valid = admitted.verdict == F.lit(VALID)
        ticks = {"start": admitted.columns.start, "end": admitted.columns.end}
        ticked = side.rows.select(
            F.lit(int(admitted.side == "right")).alias("side"),
            side.key.cast("long").alias("key"),
            *(F.when(valid, tick).alias(name) for name, tick in ticks.items()),
            *columns,
        )
        low, high = reach(F.col("start"), F.col("end"), admitted.side, self.pieces)
        return ticked.withColumns({"low": low, "high": high})

    def _bits(self) -> Column:
        driven = {piece.driver.by_end for piece in self.pieces}
        bits = F.col("side") + F.when(F.col("first") >= F.col("last"), F.lit(SOLE)).otherwise(F.lit(0))
        for by_end, name, bit in ((False, "start", START_HOME), (True, "end", END_HOME)):
            if by_end in driven:
                home = within(F.col(name), F.col("slice"))
                if self.slicing.by_key:
                    home = ~F.col("hot") | home
                bits = bits + F.when(home, F.lit(bit)).otherwise(F.lit(0))
        return bits


def _stacked(parts: list[DataFrame]) -> DataFrame:
    return parts[0].unionAll(parts[1])


def _rank(side: Sent) -> Column:
    return sample_rank(side.admitted.schema, side.admitted.names).alias("rank")


def _slices() -> Column:
    """The slices of a row; most rows have one, for which an array is cheaper than a sequence."""
    one = F.array(F.col("first"))
    return F.when(F.col("first") >= F.col("last"), one).otherwise(F.sequence(F.col("first"), F.col("last")))
