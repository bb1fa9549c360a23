"""A small side sent to every task whole: the large side is neither shuffled nor copied."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from timeloom.engines.spark.cluster.workers import mapped
from timeloom.engines.spark.columns.packing import Packing
from timeloom.engines.spark.exchange.distribution import Sent
from timeloom.engines.spark.exchange.prefilter import SMALL, STREAM, SmallSide
from timeloom.engines.spark.exchange.readers import StreamedRows
from timeloom.engines.spark.exchange.undecided import ValidRows, undecided_schema
from timeloom.engines.spark.slicing.join_parts import JoinPart
from timeloom.engines.spark.slicing.range_columns import TOUCHED, tick_range_columns
from timeloom.engines.spark.slicing.sample import in_first_row
from timeloom.engines.tables.verdicts import VALID


@dataclass(frozen=True)
class Broadcast:
    """A plan that streams one side past the other, which one row of each partition carries as an Arrow stream.

    Unless they are kept anyway, streamed rows that cannot match anything are left out before they reach a task. If the
    small side is known to be small, one task reads it; otherwise many do, and a shuffle brings its rows together.

    If unmatched rows of the small side are kept (``shuffled`` says into how many partitions), a plan asks for the rows
    of both sides more than once. They are shuffled then, which Spark does once, since an input that is read again may
    give other rows. If the small side alone is asked for more than once (``twice``), it alone is shuffled.
    """

    streamed: Sent
    small: Sent
    parts: tuple[JoinPart, ...]
    packing: Packing
    keeps_streamed: bool
    known_small: bool
    shuffled: int | None = None
    twice: bool = False

    @property
    def reader(self) -> StreamedRows:
        """How a task reads its rows."""
        return StreamedRows(self.streamed.admitted.side == "right", self.packing.arrow)

    @property
    def gathered(self) -> DataFrame:
        """The rows of the small side, in one partition."""
        rows = self.small.rows.selectExpr(*self.packing.own(self.small.admitted))
        once = self.shuffled is None and not self.twice
        return rows.coalesce(1) if self.known_small and once else rows.repartition(1)

    @cached_property
    def side(self) -> DataFrame:
        """One row with the small side and its prefilter, also if there are no rows."""
        task = SmallSide(self.small.layout, self.parts, self.small.admitted.policy)
        schema = ", ".join(f"{name} {kind}" for name, kind in SMALL.items())
        made = mapped(self.gathered, task, schema, kernels=False)
        return sent_to_all(made, SMALL)

    def rows(self) -> DataFrame:
        """The streamed rows with the small side in the first row of each partition.

        Rows are numbered after the join, in the stage that feeds the tasks. The stream is joined inside an array, which
        Spark passes on by reference, so that it is copied once a partition, not once a row.
        """
        columns = self.packing.own(self.streamed.admitted)
        stream = f"{in_first_row('get(stream, 0)')} AS {STREAM}"
        if self.shuffled is not None:
            rows = self.streamed.rows.selectExpr(*columns).repartition(self.shuffled)
            names = [f"p{at}" for at in self.packing.positions(self.streamed.admitted).values()]
            return rows.join(self.side, F.lit(True)).selectExpr(*names, stream)
        joined = self.streamed.rows.join(self.side, F.lit(True)) if self.keeps_streamed else self._prefiltered()
        return joined.selectExpr(*columns, stream)

    def _prefiltered(self) -> DataFrame:
        """The streamed rows that may match something, and those that are invalid, with the small side."""
        verdict = self.streamed.admitted.verdict
        return self.present.join(self.side, F.expr(f"{verdict} <> {VALID} OR size(before) = 0 OR {TOUCHED}"))

    @property
    def present(self) -> DataFrame:
        """The streamed rows with their ticks, and the first and the last tick that they must be present at."""
        admitted = self.streamed.admitted
        ticked = self.streamed.rows.selectExpr(
            "*", f"{admitted.columns.start} AS start", f"{admitted.columns.end} AS end"
        )
        low, high = tick_range_columns(admitted.side, self.parts)
        return ticked.selectExpr("*", f"{low} AS low", f"{high} AS high")

    def undecided(self, side: str) -> DataFrame | None:
        """The broadcast side, of which no task alone can tell what matches nothing; streamed rows are in one task."""
        if side == self.streamed.admitted.side:
            return None
        schema = undecided_schema(self.small.admitted, self.packing)
        task = ValidRows(self.small.layout, self.small.admitted.policy, tuple(schema.names[2:]))
        return mapped(self.gathered, task, schema)


def sent_to_all(made: DataFrame, names: Iterable[str]) -> DataFrame:
    """The one row of a DataFrame with these columns, which Spark sends to every task; nulls if there is none."""
    return F.broadcast(made.selectExpr(*(f"first({name}) AS {name}" for name in names)))
