"""The sequenced join on Spark: pairs by the relation join, and the remainders of each side that is kept."""

from dataclasses import replace
from functools import partial
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import types as T

from timeloom.engines.admission import Quarantined
from timeloom.engines.spark.admission import admit, merge_numbered
from timeloom.engines.spark.boundaries import Slicing
from timeloom.engines.spark.join import PRESERVED, SparkJoin
from timeloom.engines.spark.packing import Packing
from timeloom.engines.spark.pieces import replication
from timeloom.engines.spark.sequenced_faults import answer
from timeloom.engines.spark.sequenced_remainders import Output, Remainders
from timeloom.engines.spark.sequenced_slices import GroupSlicing
from timeloom.model.explanation import Explanation
from timeloom.model.join import JoinRequest
from timeloom.model.names import relation
from timeloom.model.naming import Origin, OutputColumn, joined_columns
from timeloom.model.sequenced import TemporalJoinRequest


class Pairs(SparkJoin):
    """The pairs that share time, with that time in the left period columns."""

    def __init__(self, left: DataFrame, right: DataFrame, request: TemporalJoinRequest, slices: int | None) -> None:
        self.forced = slices
        pairs = JoinRequest(
            relation("intersects"),
            request.keys,
            "inner",
            request.left_period,
            request.right_period,
            request.policy,
            algorithm="auto" if request.algorithm == "dip" else request.algorithm,
            strategy="auto" if slices is None else "keys" if request.keys else "slices",
        )
        super().__init__(left, right, pairs, partial(_layout, request))

    @property
    def slicing(self) -> Slicing:
        """How finely time is sliced."""
        found = super().slicing
        return found if self.forced is None else replace(found, slices=self.forced, least=self.forced)

    def alone(self, side: str, slicing: GroupSlicing) -> DataFrame:
        """The remainders of one side, with nulls for the other."""
        mine, other = (self.left, self.right) if side == "left" else (self.right, self.left)
        wanted = list(self.request.keys.left), list(self.request.keys.right)
        for column in self.columns:
            if side == "left" and column.origin == "left":
                wanted[0].append(column.left)
            if side == "right" and column.origin == "right":
                wanted[1].append(column.right)
        packing = Packing.of(self.left.schema, self.right.schema, wanted)
        outputs = tuple(_output(column, side, packing) for column in self.columns)
        fields = [T.StructField(field.name, field.dataType) for field in self.schema]
        plan = Remainders("temporal_join", mine, other, self.request.keys, packing, slicing)
        return plan.result(outputs, T.StructType(fields), self.writer)


def temporal_join(left: DataFrame, right: DataFrame, request: TemporalJoinRequest, slices: int | None = None) -> Any:
    """Join two DataFrames instant by instant. Nothing runs before an action."""
    pairs = Pairs(left, right, request, slices)
    result = pairs.result()
    if PRESERVED[request.how]:
        slicing = GroupSlicing.of(left.sparkSession, [left, right], slices)
        for side in PRESERVED[request.how]:
            result = result.unionAll(pairs.alone(side, slicing))
    return answer(result, [pairs.left, pairs.right], request.policy)


def temporal_join_all(frames: list[DataFrame], requests: list[TemporalJoinRequest]) -> Any:
    """Join several DataFrames one after the other; rejected rows are told apart by the number of their table."""
    result = frames[0]
    for frame, request in zip(frames[1:], requests, strict=True):
        step = temporal_join(result, frame, request)
        result = step.result if isinstance(step, Quarantined) else step
    policy = requests[0].policy
    if policy.on_invalid != "quarantine":
        return result
    periods = [requests[0].left_period, *(request.right_period for request in requests)]
    inputs = [admit(frame, period, "input", policy) for frame, period in zip(frames, periods, strict=True)]
    return Quarantined(result, merge_numbered(inputs))


def explain_temporal_join(left: DataFrame, right: DataFrame, request: TemporalJoinRequest) -> Explanation:
    """Say how a sequenced join would run. Nothing runs."""
    pairs = Pairs(left, right, request, None)
    copies, why = replication(pairs.pieces, pairs.slicing)
    broadcast = pairs.strategy.name == "broadcast"
    facts: dict[str, Any] = {
        "how": request.how,
        "algorithm": pairs.request.algorithm,
        "strategy": pairs.strategy.name,
        "keys": list(request.keys.left),
        "partitions": "those of the other side" if broadcast else pairs.spread.partitions,
        "replication": 1 if broadcast else copies,
    }
    reasons = [pairs.strategy.why] if broadcast else [pairs.strategy.why, pairs.spread.why, why]
    if PRESERVED[request.how]:
        slicing = GroupSlicing.of(left.sparkSession, [left, right])
        found = slicing.facts(grouped=bool(request.keys))
        facts |= {"remainders of": list(PRESERVED[request.how])}
        facts |= {f"remainders' {name}": value for name, value in found.items()}
        reasons += slicing.reasons(grouped=bool(request.keys))
    return Explanation("temporal_join", "spark", facts, tuple(reasons))


def _layout(request: TemporalJoinRequest, left: T.StructType, right: T.StructType) -> list[OutputColumn]:
    period = request.left_period
    layout = joined_columns(
        left.names,
        right.names,
        request.keys,
        suffixes=request.suffixes,
        without_right=(request.right_period.start, request.right_period.end),
        columns=request.columns,
    )
    origins: dict[str, Origin] = {period.start: "overlap_start", period.end: "overlap_end"}
    return [replace(column, origin=origins.get(column.left, column.origin)) for column in layout]


def _output(column: OutputColumn, side: str, packing: Packing) -> Output:
    if column.origin in ("overlap_start", "overlap_end"):
        return Output(column.name, column.origin.removeprefix("overlap_"))
    if side == "left" and column.origin in ("left", "key"):
        return Output(column.name, f"p{packing.left[column.left]}")
    if side == "right" and column.origin in ("right", "key"):
        return Output(column.name, f"p{packing.right[column.right]}")
    return Output(column.name, "")
