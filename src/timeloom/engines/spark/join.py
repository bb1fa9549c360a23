"""The relation join on Spark."""

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import types as T

from timeloom.engines.spark.columns.faults import answer
from timeloom.engines.spark.matching.inputs import JoinInputs, Sides
from timeloom.engines.spark.matching.results import DECIDED, PRESERVED, JoinResult, needed
from timeloom.engines.spark.slicing.join_parts import replication
from timeloom.errors import UsageError
from timeloom.model.explanation import Explanation
from timeloom.model.join import JoinRequest
from timeloom.model.naming import OutputColumn, joined_columns


def join(left: DataFrame, right: DataFrame, request: JoinRequest) -> Any:
    """Join two DataFrames. Nothing runs before an action."""
    joined = planned(left, right, request)
    return answer(joined.frame(), joined.inputs.sides.both, request.policy)


def planned(left: DataFrame, right: DataFrame, request: JoinRequest) -> JoinResult:
    """Both DataFrames, read and checked, ready to be joined."""
    _refuse_unknown(request)
    sides, how = Sides.of(left, right, request), request.how
    columns = _layout(sides.left.schema, sides.right.schema, request)
    inputs = JoinInputs(sides, request.relation, needed(columns), DECIDED[how], PRESERVED[how], request.strategy)
    return JoinResult(inputs, how, tuple(columns), request.algorithm)


def explain_join(left: DataFrame, right: DataFrame, request: JoinRequest) -> Explanation:
    """Say how a join would run. Nothing runs."""
    joined = planned(left, right, request)
    inputs, strategy = joined.inputs, joined.inputs.strategy
    facts: dict[str, Any] = {
        "relation": repr(request.relation),
        "how": request.how,
        "strategy": strategy.name,
        "driver": [str(part.driver) for part in inputs.parts],
        "keys": list(request.keys.left),
    }
    facts |= {f"{side} bytes": size for side, size in inputs.sizes.items() if size is not None}
    if strategy.name == "broadcast":
        shuffled = strategy.small in inputs.preserved
        partitions = inputs.spread.partitions if shuffled else "those of the other side"
        facts |= {"broadcast side": strategy.small, "partitions": partitions, "replication": 1}
        searched = "the other side is so much larger that its rows are matched in SQL, by an index, not in Python"
        twice = "both sides are asked for twice, as all rows are kept, so the other side is shuffled, to be read once"
        reasons = [searched] * joined.probes + [twice] * shuffled
        return Explanation("join", "spark", facts, (strategy.why, *reasons))
    copies, why = replication(inputs.parts, inputs.slicing)
    partitions, slices = inputs.spread.partitions, f"at most {inputs.slicing.slices}"
    facts |= {"partitions": partitions, "slices": slices, "replication": copies}
    return Explanation("join", "spark", facts, (strategy.why, inputs.spread.why, why))


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


def _refuse_unknown(request: JoinRequest) -> None:
    """Refuse what tasks cannot do."""
    given = {"where": request.where, "min_overlap": request.min_overlap}
    for option, value in given.items():
        if value is not None:
            raise UsageError(f"{option}= of join is for local tables so far; DataFrame.toArrow() makes one")
    if request.overlap == "length":
        raise UsageError("overlap='length' is for local tables so far; overlap=True gives both ends")
