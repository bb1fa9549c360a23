"""Periods cut at a grid, on Spark: by Spark itself where it can, otherwise each batch by itself, where it is."""

from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from timeloom.engines.spark.columns.cutting import cut_in_sql, lines_in_sql
from timeloom.engines.spark.columns.validity import judge_frame
from timeloom.engines.spark.sequenced.whole_groups import by_batch, handed_out, inner_policy
from timeloom.engines.timelines.splitting import split_table
from timeloom.model.sequenced import SplitRequest


def split(df: DataFrame, request: SplitRequest) -> Any:
    """Cut each row at the lines of a grid. Nothing runs before an action."""
    admitted = judge_frame(df, request.period, "input", request.policy)
    lines = lines_in_sql(admitted, request)
    if lines is not None:
        return handed_out(cut_in_sql(admitted, request, lines).toDF(*admitted.schema.names), [admitted], request.policy)
    inner = replace(request, policy=inner_policy(request.policy))
    result = by_batch(admitted.rows, admitted.schema, partial(_split, inner))
    return handed_out(result, [admitted], request.policy)


def _split(request: SplitRequest, table: pa.Table) -> pa.Table:
    return split_table(table, request)[0]
