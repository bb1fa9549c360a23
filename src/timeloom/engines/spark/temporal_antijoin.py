"""The sequenced anti-join on Spark."""

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import types as T

from timeloom.engines.spark.columns.faults import answer
from timeloom.engines.spark.columns.keys import aligned
from timeloom.engines.spark.columns.periods import period_writer, result_fields
from timeloom.engines.spark.columns.validity import JudgedFrame, judge_frame
from timeloom.engines.spark.sequenced.chain import Chain
from timeloom.engines.spark.sequenced.chain_columns import own_columns, read_columns
from timeloom.engines.spark.slicing.slices import Slicing
from timeloom.engines.tables.axes import same_axis
from timeloom.model.explanation import Explanation
from timeloom.model.naming import joined_columns
from timeloom.model.sequenced import AntijoinRequest, TemporalJoinRequest


def temporal_antijoin(left: DataFrame, right: DataFrame, request: AntijoinRequest, slices: int | None = None) -> Any:
    """Keep the sub-periods of left rows in which no right row is active. Nothing runs before an action."""
    return sub_periods(left, right, request, "anti", slices)


def sub_periods(left: DataFrame, right: DataFrame, request: AntijoinRequest, how: str, slices: int | None) -> Any:
    """The sub-periods of left rows in which no right row is a partner, or, if there is a condition, in which one is."""
    admitted = _admitted(left, right, request)
    writer = period_writer(*admitted, wide=False)
    by_name = {column.field.name: column for column in own_columns(admitted[0], writer)}
    layout = joined_columns(admitted[0].schema.names, [], request.keys, columns=request.columns)
    columns = [by_name[column.left] for column in layout]
    chain = Chain(
        "temporal_antijoin" if how == "anti" else "temporal_join",
        how,
        admitted,
        (request.keys.left, request.keys.right),
        (tuple(name for column in columns for _, name in column.sources), ()),
        _slicing(left, right, request, slices),
        request.algorithm,
        request.where,
        read_columns(admitted, _paired(request), writer),
    )
    schema = T.StructType(result_fields(admitted[0], [column.left for column in layout], writer))
    return answer(chain.result(chain.outputs(columns), schema, writer), admitted, request.policy)


def _slicing(left: DataFrame, right: DataFrame, request: AntijoinRequest, slices: int | None = None) -> Slicing:
    """How finely time is cut. With a condition it is not: what ends a remainder depends on rows, not on instants."""
    slices = slices if request.where is None else 1
    return Slicing.of(left.sparkSession, [left, right], slices, grouped=bool(request.keys))


def _paired(request: AntijoinRequest) -> TemporalJoinRequest:
    """The join whose pairs a condition judges."""
    return TemporalJoinRequest(
        request.keys,
        "inner",
        request.left_period,
        request.right_period,
        request.policy,
        request.suffixes,
        where=request.where,
    )


def explain_temporal_antijoin(left: DataFrame, right: DataFrame, request: AntijoinRequest) -> Explanation:
    """Say how an anti-join would run. Nothing runs."""
    admitted = _admitted(left, right, request)
    slicing = _slicing(left, right, request)
    facts = {
        "algorithm": "dip" if request.algorithm == "dip" else "cover",
        "keys": list(request.keys.left),
        **slicing.facts(grouped=bool(request.keys)),
    }
    if request.where is not None:
        facts["judged by"] = request.where.text
        why = "pairs are judged where all rows of a key are, so nothing is cut by time"
        return Explanation("temporal_antijoin", "spark", facts, (why,))
    why = "a remainder is found whole in the slice in which it begins, so no row needs an identity"
    reasons = (*slicing.reasons(grouped=bool(request.keys)), why)
    keys, columns = (request.keys.left, request.keys.right), (tuple(admitted[0].schema.names), ())
    chain = Chain("temporal_antijoin", "anti", admitted, keys, columns, slicing, request.algorithm)
    return Explanation("temporal_antijoin", "spark", facts, reasons, chain.forecast)


def _admitted(left: DataFrame, right: DataFrame, request: AntijoinRequest) -> tuple[JudgedFrame, JudgedFrame]:
    first, second = aligned(
        judge_frame(left, request.left_period, "left", request.policy),
        judge_frame(right, request.right_period, "right", request.policy),
        request.keys,
    )
    same_axis(first.columns.kind.type, second.columns.kind.type)
    return first, second
