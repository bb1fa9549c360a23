"""The sequenced anti-join on Spark."""

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import types as T

from timeloom.engines.axes import same_axis
from timeloom.engines.spark.admission import Admitted, admit
from timeloom.engines.spark.keys import aligned
from timeloom.engines.spark.packing import Packing
from timeloom.engines.spark.sequenced_faults import answer
from timeloom.engines.spark.sequenced_periods import period_writer, result_fields
from timeloom.engines.spark.sequenced_remainders import Output, Remainders
from timeloom.engines.spark.sequenced_slices import GroupSlicing
from timeloom.model.explanation import Explanation
from timeloom.model.naming import joined_columns
from timeloom.model.sequenced import AntijoinRequest


def temporal_antijoin(left: DataFrame, right: DataFrame, request: AntijoinRequest, slices: int | None = None) -> Any:
    """Keep the sub-periods of left rows in which no right row is active. Nothing runs before an action."""
    admitted = _admitted(left, right, request)
    period = (request.left_period.start, request.left_period.end)
    layout = joined_columns(admitted[0].schema.names, [], request.keys, columns=request.columns)
    names = [column.left for column in layout]
    wanted = [name for name in names if name not in period]
    packing = Packing.of(
        admitted[0].schema, admitted[1].schema, ([*request.keys.left, *wanted], list(request.keys.right))
    )
    ends = dict(zip(period, ("start", "end"), strict=True))
    outputs = tuple(Output(name, ends.get(name) or f"p{packing.left[name]}") for name in names)
    writer = period_writer(*admitted)
    schema = T.StructType(result_fields(admitted[0], names, writer))
    slicing = GroupSlicing.of(left.sparkSession, [left, right], slices)
    plan = Remainders("temporal_antijoin", *admitted, request.keys, packing, slicing, request.algorithm)
    return answer(plan.result(outputs, schema, writer), admitted, request.policy)


def explain_temporal_antijoin(left: DataFrame, right: DataFrame, request: AntijoinRequest) -> Explanation:
    """Say how an anti-join would run. Nothing runs."""
    _admitted(left, right, request)
    slicing = GroupSlicing.of(left.sparkSession, [left, right])
    facts = {
        "algorithm": "dip" if request.algorithm == "dip" else "cover",
        "keys": list(request.keys.left),
        **slicing.facts(grouped=bool(request.keys)),
    }
    why = "a remainder is found whole in the slice in which it begins, so no row needs an identity"
    return Explanation("temporal_antijoin", "spark", facts, (*slicing.reasons(grouped=bool(request.keys)), why))


def _admitted(left: DataFrame, right: DataFrame, request: AntijoinRequest) -> tuple[Admitted, Admitted]:
    first, second = aligned(
        admit(left, request.left_period, "left", request.policy),
        admit(right, request.right_period, "right", request.policy),
        request.keys,
    )
    same_axis(first.columns.kind.type, second.columns.kind.type)
    return first, second
