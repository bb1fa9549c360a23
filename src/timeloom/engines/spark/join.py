"""The relation join on Spark."""

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import types as T

from timeloom.engines.spark.cluster.readings import require_one_reading
from timeloom.engines.spark.cluster.sizes import Spread, estimated_bytes
from timeloom.engines.spark.cluster.strategy import Strategy, broadcast_threshold, choose_strategy
from timeloom.engines.spark.cluster.workers import mapped
from timeloom.engines.spark.columns.keys import aligned, as_given, key_hashes, no_key
from timeloom.engines.spark.columns.packing import Packing
from timeloom.engines.spark.columns.periods import period_type, period_writer
from timeloom.engines.spark.columns.validity import Admitted, admit, merge_rejected
from timeloom.engines.spark.exchange.broadcast import Broadcast
from timeloom.engines.spark.exchange.distribution import Distribution, Sent
from timeloom.engines.spark.exchange.packed_rows import Reader, SideLayout
from timeloom.engines.spark.matching import index_probe as probing
from timeloom.engines.spark.matching.expanding import block_schema, expanded, suits
from timeloom.engines.spark.matching.runs import RunTask
from timeloom.engines.spark.matching.tasks import JoinTask, MatchedTask, Matcher
from timeloom.engines.spark.matching.unmatched import alone, decided, matched_schema
from timeloom.engines.spark.slicing.boundaries import sampled_share
from timeloom.engines.spark.slicing.join_parts import cover, replication
from timeloom.engines.spark.slicing.slices import Slicing
from timeloom.engines.tables.axes import same_axis
from timeloom.engines.tables.validity import Quarantined
from timeloom.model.explanation import Explanation
from timeloom.model.join import JoinRequest
from timeloom.model.naming import OutputColumn, joined_columns

Layout = Callable[[T.StructType, T.StructType], list[OutputColumn]]
"""Says which columns a result has, by the schemas of both sides."""

PRESERVED = {
    "inner": (),
    "left": ("left",),
    "right": ("right",),
    "full": ("left", "right"),
    "semi": (),
    "anti": ("left",),
}
"""The sides whose rows are kept even when they match nothing."""


