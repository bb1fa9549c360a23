"""The sequenced join on Spark: pairs by the relation join; chains of tables, and what outer joins keep, by tasks."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import types as T

from timeloom.engines.spark.coalesce import coalesce
from timeloom.engines.spark.columns.faults import answer
from timeloom.engines.spark.columns.keys import all_aligned, as_given
from timeloom.engines.spark.columns.periods import period_writer
from timeloom.engines.spark.columns.validity import JudgedFrame, judge_frame, merge_numbered
from timeloom.engines.spark.matching.inputs import JoinInputs, Sides
from timeloom.engines.spark.matching.residual import Residual
from timeloom.engines.spark.matching.results import JoinResult, needed, try_out
from timeloom.engines.spark.sequenced.chain import Chain
from timeloom.engines.spark.sequenced.chain_columns import chained_columns, layout, read_columns
from timeloom.engines.spark.slicing.join_parts import replication
from timeloom.engines.spark.slicing.slices import Slicing
from timeloom.engines.spark.temporal_antijoin import sub_periods
from timeloom.engines.tables.axes import same_axis
from timeloom.engines.tables.validity import Quarantined
from timeloom.model.explanation import Explanation
from timeloom.model.names import relation
from timeloom.model.naming import Keys, Origin, OutputColumn
from timeloom.model.sequenced import AntijoinRequest, CoalesceRequest, TemporalJoinRequest


@dataclass(frozen=True)
class Pairs:
    """The pairs that share time, with that time in the left period columns."""

    joined: JoinResult

    @classmethod
    def of(cls, left: DataFrame, right: DataFrame, request: TemporalJoinRequest, slices: int | None) -> "Pairs":
        """Two tables, read and checked, ready to be joined."""
        sides = Sides.of(left, right, request)
        columns = _layout(request, sides.left.schema, sides.right.schema)
        strategy = "auto" if slices is None else "keys" if request.keys else "slices"
        residual = Residual(condition=request.where, columns=_read(request, sides))
        wanted = needed([*columns, *(column for _, column in residual.columns)])
        inputs = JoinInputs(sides, wanted, relation("intersects"), asked=strategy, slices=slices, residual=residual)
        if request.where is not None:
            try_out(request.where, inputs)
        return cls(JoinResult(inputs, "inner", tuple(columns), request.algorithm, wide=False))

    @property
    def inputs(self) -> tuple[JudgedFrame, ...]:
        """Both tables."""
        return self.joined.inputs.sides.both

    @property
    def broadcasts(self) -> bool:
        """Whether one of the tables is small enough to be sent to every task."""
        return self.joined.inputs.strategy.name == "broadcast"

    def result(self) -> DataFrame:
        """The plan of the result."""
        return self.joined.frame()

    def explanation(self, tables: int) -> Explanation:
        """How it would run."""
        inputs, strategy = self.joined.inputs, self.joined.inputs.strategy
        copies, why = replication(inputs.parts, inputs.slicing)
        facts: dict[str, Any] = {
            "how": "inner",
            "algorithm": self.joined.algorithm,
            "tables": tables,
            "strategy": strategy.name,
            "keys": list(inputs.sides.keys.left),
            "partitions": "those of the other side" if self.broadcasts else inputs.slicing.tasks,
            "replication": 1 if self.broadcasts else copies,
        }
        if inputs.residual.condition is not None:
            facts["judged by"] = inputs.residual.condition.text
        reasons = [strategy.why] if self.broadcasts else [strategy.why, inputs.spread.why, why]
        reasons += _before(tables - 2)
        return Explanation("temporal_join", "spark", facts, tuple(reasons), inputs.forecast)


def temporal_join(left: DataFrame, right: DataFrame, request: TemporalJoinRequest, slices: int | None = None) -> Any:
    """Join two DataFrames instant by instant. Nothing runs before an action."""
    if request.how == "semi":
        return _semijoin(left, right, request, slices)
    joined = _chained([left, right], [request], slices)
    return answer(joined.result(), joined.inputs, request.policy)


def _semijoin(left: DataFrame, right: DataFrame, request: TemporalJoinRequest, slices: int | None) -> Any:
    """The time in which left rows have a partner: what they share with the united right rows of their key.

    With a condition it is what they share with those that satisfy it, which differ from row to row.
    """
    if request.where is not None:
        return sub_periods(left, right, _as_antijoin(request), "semi", slices)
    united = coalesce(right, CoalesceRequest(request.keys.right, request.right_period, request.policy), slices)
    names = request.columns or tuple(left.columns)
    pairs = replace(request, how="inner", right_period=request.right_period.wide, columns=names)
    apart = request.policy.on_invalid == "quarantine"
    result = temporal_join(left, united.result if apart else united, pairs, slices)
    inputs = [
        judge_frame(left, request.left_period, "left", request.policy),
        judge_frame(right, request.right_period, "right", request.policy),
    ]
    return answer(_own_keys(result.result if apart else result, inputs[0], request.keys), inputs, request.policy)


def _own_keys(result: DataFrame, left: JudgedFrame, keys: Keys) -> DataFrame:
    """Left columns with the keys in the types that the left table has them in, not in those of both."""
    schema = result.schema
    kinds = {name: left.given[name].dataType for name in keys.left}
    kept = [T.StructField(field.name, kinds.get(field.name, field.dataType)) for field in schema]
    return as_given(result, schema, replace(left, given=T.StructType(kept)))


def _as_antijoin(request: TemporalJoinRequest) -> AntijoinRequest:
    return AntijoinRequest(
        request.keys,
        request.left_period,
        request.right_period,
        request.policy,
        request.columns,
        "dip" if request.algorithm == "dip" else "auto",
        where=request.where,
        suffixes=request.suffixes,
    )


def temporal_join_all(frames: list[DataFrame], requests: list[TemporalJoinRequest], slices: int | None = None) -> Any:
    """Join several DataFrames one after the other; rejected rows are told apart by the number of their table."""
    result = _chained(frames, requests, slices).result()
    if requests[0].policy.on_invalid != "quarantine":
        return result
    return Quarantined(result, merge_numbered(list(TableChain(frames, requests, slices).inputs)))


def _chained(
    frames: list[DataFrame], requests: list[TemporalJoinRequest], slices: int | None = None
) -> "Pairs | TableChain":
    """The last of the steps that a join of several tables takes.

    As long as one table is small enough to be broadcast, inner joins do so. All that are left are joined by one chain:
    a plan of joins within joins would have each table several times, and those before it as often for each time.
    Partitions are merged by the tasks of a chain, which have whole sides, whatever the sizes.
    """
    while requests[0].how == "inner" and requests[0].algorithm != "dip":
        pairs = Pairs.of(frames[0], frames[1], requests[0], slices)
        if len(frames) == 2:
            return pairs
        if not pairs.broadcasts:
            break
        frames, requests = [pairs.result(), *frames[2:]], requests[1:]
    return TableChain(frames, requests, slices)


class TableChain:
    """Tables to be joined one after the other, by tasks that have rows of all of them."""

    def __init__(self, frames: list[DataFrame], requests: list[TemporalJoinRequest], slices: int | None = None) -> None:
        self.requests = requests
        periods = [requests[0].left_period, *(request.right_period for request in requests)]
        names = ("left", "right") if len(frames) == 2 else map(_ordinal, range(1, len(frames) + 1))
        admitted = [
            judge_frame(frame, period, name, requests[0].policy)
            for frame, period, name in zip(frames, periods, names, strict=True)
        ]
        self.keys = (requests[0].keys.left, *(request.keys.right for request in requests))
        self.inputs = all_aligned(admitted, self.keys)
        for side in self.inputs[1:]:
            same_axis(self.inputs[0].columns.kind.type, side.columns.kind.type)
        self.writer = period_writer(*self.inputs, wide=requests[0].wide(self.inputs[1].period))
        self.columns = chained_columns(self.inputs, requests, self.writer)
        # with a condition, what ends a remainder depends on rows, not on instants: nothing is cut by time
        cut = slices if requests[0].where is None else 1
        self.slicing = Slicing.of(frames[0].sparkSession, frames, cut, grouped=bool(self.keys[0]))

    @property
    def schema(self) -> T.StructType:
        """The schema of the result."""
        return T.StructType([column.field for column in self.columns])

    def result(self) -> DataFrame:
        """The plan of the result."""
        return self.chain.result(self.chain.outputs(self.columns), self.schema, self.writer)

    @cached_property
    def chain(self) -> Chain:
        """The tables on their way to tasks."""
        wanted: list[list[str]] = [[] for _ in self.inputs]
        for table, name in (source for column in self.columns for source in column.sources):
            wanted[table].append(name)
        request = self.requests[0]
        return Chain(
            "temporal_join",
            request.how,
            self.inputs,
            self.keys,
            tuple(map(tuple, wanted)),
            self.slicing,
            request.algorithm,
            request.where,
            read_columns(self.inputs, request, self.writer),
        )

    def explanation(self, tables: int) -> Explanation:
        """How it would run."""
        grouped = bool(self.keys[0])
        facts = {
            "how": self.requests[0].how,
            "algorithm": self.requests[0].algorithm,
            "tables": tables,
            "keys": list(self.keys[0]),
            **self.slicing.facts(grouped=grouped),
        }
        if self.requests[0].where is not None:
            facts["judged by"] = self.requests[0].where.text
        why = "all tables go to tasks in one shuffle, and a task joins one after the other, so the plan has each once"
        return Explanation(
            "temporal_join",
            "spark",
            facts,
            (*self.slicing.reasons(grouped=grouped), why, *_before(tables - len(self.inputs))),
            self.chain.forecast,
        )


def explain_temporal_join_all(frames: list[DataFrame], requests: list[TemporalJoinRequest]) -> Explanation:
    """Say how a sequenced join of several tables would run, or its last step. Nothing runs."""
    if requests[0].how == "semi":
        requests = [replace(request, how="inner") for request in requests]
    step = _chained(frames, requests)
    return step.explanation(len(frames))


def _layout(request: TemporalJoinRequest, left: T.StructType, right: T.StructType) -> list[OutputColumn]:
    period = request.left_period
    origins: dict[str, Origin] = {period.end: "overlap_end", period.start: "overlap_start"}
    found = layout(request, left.names, right.names)
    return [
        replace(column, origin=origins.get(column.left, column.origin)) if column.origin != "right" else column
        for column in found
    ]


def _read(request: TemporalJoinRequest, sides: Sides) -> "tuple[tuple[str, OutputColumn], ...]":
    """The columns of a pair that the condition reads, by the names that it has for them."""
    if request.where is None:
        return ()
    known = _layout(replace(request, columns=None), sides.left.schema, sides.right.schema)
    by_name = {column.name: column for column in known}
    return tuple((name, by_name[output]) for name, output in request.where.resolve(list(by_name)).items())


def _before(steps: int) -> list[str]:
    return [f"before that, {steps} small tables are broadcast, one after the other"] if steps else []


def _ordinal(number: int) -> str:
    words = ("first", "second", "third", "fourth", "fifth")
    return words[number - 1] if number <= len(words) else f"{number}th"
