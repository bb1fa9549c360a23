"""What is wrong with a local table of periods."""

from typing import Any

from timeloom.engines.resources.threads import aside, cores
from timeloom.engines.tables.frames import to_arrow
from timeloom.engines.timelines.faults import faults_of
from timeloom.model.sequenced import CheckRequest


def check(df: object, request: CheckRequest) -> Any:
    """List the faults of a table."""
    table, restore = to_arrow(df, "input")
    return restore(aside(faults_of, request, table, cores(), pairs=len(table) ** 2))
