"""Periods cut at a grid, on local tables."""

from typing import Any

from timeloom.engines.resources.threads import cores
from timeloom.engines.tables.frames import to_arrow
from timeloom.engines.tables.validity import answer
from timeloom.engines.timelines.splitting import split_table
from timeloom.model.sequenced import SplitRequest


def split(df: object, request: SplitRequest) -> Any:
    """Cut each row at the lines of a grid."""
    table, restore = to_arrow(df, "input")
    result, rejected = split_table(table, request, cores())
    return answer(result, rejected, request.policy, restore)
