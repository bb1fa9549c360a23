"""Two tables on their way to the tasks that match their rows: judged, packed, and brought together by a strategy.

A join, a count and a sequenced join have one of these each. It knows nothing of results: which columns tasks need, and
of which sides it must be known what has no partner, are told to it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

from pyspark.sql import DataFrame, SparkSession

from timeloom.engines.spark.cluster.sizes import Estimate, Spread, all_within, estimate
from timeloom.engines.spark.cluster.strategy import Strategy, broadcast_threshold, choose_strategy
from timeloom.engines.spark.columns.keys import aligned, key_hashes, no_key
from timeloom.engines.spark.columns.packing import Packing
from timeloom.engines.spark.columns.periods import period_writer
from timeloom.engines.spark.columns.validity import JudgedFrame, judge_frame
from timeloom.engines.spark.exchange.blocks import CHUNK_BYTES
from timeloom.engines.spark.exchange.broadcast import Broadcast
from timeloom.engines.spark.exchange.distribution import Distribution, Sent
from timeloom.engines.spark.exchange.forecast import row_bytes
from timeloom.engines.spark.exchange.packed_rows import SideLayout, SideReader
from timeloom.engines.spark.matching import index_probe
from timeloom.engines.spark.matching.pair_columns import PairColumns
from timeloom.engines.spark.matching.residual import NOTHING, Residual
from timeloom.engines.spark.matching.tasks import Matcher
from timeloom.engines.spark.slicing.boundaries import sampled_share
from timeloom.engines.spark.slicing.join_parts import JoinPart, cover
from timeloom.engines.spark.slicing.slices import AGREED_BYTES, AGREED_TASKS, Slicing, agreeable
from timeloom.engines.spark.slicing.tick_ranges import PartRange
from timeloom.engines.tables.axes import same_axis
from timeloom.engines.tables.period_writer import PeriodWriter
from timeloom.model.naming import Keys
from timeloom.model.period import Period
from timeloom.model.policy import Policy
from timeloom.model.relation import Relation
from timeloom.model.ticks import Axis

ALONE_BYTES = 1 << 20
"""Two sides that have no more bytes together, and are merely read, are taken by one task whole."""


ALONE = f"both sides have no more than {ALONE_BYTES:,} bytes together, so one task reads and takes them"
"""Why there is one task."""


class Asked(Protocol):
    """What every request about two tables says of them."""

    @property
    def keys(self) -> Keys:
        """The columns that must be equal."""

    @property
    def left_period(self) -> Period:
        """The period of the left table."""

    @property
    def right_period(self) -> Period:
        """The period of the right table."""

    @property
    def policy(self) -> Policy:
        """What becomes of invalid rows."""


@dataclass(frozen=True)
class Sides:
    """Two tables whose rows have verdicts, on one axis of time, with their keys in common types."""

    left: JudgedFrame
    right: JudgedFrame
    keys: Keys
    axis: Axis

    @classmethod
    def of(cls, left: DataFrame, right: DataFrame, request: Asked) -> "Sides":
        """Judge both tables; each is asked for its schema once."""
        first, second = aligned(
            judge_frame(left, request.left_period, "left", request.policy),
            judge_frame(right, request.right_period, "right", request.policy),
            request.keys,
        )
        return cls(first, second, request.keys, same_axis(first.columns.kind.type, second.columns.kind.type))

    @property
    def both(self) -> tuple[JudgedFrame, JudgedFrame]:
        """Left and right."""
        return self.left, self.right

    @property
    def policy(self) -> Policy:
        """What becomes of invalid rows, of either side."""
        return self.left.policy

    def key_names(self, side: JudgedFrame) -> tuple[str, ...]:
        """The key columns of a side."""
        return self.keys.right if side.side == "right" else self.keys.left


@dataclass(frozen=True)
class PackedSides:
    """Two tables in one row format; ``columns`` are those of each side that tasks need besides periods and keys."""

    sides: Sides
    columns: tuple[Sequence[str], Sequence[str]]

    @property
    def spark(self) -> SparkSession:
        """The session of the tables."""
        return self.sides.left.all_rows.sparkSession

    @cached_property
    def packing(self) -> Packing:
        """Where the columns that tasks need stand in a packed row."""
        left, right = (
            [*side.period.columns, *self.sides.key_names(side), *columns]
            for side, columns in zip(self.sides.both, self.columns, strict=True)
        )
        return Packing.of(self.sides.left.schema, self.sides.right.schema, (left, right))

    @cached_property
    def packed(self) -> dict[str, DataFrame]:
        """The rows of each side with the columns that tasks need, named by their positions."""
        return {side.side: self.packing.packed(side) for side in self.sides.both}

    @cached_property
    def estimates(self) -> dict[str, Estimate]:
        """What Spark knows of each side's columns, without running anything."""
        return {side: estimate(rows) for side, rows in self.packed.items()}

    @property
    def sizes(self) -> "dict[str, int | None]":
        """What Spark estimates each side's columns to take."""
        return {side: found.size for side, found in self.estimates.items()}

    @cached_property
    def spread(self) -> Spread:
        """Into how many partitions rows are shuffled."""
        return Spread.of(self.spark, list(self.sizes.values()))

    def layout(self, side: JudgedFrame) -> SideLayout:
        """Where the columns of a side stand in a packed row."""
        at = {name: f"p{position}" for name, position in self.packing.positions(side).items()}
        keys = tuple(at[key] for key in self.sides.key_names(side))
        return SideLayout(side.side, side.period, at[side.period.start], at[side.period.end], keys, tuple(at.values()))