class SparkJoin:
    """Two DataFrames, read and checked, ready to be joined."""

    def __init__(self, left: DataFrame, right: DataFrame, request: JoinRequest, layout: "Layout | None" = None) -> None:
        self.request = request
        self.spark = left.sparkSession
        admitted = (
            admit(left, request.left_period, "left", request.policy),
            admit(right, request.right_period, "right", request.policy),
        )
        self.left, self.right = aligned(*admitted, request.keys)
        lay_out = layout or partial(_layout, request=request)
        self.columns = lay_out(self.left.schema, self.right.schema)
        kinds = self.left.columns.kind, self.right.columns.kind
        self.axis = same_axis(kinds[0].type, kinds[1].type)
        self.writer = period_writer(self.left, self.right)
        self.pieces = cover(request.relation.boxes(self.axis))
        self.packing = Packing.of(self.left.schema, self.right.schema, self._wanted())

    def _wanted(self) -> tuple[list[str], list[str]]:
        """The columns of each side that the tasks need."""
        keys, periods = self.request.keys, (self.request.left_period, self.request.right_period)
        left = [column.left for column in self.columns if column.origin in ("left", "key")]
        right = [column.right for column in self.columns if column.origin == "right"]
        return (
            [periods[0].start, periods[0].end, *keys.left, *left],
            [periods[1].start, periods[1].end, *keys.right, *right],
        )

    @property
    def schema(self) -> T.StructType:
        """The schema of the result."""
        return T.StructType([self._field(column) for column in self.columns])

    def _field(self, column: OutputColumn) -> T.StructField:
        if column.origin == "right":
            found, outer = self.right.schema[column.right], self.request.how in ("left", "full")
        elif column.origin in ("left", "key"):
            found, outer = self.left.schema[column.left], self.request.how in ("right", "full")
        else:
            return T.StructField(column.name, period_type(self.writer))
        return T.StructField(column.name, found.dataType, found.nullable or outer, found.metadata)

    def _sent(self, side: Admitted, key: str) -> Sent:
        """A side as it is sent to tasks: rows without a key only if they are kept."""
        names = self.request.keys.right if side is self.right else self.request.keys.left
        rows = side.rows
        if names and side.side not in PRESERVED[self.request.how]:
            rows = rows.where(f"NOT {no_key(side, names)}")
        return Sent(side, rows, key, self._side_layout(side))

    def _matcher(self, reader: Reader) -> Matcher:
        """How tasks find pairs."""
        return Matcher(
            reader,
            self._side_layout(self.left),
            self._side_layout(self.right),
            self.pieces,
            self.request.policy,
            self.request.algorithm,
        )

    def _side_layout(self, side: Admitted) -> SideLayout:
        places = self.packing.places(side)
        keys = self.request.keys.right if side is self.right else self.request.keys.left
        start, end = places[side.period.start], places[side.period.end]
        return SideLayout(side.side, side.period, f"p{start}", f"p{end}", tuple(f"p{places[key]}" for key in keys))

    @cached_property
    def sizes(self) -> "dict[str, int | None]":
        """What Spark estimates each side's columns to take, without running anything."""
        sides = (self.left, self.right)
        return {side.side: estimated_bytes(side.rows.select(*self.packing.own(side))) for side in sides}

    @cached_property
    def strategy(self) -> Strategy:
        """How the rows reach the tasks."""
        return choose_strategy(self.request, self.sizes, broadcast_threshold(self.spark))

    @cached_property
    def spread(self) -> Spread:
        """Into how many partitions rows are shuffled."""
        return Spread.of(self.spark, list(self.sizes.values()))

    @property
    def slicing(self) -> Slicing:
        """How finely time is sliced."""
        return Slicing(
            self.spread.partitions,
            self.spread.cores,
            by_key=self.strategy.name == "keys",
            share=sampled_share(self.sizes.values()),
        )

    def plan(self) -> "Distribution | Broadcast":
        """The plan that brings rows to tasks."""
        if self.strategy.name == "broadcast":
            left, right = self._sent(self.left, "0"), self._sent(self.right, "0")
            streamed, small = (left, right) if self.strategy.small == "right" else (right, left)
            keeps = streamed.admitted.side in PRESERVED[self.request.how]
            size = self.sizes[small.admitted.side]
            known_small = size is not None and size <= broadcast_threshold(self.spark)
            shuffled = self.spread.partitions if small.admitted.side in PRESERVED[self.request.how] else None
            return Broadcast(streamed, small, self.pieces, self.packing, keeps, known_small, shuffled)
        hashes = ("0", "0")
        if self.slicing.by_key:
            hashes = key_hashes(self.left, self.right, self.request.keys)
        sides = self._sent(self.left, hashes[0]), self._sent(self.right, hashes[1])
        return Distribution(*sides, self.pieces, self.packing, self.slicing)

    def result(self) -> DataFrame:
        """The result: what tasks decide alone, and what they decide together."""
        plan = self.plan()
        if self.probes and isinstance(plan, Broadcast):
            return probing.Probing(plan, tuple(self.columns), tuple(self.schema.fields)).result()
        matcher = self._matcher(plan.reader)
        if self.runs:
            return self._expanded(plan, matcher)
        task = JoinTask(
            matcher, self.request.how, tuple(self.columns), (self.packing.left, self.packing.right), self.writer
        )
        result = mapped(plan.rows(), task, self.schema)
        for side in ("left",) if self.request.how == "semi" else PRESERVED[self.request.how]:
            undecided = plan.undecided(side)
            if undecided is not None:
                require_one_reading((self.left, self.right))
                result = result.unionAll(self._decided(plan, matcher, side, undecided))
        return as_given(result, self.schema, self.left) if self.request.how in ("semi", "anti") else result

    @cached_property
    def runs(self) -> bool:
        """Whether tasks return runs, which SQL writes out as pairs, or the pairs themselves."""
        nullable = all(field.nullable for field in self.schema)
        return nullable and suits(self.spark, self.request, self.pieces, self.columns)

    @property
    def probes(self) -> bool:
        """Whether rows of the large side are searched for in SQL."""
        if self.strategy.name != "broadcast" or self.request.keys or not self.runs:
            return False
        small = self.sizes[self.strategy.small]
        streamed = self.sizes["left" if self.strategy.small == "right" else "right"]
        return probing.suits(self.request.policy, self.pieces, small, streamed)

    def _expanded(self, plan: "Distribution | Broadcast", matcher: Matcher) -> DataFrame:
        sides = ["right" if column.origin == "right" else "left" for column in self.columns]
        places = {"left": self.packing.left, "right": self.packing.right}
        named = [column.right if column.origin == "right" else column.left for column in self.columns]
        columns = tuple((side, places[side][name]) for side, name in zip(sides, named, strict=True))
        blocks = mapped(plan.rows(), RunTask(matcher, columns), block_schema(self.schema.fields))
        return expanded(blocks, self.schema.fields, sides)

    def _decided(self, plan: "Distribution | Broadcast", matcher: Matcher, side: str, rows: DataFrame) -> DataFrame:
        keys = self.request.keys.right if side == "right" else self.request.keys.left
        schema = (self.right if side == "right" else self.left).schema
        places = self.packing.right if side == "right" else self.packing.left
        reported = matched_schema([schema[key].dataType for key in keys])
        matched = mapped(plan.rows(), MatchedTask(matcher, side), reported)
        kept = decided(rows, matched, [places[key] for key in keys], keep_matched=self.request.how == "semi")
        return alone(kept, side, self.columns, self.schema, self.packing)


