"""Lanes of rows that do not overlap, on Spark: a task takes a group whole."""

from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from timeloom.engines.spark.columns.validity import judge_frame
from timeloom.engines.spark.sequenced.whole_groups import (
    by_group,
    handed_out,
    inner_policy,
)
from timeloom.engines.tables.frames import require_columns
from timeloom.engines.timelines.laying_out import lanes_table
from timeloom.model.sequenced import LanesRequest


def lanes(df: DataFrame, request: LanesRequest) -> Any:
    """Add the lane of each row. Nothing runs before an action."""
    admitted = judge_frame(df, request.period, "input", request.policy)
    require_columns(admitted.schema.names, list(request.by), "input")
    inner = replace(request, policy=inner_policy(request.policy))
    work = partial(_lanes, inner)
    return handed_out(by_group(admitted.rows, request.by, admitted.schema, work, ()), [admitted], request.policy)


def _lanes(request: LanesRequest, table: pa.Table) -> pa.Table:
    return lanes_table(table, request)[0]
