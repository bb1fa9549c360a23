"""A small side sent to every task whole: the large side is neither shuffled nor copied."""

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from timeloom.engines.admission import VALID
from timeloom.engines.spark.distribution import Sent
from timeloom.engines.spark.packing import Packing
from timeloom.engines.spark.readers import BLOB, StreamedRows, pack_blob

_PARTITION_ROWS = 2**33
"""``monotonically_increasing_id`` numbers the rows of each partition from a multiple of this."""


@dataclass(frozen=True)
class Broadcast:
    """A plan that streams one side past the other, which one row of each partition carries as an Arrow stream."""

    streamed: Sent
    small: Sent
    packing: Packing

    @property
    def reader(self) -> StreamedRows:
        """How a task reads its rows."""
        return StreamedRows(self.streamed.admitted.side == "right")

    def rows(self) -> DataFrame:
        """The streamed rows, packed, with the broadcast side in the first row of each partition.

        Rows are numbered after the join, in the stage that feeds the tasks. The stream is joined inside an array, which
        Spark passes on by reference, so that it is copied once a partition, not once a row.
        """
        small = self.small.rows.select(*self.packing.columns(self.small.admitted)).repartition(1)
        blob = small.mapInArrow(pack_blob, f"{BLOB} array<binary>")
        streamed = self.streamed.rows.select(*self.packing.columns(self.streamed.admitted))
        first = f"CASE WHEN monotonically_increasing_id() % {_PARTITION_ROWS} = 0 THEN get({BLOB}, 0) END"
        return streamed.join(F.broadcast(blob), F.lit(True), "left").withColumn(BLOB, F.expr(first))

    def rows_to_decide(self, side: str) -> DataFrame:
        """The rows of all tasks: any of them may have a partner for a row of the broadcast side."""
        return self.rows()

    def undecided(self, side: str) -> DataFrame | None:
        """The broadcast side, of which no task alone can tell what matches nothing; streamed rows are in one task."""
        if side == self.streamed.admitted.side:
            return None
        admitted = self.small.admitted
        ticks = {"start": admitted.columns.start, "end": admitted.columns.end}
        periods = [F.expr(text).alias(name) for name, text in ticks.items()]
        valid = self.small.rows.where(f"{admitted.verdict} = {VALID}")
        return valid.select(*periods, *self.packing.columns(admitted))