def join(left: DataFrame, right: DataFrame, request: JoinRequest) -> "DataFrame | Quarantined[DataFrame]":
    """Join two DataFrames. Nothing runs before an action."""
    task = SparkJoin(left, right, request)
    result = task.result()
    if request.policy.on_invalid == "quarantine":
        return Quarantined(result, merge_rejected(task.left, task.right))
    return result


def explain_join(left: DataFrame, right: DataFrame, request: JoinRequest) -> Explanation:
    """Say how a join would run. Nothing runs."""
    task = SparkJoin(left, right, request)
    facts: dict[str, Any] = {
        "relation": repr(request.relation),
        "how": request.how,
        "strategy": task.strategy.name,
        "driver": [str(piece.driver) for piece in task.pieces],
        "keys": list(request.keys.left),
    }
    facts |= {f"{side} bytes": size for side, size in task.sizes.items() if size is not None}
    if task.strategy.name == "broadcast":
        shuffled = task.strategy.small in PRESERVED[request.how]
        partitions = task.spread.partitions if shuffled else "those of the other side"
        facts |= {"broadcast side": task.strategy.small, "partitions": partitions, "replication": 1}
        searched = "the other side is so much larger that its rows are matched in SQL, by an index, not in Python"
        twice = "both sides are asked for twice, as all rows are kept, so the other side is shuffled, to be read once"
        reasons = [searched] * task.probes + [twice] * shuffled
        return Explanation("join", "spark", facts, (task.strategy.why, *reasons))
    copies, why = replication(task.pieces, task.slicing)
    facts |= {"partitions": task.spread.partitions, "slices": f"at most {task.slicing.slices}", "replication": copies}
    return Explanation("join", "spark", facts, (task.strategy.why, task.spread.why, why))


def _layout(left: T.StructType, right: T.StructType, request: JoinRequest) -> list[OutputColumn]:
    if request.how in ("semi", "anti"):
        return joined_columns(left.names, [], request.keys, columns=request.columns)
    return joined_columns(
        left.names,
        right.names,
        request.keys,
        suffixes=request.suffixes,
        overlap=request.overlap,
        columns=request.columns,
    )
