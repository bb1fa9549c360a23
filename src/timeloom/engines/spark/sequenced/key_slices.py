"""Large keys cut by time, for verbs that give each left row right rows before or after it.

A left row belongs to the slice of its instant, and so does a right row. What a left row looks for may lie in another
slice; then it is the last row of that key before the slice, or the first one after it. So each slice gets these, too:
one row for each key and direction, whatever the size of the slices in between. Where more is looked for than one row,
the right rows of large keys are in all slices: left rows do not depend on each other.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from timeloom.engines.spark.cluster.pipelines import in_pipeline
from timeloom.engines.spark.cluster.readings import read_alike
from timeloom.engines.spark.columns.keys import key_hashes
from timeloom.engines.spark.columns.validity import JudgedFrame
from timeloom.engines.spark.sequenced.whole_groups import ordering
from timeloom.engines.spark.slicing.slices import GROUP_ROWS, Slicing
from timeloom.engines.tables.verdicts import VALID
from timeloom.model.naming import Keys

SLICE = "slice"
SAMPLED = 16
"""One of so many instants decides where time is cut."""


@dataclass(frozen=True)
class KeySlices:
    """Two sides whose large keys are cut into slices of time; ``hot`` is the number of rows that makes a key large."""

    sides: tuple[JudgedFrame, JudgedFrame]
    keys: Keys
    slices: int
    hot: int = 2 * GROUP_ROWS

    @classmethod
    def of(cls, sides: tuple[JudgedFrame, JudgedFrame], keys: Keys, slices: int | None = None) -> "KeySlices | None":
        """How two sides are cut; None if they are not: they are small, may change, or nobody may look at them."""
        if in_pipeline():
            return None
        frames = [side.all_rows for side in sides]
        slicing = Slicing.of(frames[0].sparkSession, frames, slices, grouped=bool(keys))
        if slicing.slices == 1 or not read_alike(sides):
            return None
        found = cls(sides, keys, slicing.slices)
        return found if slices is None else replace(found, hot=0)

    @cached_property
    def _hashes(self) -> tuple[str, str]:
        return key_hashes(*self.sides, self.keys) if self.keys else ("0L", "0L")

    @cached_property
    def _bounds(self) -> Column:
        """Where time is cut: quantiles of some instants, as the value of a query inside the plan."""
        shares = F.array(*(F.lit(number / self.slices) for number in range(1, self.slices)))
        ticks = self._both("tick", self._tick)
        some = ticks.where(f"pmod(xxhash64(tick), {SAMPLED}) = 0 OR {self.hot} = 0")
        return some.agg(F.percentile_approx("tick", shares, 1000)).scalar()

    @cached_property
    def _large(self) -> Column:
        """The hashes of the keys that are cut."""
        counted = self._both("hash", lambda at: self._hashes[at]).groupBy("hash").count()
        return counted.where(f"count > {self.hot}").agg(F.collect_list("hash")).scalar()

    def _both(self, name: str, text: Callable[[int], str]) -> DataFrame:
        left, right = (side.rows.select(F.expr(text(at)).alias(name)) for at, side in enumerate(self.sides))
        return left.unionAll(right)

    def _tick(self, at: int) -> str:
        side = self.sides[at]
        return f"CASE WHEN {side.verdict} = {VALID} THEN {side.columns.start} END"

    def placed(self, at: int) -> DataFrame:
        """The rows of a side with their slices; those of keys that are not cut, and invalid ones, are in slice 0."""
        rows = self.sides[at].rows.withColumns({"tick": F.expr(self._tick(at)), "bounds": self._bounds})
        cut = F.expr("size(filter(coalesce(bounds, array()), bound -> bound <= tick))")
        if self.keys:
            rows = rows.withColumns({"hash": F.expr(self._hashes[at]), "large": self._large})
            cut = F.when(F.expr("array_contains(large, hash)"), cut).otherwise(F.lit(0))
        given = self.sides[at].rows.columns
        return rows.select(*given, F.when(F.col("tick").isNull(), F.lit(0)).otherwise(cut).alias(SLICE), "tick")

    def with_neighbours(self, direction: str) -> DataFrame:
        """The right rows with their slices, and again in each slice from which they are the next in a direction."""
        rows = self.placed(1)
        found = rows.drop("tick")
        if direction != "forward":
            found = found.unionAll(self._carried(rows, later=True))
        if direction != "backward":
            found = found.unionAll(self._carried(rows, later=False))
        return found

    def in_all_slices(self) -> DataFrame:
        """The right rows; those of keys that are cut once for each slice."""
        rows, last = self.sides[1].rows, self.slices - 1
        copies = F.expr(f"sequence(0, {last})")
        if self.keys:
            large = F.array_contains(self._large, F.expr(self._hashes[1]))
            copies = F.when(large, copies).otherwise(F.array(F.lit(0)))
        valid = F.expr(f"{self.sides[1].verdict} = {VALID}")
        return rows.withColumn(SLICE, F.explode(F.when(valid, copies).otherwise(F.array(F.lit(0)))))

    def _carried(self, rows: DataFrame, *, later: bool) -> DataFrame:
        """The outermost row of each key and slice, in all slices up to the next one that has rows of the key."""
        side = self.sides[1]
        keys = [F.col(side.column(name)) for name in self.keys.right]
        others = [F.col(side.column(name)).desc_nulls_first() for name in ordering(side.schema)]
        first = F.col("tick").desc() if later else F.col("tick").asc()
        ranked = rows.where("tick IS NOT NULL").withColumn(
            "rank", F.row_number().over(Window.partitionBy(*keys, SLICE).orderBy(first, *others))
        )
        ends = ranked.where("rank = 1")
        by_slice = Window.partitionBy(*keys).orderBy(SLICE if later else F.col(SLICE).desc())
        reached = F.coalesce(F.lead(SLICE).over(by_slice), F.lit(self.slices - 1 if later else 0))
        known = ends.withColumns({"reached": reached, "own": F.col(SLICE)})
        span = "sequence(own + 1, reached)" if later else "sequence(reached, own - 1)"
        passed = known.where("own < reached" if later else "own > reached")
        return passed.withColumn(SLICE, F.explode(F.expr(span))).select(*self.sides[1].rows.columns, SLICE)
