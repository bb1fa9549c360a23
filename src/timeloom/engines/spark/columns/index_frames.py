"""Indexes beside DataFrames, as the DataFrames of what they export."""

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame

from timeloom.engines.spark.cluster.versions import from_arrow_schema
from timeloom.engines.tables.frames import to_arrow
from timeloom.engines.tables.marks import is_index, is_keyed, is_spark


def two_frames(left: Any, right: Any) -> tuple[DataFrame, DataFrame]:
    """Two DataFrames, or one and an index."""
    first, second = as_frames([left, right])
    return first, second


def as_frames(frames: Sequence[Any]) -> list[DataFrame]:
    """Each DataFrame as it is, and each index as one of the same session; one of them is a DataFrame."""
    session = next(frame for frame in frames if is_spark(frame)).sparkSession
    found = []
    for frame in frames:
        if is_index(frame) or is_keyed(frame):
            table, _ = to_arrow(frame, "indexed")
            # by itself Spark gives timestamps without zone the zone of its session: they would change their axis
            found.append(session.createDataFrame(table, from_arrow_schema(table.schema)))
        else:
            found.append(frame)
    return found