@dataclass(frozen=True)
class JoinInputs(PackedSides):
    """What is to be matched, and how its rows reach the tasks.

    ``decided`` are the sides of which it must be known which rows have a partner; ``preserved`` those of them whose
    rows count without a partner, too. ``slices`` forces a number of slices; ``residual`` is asked of rows and pairs
    beyond the relation. ``adds_up`` says that what tasks find for left rows can be added up.
    """

    relation: Relation
    decided: tuple[str, ...] = ()
    preserved: tuple[str, ...] = ()
    asked: str = "auto"
    slices: int | None = None
    residual: Residual = NOTHING
    adds_up: bool = False

    @cached_property
    def parts(self) -> tuple[JoinPart, ...]:
        """The join parts of the relation."""
        return cover(self.relation.boxes(self.sides.axis))

    @cached_property
    def alone(self) -> bool:
        """Whether one task reads and takes both sides: they are small, and nothing else is asked for."""
        free, limit = self.asked == "auto" and self.slices is None, min(ALONE_BYTES, index_probe.LARGE_BYTES)
        return free and all_within(self.estimates.values(), limit)

    @cached_property
    def strategy(self) -> Strategy:
        """How the rows reach the tasks."""
        keyed, threshold = bool(self.sides.keys), broadcast_threshold(self.spark)
        return choose_strategy(
            self.asked,
            keyed=keyed,
            decided=self.decided,
            sizes=self.sizes,
            threshold=threshold,
            adds_up=self.adds_up,
        )

    @property
    def added_up(self) -> bool:
        """Whether the left side is sent to all tasks, and what they find is added up."""
        return not self.alone and self.strategy.name == "broadcast" and self.adds_up and self.strategy.small == "left"

    @cached_property
    def agreed(self) -> bool:
        """Whether tasks agree where time is cut, and nothing is sampled: each can hold all rows, which do not change.

        With keys, hashes of them would travel with every row. Whoever asks for slices gets them from a sample.
        """
        free, few = self.asked == "auto" and self.slices is None, 1 < self.spread.cores <= AGREED_TASKS
        return free and few and agreeable(self.estimates.values()) and self.strategy.name == "slices"

    @cached_property
    def uncut(self) -> bool:
        """Whether keys alone decide to which task a row goes, and nothing is sampled.

        A task could hold all rows, and so few tasks run at once that little is lost if most rows have one key.
        """
        free, few = self.asked == "auto" and self.slices is None, self.spread.cores <= AGREED_TASKS
        total = sum(AGREED_BYTES + 1 if size is None else size for size in self.sizes.values())
        return free and few and total <= AGREED_BYTES and self.strategy.name == "keys"

    @cached_property
    def slicing(self) -> Slicing:
        """How finely time is sliced."""
        if self.alone:
            return Slicing(1, 1, alone=True)
        if self.uncut:
            return Slicing(1, 1, by_key=True, partitions=self.spread.partitions, groups=True)
        if self.agreed:
            return Slicing(self.spread.cores, self.spread.cores, agreed=True)
        found = Slicing(
            self.spread.partitions,
            self.spread.cores,
            by_key=self.strategy.name == "keys",
            share=sampled_share(self.sizes.values()),
            shares=not self.decided,
        )
        return found if self.slices is None else replace(found, slices=self.slices, least=self.slices)

    @cached_property
    def plan(self) -> "Distribution | Broadcast":
        """The plan that brings rows to tasks."""
        return self._broadcast() if self.strategy.name == "broadcast" and not self.alone else self._distributed()

    def pairs(self, writer: PeriodWriter) -> PairColumns:
        """The columns of pairs, as tasks have them."""
        return PairColumns((self.packing.left, self.packing.right), writer, self.sides.axis)

    def matcher(self, algorithm: str = "auto") -> Matcher:
        """How tasks find pairs."""
        left, right = map(self.layout, self.sides.both)
        residual = self.residual
        if residual.condition is not None:
            residual = replace(residual, pairs=self.pairs(period_writer(*self.sides.both)))
        return Matcher(self.plan.reader, left, right, self.parts, self.sides.policy, algorithm, residual)

    @property
    def undecided(self) -> tuple[str, ...]:
        """The sides with rows to be decided of which several tasks may have copies."""
        if self.alone:
            return ()
        if self.strategy.name == "broadcast":
            return tuple(side for side in self.decided if side == self.strategy.small)
        return self.decided if self.slicing.slices > 1 else ()

    def forecast(self) -> dict[str, Any]:
        """What the plan would cost, from a sample of the rows."""
        if isinstance(self.plan, Distribution):
            return self.plan.exchange.forecast(row_bytes(self.packing.arrow))
        small = self.sizes[self.strategy.small]
        memory = None if small is None else small + CHUNK_BYTES
        return {"expected copies": 1.0, "bytes shuffled": 0, "largest task memory": memory}

    def _broadcast(self) -> Broadcast:
        left, right = (self._sent(side, "0") for side in self.sides.both)
        streamed, small = (left, right) if self.strategy.small == "right" else (right, left)
        keeps, shuffles = (sent.admitted.side in self.preserved for sent in (streamed, small))
        size = self.sizes[small.admitted.side]
        known_small = size is not None and size <= broadcast_threshold(self.spark)
        shuffled = self.spread.partitions if shuffles and not self.added_up else None
        return Broadcast(streamed, small, self.parts, self.packing, keeps, known_small, shuffled, self.added_up)

    def _distributed(self) -> Distribution:
        hashes = key_hashes(*self.sides.both, self.sides.keys) if self.slicing.by_key else ("0", "0")
        left, right = map(self._sent, self.sides.both, hashes)
        return Distribution(left, right, self.packing, self.slicing)

    def _sent(self, side: JudgedFrame, key: str) -> Sent:
        """A side as it is sent to other tasks: rows without a key only if they count without a partner."""
        names, rows = self.sides.key_names(side), side.rows
        if names and side.side not in self.preserved and not self.alone:
            rows = rows.where(f"NOT {no_key(side, names)}")
        layout = self.layout(side)
        reader = SideReader(layout, side.policy, PartRange(side.side, self.parts))
        return Sent(side, rows, self.packed[side.side], key, layout, reader)
