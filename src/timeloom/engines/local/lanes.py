"""Lanes of rows that do not overlap, on local tables."""

from typing import Any

from timeloom.engines.resources.threads import cores
from timeloom.engines.tables.frames import to_arrow
from timeloom.engines.tables.validity import answer
from timeloom.engines.timelines.laying_out import lanes_table
from timeloom.model.sequenced import LanesRequest


def lanes(df: object, request: LanesRequest) -> Any:
    """Add the lane of each row."""
    table, restore = to_arrow(df, "input")
    result, rejected = lanes_table(table, request, cores())
    return answer(result, rejected, request.policy, restore)
