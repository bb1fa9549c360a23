"""Rows of two tables sent to the tasks that join them: packed, copied to each slice they touch, shuffled once."""

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
from timeloom.engines.spark.readers import ShuffledRows
from timeloom.engines.spark.slices import boundaries, number, sample_rank, within

SIDES = {"left": 0, "right": 1}


@dataclass(frozen=True)
class Sent:
    """A side to be sent to tasks: its rows, and the hash of their keys."""

    admitted: Admitted
    rows: DataFrame
    key: Column


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
        return self._shuffled(self.placed())

    def rows_to_decide(self, side: str) -> DataFrame:
        """The same, but of one side only the rows that are in several tasks."""
        return self._shuffled(self.placed().where((F.col("side") != F.lit(SIDES[side])) | _scattered()))

    def undecided(self, side: str) -> DataFrame:
        """The rows of a side that are in several tasks, none of which can tell alone that they match nothing."""
        return self.placed().where((F.col("side") == F.lit(SIDES[side])) & _scattered())

    def _shuffled(self, placed: DataFrame) -> DataFrame:
        copied = placed.withColumn("slice", F.explode(_slices()))
        count = F.lit(self.partitions)
        place = F.pmod(F.pmod(F.col("key"), count) + F.col("slice"), count)
        tag = (F.col("slice") * F.lit(BITS) + self._bits()).cast("long") * count + place
        packed = copied.select(tag.alias("tag"), *self.packing.names)
        return packed.repartitionById(self.partitions, F.pmod(F.col("tag"), count).cast("int"))

    def placed(self) -> DataFrame:
        """The packed rows of both sides with the first and the last slice that each goes to."""
        sides = (self.left, self.right)
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
            F.lit(SIDES[admitted.side]).alias("side"),
            side.key.cast("long").alias("key"),
            *(F.when(valid, tick).alias(name) for name, tick in ticks.items()),
            *columns,
        )
        low, high = reach(F.col("start"), F.col("end"), admitted.side, self.pieces)
        return ticked.withColumns({"low": low, "high": high})

    def _bits(self) -> Column:
        driven = {piece.driver.by_end for piece in self.pieces}
        bits = F.col("side") + F.when(_scattered(), F.lit(0)).otherwise(F.lit(SOLE))
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
    return sample_rank(side.admitted, side.key).alias("rank")


def _scattered() -> Column:
    """Tell the rows that go to several slices."""
    return F.col("first") < F.col("last")


def _slices() -> Column:
    """The slices of a row; most rows have one, for which an array is cheaper than a sequence."""
    several = F.sequence(F.col("first"), F.col("last"))
    return F.when(_scattered(), several).otherwise(F.array(F.col("first")))
