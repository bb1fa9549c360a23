"""As-of and nearest joins on Spark: rows of both sides go to tasks by key, in one exchange.

Large keys, and tables without keys, are cut by time. A left row goes to the slice of its instant; a right row to its
own, and to those from which it may be the next.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import types as T

from timeloom.engines.spark.cluster.sizes import all_within
from timeloom.engines.spark.cluster.workers import mapped
from timeloom.engines.spark.columns.faults import answer
from timeloom.engines.spark.columns.keys import key_hashes, no_key
from timeloom.engines.spark.columns.periods import period_writer
from timeloom.engines.spark.columns.validity import JudgedFrame
from timeloom.engines.spark.exchange.blocks import CHUNK_BYTES
from timeloom.engines.spark.exchange.distribution import Distribution, Sent
from timeloom.engines.spark.exchange.forecast import row_bytes
from timeloom.engines.spark.exchange.packed_rows import ReachingReader, SideReader
from timeloom.engines.spark.matching.inputs import PackedSides, Sides
from timeloom.engines.spark.matching.neighbour_tasks import NeighbourTask
from timeloom.engines.spark.matching.pair_columns import PairColumns
from timeloom.engines.spark.matching.results import needed, result_field
from timeloom.engines.spark.slicing.boundaries import sampled_share
from timeloom.engines.spark.slicing.reaches import ALL_ROWS, PointRange, Reach
from timeloom.engines.spark.slicing.slices import ALONE_BYTES, GROUP_ROWS, WHOLE_BYTES, Slicing
from timeloom.engines.tables.verdicts import VALID
from timeloom.model.explanation import Explanation
from timeloom.model.naming import OutputColumn, joined_columns
from timeloom.model.neighbours import AsOfRequest, NearestRequest, distance_ticks
from timeloom.model.ticks import MAX_TICK


@dataclass(frozen=True)
class NeighbourPlan(PackedSides):
    """Two tables of which each left row gets the right rows next to it; ``slices`` forces a number of slices."""

    request: AsOfRequest | NearestRequest
    output: tuple[OutputColumn, ...]
    slices: int | None = None

    @classmethod
    def of(
        cls, left: DataFrame, right: DataFrame, request: AsOfRequest | NearestRequest, slices: int | None = None
    ) -> "NeighbourPlan":
        """Read and check both tables."""
        sides = Sides.of(left, right, request)
        output = joined_columns(
            sides.left.schema.names,
            sides.right.schema.names,
            request.keys,
            suffixes=request.suffixes,
            distance=request.name if isinstance(request, NearestRequest) else None,
            columns=request.columns,
        )
        wanted, given = needed(output)
        return cls(sides, (wanted, [*given, *_order(sides.right, request)]), request, tuple(output), slices)

    def result(self) -> Any:
        """The plan of the result, with the rejected rows if they were asked for."""
        plan = self.distribution
        task = NeighbourTask(
            plan.reader,
            (plan.left.layout, plan.right.layout),
            self.sides.policy,
            self.request,
            self.furthest,
            tuple(f"p{self.packing.right[name]}" for name in _order(self.sides.right, self.request)),
            self.output,
            PairColumns((self.packing.left, self.packing.right), period_writer(*self.sides.both), self.sides.axis),
        )
        fields = [result_field(column, self.sides, self.request.how) for column in self.output]
        numbered = T.StructType([T.StructField(f"c{at}", field.dataType) for at, field in enumerate(fields)])
        found = mapped(plan.rows(), task, numbered)
        return answer(found.toDF(*(field.name for field in fields)), self.sides.both, self.request.policy)

    @property
    def furthest(self) -> int:
        """The largest distance in ticks."""
        given = self.request.max_distance if isinstance(self.request, NearestRequest) else self.request.tolerance
        return distance_ticks(given, self.sides.axis, MAX_TICK)

    @property
    def whole(self) -> int:
        """Inputs of fewer bytes are not sliced.

        Where keys spread rows, that is what a task takes in hand at a time, as it would if all rows had one key. A
        sample would take longer.
        """
        return CHUNK_BYTES if self.sides.keys else WHOLE_BYTES

    @cached_property
    def slicing(self) -> Slicing:
        """How finely time is sliced; small tables are not, and of keys only large ones are."""
        keyed, sizes = bool(self.sides.keys), list(self.sizes.values())
        if self.slices is not None:
            return Slicing(self.slices, self.slices, keyed, GROUP_ROWS, groups=True, forced=True)
        if all_within(self.estimates.values(), ALONE_BYTES):
            return Slicing(1, 1, alone=True)
        partitions = self.spread.partitions
        if sum(self.whole if size is None else size for size in sizes) < self.whole:
            return Slicing(1, 1, keyed, partitions=partitions if keyed else 1, groups=True)
        share = sampled_share(sizes)
        return Slicing(partitions, self.spread.cores, keyed, GROUP_ROWS, share, partitions=partitions, groups=True)

    @cached_property
    def distribution(self) -> Distribution:
        """The plan that brings rows to tasks."""
        hashes = key_hashes(*self.sides.both, self.sides.keys) if self.slicing.by_key else ("0", "0")
        left, right = (self._sent(side, key) for side, key in zip(self.sides.both, hashes, strict=True))
        return Distribution(left, right, self.packing, self.slicing)

    def _sent(self, side: JudgedFrame, key: str) -> Sent:
        """A side as it is sent to other tasks: rows without a key only if they count so, or are invalid."""
        names, rows = self.sides.key_names(side), side.rows
        if names and (side.side == "right" or self.request.how == "inner") and not self.slicing.alone:
            rows = rows.where(f"NOT {no_key(side, names)} OR {side.verdict} <> {VALID}")
        layout, packed = self.layout(side), self.packed[side.side]
        by_end = isinstance(self.request, NearestRequest)
        forward, backward = self.request.direction == "forward", self.request.direction == "backward"
        if side.side == "left":
            at_end = by_end and forward
            return Sent(side, rows, packed, key, layout, SideReader(layout, side.policy, PointRange(at_end, at_end)))
        points = PointRange(by_end and backward, by_end and not forward)
        return Sent(side, rows, packed, key, layout, ReachingReader(layout, side.policy, points, self.reach))

    @property
    def reach(self) -> Reach:
        """How far right rows reach.

        A left row that lasts is in the slice of its start, or of its end if it looks forward. Rows that begin while it
        lasts are found by their order only if not all of them count, and at any distance from there.
        """
        request, direction = self.request, self.request.direction
        k = request.k if isinstance(request, NearestRequest) else 1
        lasts = direction == "both" and not request.left_period.is_instant
        every = lasts and isinstance(request, NearestRequest) and request.ties == "all"
        beside = min(MAX_TICK, self.furthest + 1)  # an instant ends one tick after its start
        return Reach(
            earlier=0 if direction == "backward" else ALL_ROWS if every else k,
            later=0 if direction == "forward" else k,
            earlier_span=MAX_TICK if lasts else beside,
            later_span=beside,
        )

    def explanation(self, verb: str, facts: dict[str, Any]) -> Explanation:
        """How it would run. Nothing runs."""
        grouped = bool(self.sides.keys)
        why = "slices have their own rows and those next to them, as far as rows are looked for"
        cut = self.slicing.reasons(grouped=grouped, whole=self.whole)
        reasons = (*cut, *([why] if self.slicing.slices > 1 else []))
        facts = {**facts, "keys": list(self.request.keys.left), **self.slicing.facts(grouped=grouped)}
        return Explanation(verb, "spark", facts, reasons, self.forecast)

    def forecast(self) -> dict[str, Any]:
        """What sending the rows would cost, from a sample of them."""
        return self.distribution.exchange.forecast(row_bytes(self.packing.arrow))


def _order(right: JudgedFrame, request: AsOfRequest | NearestRequest) -> list[str]:
    """The right columns by whose values rows level in time are told apart, if that matters."""
    if isinstance(request, NearestRequest) and request.ties == "all":
        return []
    level = {*request.keys.right, *request.right_period.columns}
    return [name for name in right.schema.names if name not in level]
