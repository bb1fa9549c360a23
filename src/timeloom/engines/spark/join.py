"""The relation join on Spark."""

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import types as T

from timeloom.engines.spark.columns.faults import answer
from timeloom.engines.spark.matching.inputs import ALONE, JoinInputs, Sides
from timeloom.engines.spark.matching.residual import Residual
from timeloom.engines.spark.matching.results import DECIDED, PRESERVED, JoinResult, needed, try_out
from timeloom.engines.spark.slicing.join_parts import replication
from timeloom.engines.tables.windows import window_bounds
from timeloom.model.explanation import Explanation
from timeloom.model.join import JoinRequest
from timeloom.model.naming import OutputColumn, joined_columns
from timeloom.model.ticks import ticks_of

ONLY_COUNTS = "if all that is wanted is how many partners rows have (groupBy().count()), count_join lists no pairs"
"""What to do about a result that is counted."""


def join(left: DataFrame, right: DataFrame, request: JoinRequest) -> Any:
    """Join two DataFrames. Nothing runs before an action."""
    joined = planned(left, right, request)
    return answer(joined.frame(), joined.inputs.sides.both, request.policy)


def planned(left: DataFrame, right: DataFrame, request: JoinRequest) -> JoinResult:
    """Both DataFrames, read and checked, ready to be joined."""
    sides, how = Sides.of(left, right, request), request.how
    columns = _layout(sides.left.schema, sides.right.schema, request)
    residual = _residual(sides, request)
    read = needed([*columns, *(column for _, column in residual.columns)])
    inputs = JoinInputs(
        sides, read, request.relation, DECIDED[how], PRESERVED[how], request.strategy, residual=residual
    )
    if request.where is not None:
        try_out(request.where, inputs)
    return JoinResult(inputs, how, tuple(columns), request.algorithm)


def explain_join(left: DataFrame, right: DataFrame, request: JoinRequest) -> Explanation:
    """Say how a join would run. Nothing runs."""
    joined = planned(left, right, request)
    counts = (ONLY_COUNTS,) if request.how == "inner" else ()
    inputs, strategy = joined.inputs, joined.inputs.strategy
    facts: dict[str, Any] = {
        "relation": repr(request.relation),
        "how": request.how,
        "strategy": strategy.name,
        "driver": [str(part.driver) for part in inputs.parts],
        "keys": list(request.keys.left),
    }
    if request.algorithm != "auto":
        facts["algorithm"] = request.algorithm
    if inputs.residual.of_pairs:
        facts["judged by"] = request.where.text if request.where is not None else "min_overlap"
    facts |= {f"{side} bytes": size for side, size in inputs.sizes.items() if size is not None}
    if inputs.alone:
        facts |= {"broadcast side": strategy.small} if strategy.small else {}
        return Explanation(
            "join",
            "spark",
            facts | {"partitions": 1, "replication": 1},
            (strategy.why, ALONE, *counts),
            inputs.forecast,
        )
    if strategy.name == "broadcast":
        shuffled = strategy.small in inputs.preserved
        partitions = inputs.spread.partitions if shuffled else "those of the other side"
        facts |= {"broadcast side": strategy.small, "partitions": partitions, "replication": 1}
        searched = "the other side is so much larger that its rows are matched in SQL, by an index, not in Python"
        twice = "both sides are asked for twice, as all rows are kept, so the other side is shuffled, to be read once"
        reasons = [searched] * joined.probes + [twice] * shuffled
        return Explanation("join", "spark", facts, (strategy.why, *reasons, *counts), inputs.forecast)
    copies, why = replication(inputs.parts, inputs.slicing)
    partitions, slices = inputs.slicing.tasks, f"at most {inputs.slicing.slices}"
    facts |= {"partitions": partitions, "slices": slices, "replication": copies}
    return Explanation("join", "spark", facts, (strategy.why, inputs.spread.why, why, *counts), inputs.forecast)


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


def _residual(sides: Sides, request: JoinRequest) -> Residual:
    """What is asked of rows and pairs beyond the relation."""
    boxes = request.relation.boxes(sides.axis)
    least = request.min_overlap
    return Residual(
        least=0 if least is None or least.span is None else ticks_of(least.span, sides.axis),
        window=window_bounds(request.window, sides.left.columns.kind.type, boxes),
        share=least if least is not None and least.span is None else None,
        condition=request.where,
        columns=tuple(request.read_columns(sides.left.schema.names, sides.right.schema.names).items()),
    )
