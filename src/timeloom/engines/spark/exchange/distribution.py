"""Rows of two tables sent to the tasks that join them: an exchange of packed rows, by time slice and key."""

from dataclasses import dataclass
from functools import cached_property

from pyspark.sql import DataFrame

from timeloom.engines.spark.cluster.workers import Piped, mapped
from timeloom.engines.spark.columns.arrow_types import may_be_long
from timeloom.engines.spark.columns.packing import Packing
from timeloom.engines.spark.columns.validity import JudgedFrame
from timeloom.engines.spark.exchange.packed_rows import SideLayout
from timeloom.engines.spark.exchange.plan import Exchange, Source
from timeloom.engines.spark.exchange.readers import ShuffledBlocks
from timeloom.engines.spark.exchange.undecided import FirstCopies, undecided_schema
from timeloom.engines.spark.exchange.writing import KEY, RowReader
from timeloom.engines.spark.slicing.slices import Slicing
from timeloom.engines.tables.verdicts import VALID


@dataclass(frozen=True)
class Sent:
    """A side to be sent to tasks: its rows, the hash of their keys, and where its columns stand in a packed row.

    ``packed`` is what one task takes that has all rows, and ``reader`` how tasks read rows that they send on.
    """

    admitted: JudgedFrame
    rows: DataFrame
    packed: DataFrame
    key: str
    layout: SideLayout
    reader: RowReader


@dataclass(frozen=True)
class Distribution:
    """A plan that shuffles the rows of both sides to tasks by time slice and key."""

    left: Sent
    right: Sent
    packing: Packing
    slicing: Slicing

    @property
    def reader(self) -> ShuffledBlocks:
        """How a task reads its rows."""
        return ShuffledBlocks(self.packing.arrow)

    @cached_property
    def exchange(self) -> Exchange:
        """The exchange of both sides; tasks must know which points of a row lie in their slices."""
        sides = self.left, self.right
        own = tuple(tuple(f"p{at}" for at in self.packing.positions(sent.admitted).values()) for sent in sides)
        sources = tuple(map(self._source, sides))
        return Exchange(sources, self.slicing, marked=True, mixed=own if self.slicing.alone else ())

    def rows(self) -> DataFrame | Piped:
        """The rows of both sides, shuffled."""
        return self.exchange.rows()

    def undecided(self, side: str) -> DataFrame | None:
        """The rows of a side that are in several tasks, none of which can tell alone that they match nothing."""
        if self.slicing.slices == 1:
            return None
        sent = self.right if side == "right" else self.left
        schema = undecided_schema(sent.admitted, self.packing)
        task = FirstCopies(self.reader, sent.layout, sent.admitted.policy, tuple(schema.names[2:]))
        return mapped(self.rows(), task, schema)

    def _source(self, sent: Sent) -> Source:
        admitted = sent.admitted
        ticks = admitted.columns.start, admitted.columns.end

        def timed() -> DataFrame:
            return sent.rows.where(f"{admitted.verdict} = {VALID}")

        return Source(self._packed(sent), timed, ticks, sent.key, sent.reader, self._long(sent))

    def _long(self, sent: Sent) -> tuple[str, ...]:
        """The columns of a side whose values may be long."""
        positions = self.packing.positions(sent.admitted).values()
        return tuple(f"p{at}" for at in positions if may_be_long(self.packing.types[at]))

    def _packed(self, sent: Sent) -> DataFrame:
        """A side's rows with the columns that tasks need, and the hashes of their keys if they decide."""
        if self.slicing.alone:
            return sent.packed
        columns = self.packing.own(sent.admitted)
        if self.slicing.by_key:
            columns.append(f"CAST({sent.key} AS BIGINT) AS {KEY}")
        return sent.rows.selectExpr(*columns)
