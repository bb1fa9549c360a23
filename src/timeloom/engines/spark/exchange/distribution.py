"""Rows of two tables sent to the tasks that join them: copied to each slice they touch, shuffled once, in parcels."""

from dataclasses import dataclass
from functools import cached_property

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from timeloom.engines.spark.cluster.workers import mapped
from timeloom.engines.spark.columns.packing import Packing
from timeloom.engines.spark.columns.validity import Admitted
from timeloom.engines.spark.exchange.blocks import SideLayout
from timeloom.engines.spark.exchange.readers import ShuffledParcels
from timeloom.engines.spark.exchange.routing import dealt
from timeloom.engines.spark.exchange.writing import KEY, SEALED, Sealing
from timeloom.engines.spark.matching.tasks import FirstCopies
from timeloom.engines.spark.slicing.boundaries import Slicing
from timeloom.engines.spark.slicing.cuts import CutTask
from timeloom.engines.spark.slicing.join_parts import Piece
from timeloom.engines.spark.slicing.slices import boundaries, sampled


@dataclass(frozen=True)
class Sent:
    """A side to be sent to tasks: its rows, the hash of their keys, and where its columns stand in a packed row."""

    admitted: Admitted
    rows: DataFrame
    key: str
    layout: SideLayout


@dataclass(frozen=True)
class Distribution:
    """A plan that shuffles the rows of both sides to tasks by time slice and key."""

    left: Sent
    right: Sent
    pieces: tuple[Piece, ...]
    packing: Packing
    slicing: Slicing

    @property
    def reader(self) -> ShuffledParcels:
        """How a task reads its rows."""
        layouts = self.left.layout, self.right.layout
        return ShuffledParcels(self.packing.arrow, layouts, self.pieces, self.left.admitted.policy)

    def undecided(self, side: str) -> DataFrame | None:
        """The rows of a side that are in several tasks, none of which can tell alone that they match nothing."""
        if self.slicing.slices == 1:
            return None
        sent = self.right if side == "right" else self.left
        places = self.packing.places(sent.admitted).values()
        kinds = [T.StructField(f"p{place}", self.packing.types[place]) for place in places]
        ticks = [T.StructField(name, T.LongType()) for name in ("start", "end")]
        task = FirstCopies(self.reader, sent.layout, sent.admitted.policy, tuple(kind.name for kind in kinds))
        return mapped(self.rows(), task, T.StructType([*ticks, *kinds]))

    @cached_property
    def cuts(self) -> Column:
        """Where time is cut, as the value of a query inside the plan."""
        samples = [sampled(sent.admitted, sent.rows, sent.key, self.slicing.share) for sent in (self.left, self.right)]
        return boundaries(samples[0].unionAll(samples[1]), CutTask(self.slicing, self.pieces)).scalar()

    def rows(self) -> DataFrame:
        """The rows of both sides, shuffled in parcels. Spark shuffles them once, however often a plan asks for them."""
        left, right = self.sealed(self.left), self.sealed(self.right)
        return dealt(left.unionAll(right), self.cuts, self.slicing).repartitionById(self.slicing.slices, F.col("place"))

    def sealed(self, sent: Sent) -> DataFrame:
        """The parcels of a side."""
        homes = self.slicing.slices if self.slicing.by_key else 1
        task = Sealing(sent.layout, self.pieces, sent.admitted.policy, homes, self.slicing.slices)
        parcels = mapped(self.packed(sent), task, SEALED)
        return parcels.withColumn("is_right", F.lit(sent.admitted.side == "right"))

    def packed(self, sent: Sent) -> DataFrame:
        """A side's rows with the columns that tasks need, and the hashes of their keys if they decide."""
        columns = self.packing.own(sent.admitted)
        if self.slicing.by_key:
            columns.append(F.expr(f"CAST({sent.key} AS BIGINT) AS {KEY}"))
        return sent.rows.select(*columns)
