"""As-of joins of local tables of instants, and tables with two periods as they were believed at an instant."""

from typing import Any

import pyarrow as pa

from timeloom.engines.joins.as_of import as_of_tables
from timeloom.engines.joins.two_tables import TwoTables
from timeloom.engines.local.stab import stab
from timeloom.engines.resources.threads import cores
from timeloom.engines.tables.frames import to_arrow
from timeloom.engines.tables.validity import Quarantined, answer
from timeloom.model.explanation import Explanation
from timeloom.model.neighbours import AsOfRequest, BitemporalAsOfRequest
from timeloom.model.stab import StabRequest


def as_of(left: object, right: object, request: AsOfRequest) -> Any:
    """Give each left row the right row that is in force at its instant."""
    result, tables = as_of_tables(left, right, request, cores())
    return answer(result, tables.rejected, request.policy, tables.restore)


def believed(df: object, request: BitemporalAsOfRequest) -> Any:
    """Keep the rows whose periods hold the instants that were asked for."""
    table, restore = to_arrow(df, "input")
    rejected = []
    for at, period in request.instants:
        found = stab(table, StabRequest.of(at, period, request.policy))
        table = found
        if isinstance(found, Quarantined):
            table = found.result
            rejected.append(found.rejected)
    return answer(table, pa.concat_tables(rejected) if rejected else table, request.policy, restore)


def explain_as_of(left: object, right: object, request: AsOfRequest) -> Explanation:
    """Say how an as-of join would run."""
    tables = TwoTables(left, right, request)
    ours, theirs = tables.left.starts, tables.right.starts
    ordered = all((ticks[1:] >= ticks[:-1]).all() for ticks in (ours, theirs))
    algorithm = "merge" if ordered else "look-up"
    facts = {
        "algorithm": algorithm,
        "direction": request.direction,
        "left rows": len(ours),
        "right rows": len(theirs),
        "keys": list(request.keys.left),
    }
    return Explanation("as_of", "local", facts, (_WHY[algorithm],))


_WHY = {
    "merge": "both sides are in order of time: they are passed once, and each key remembers the last row it has seen",
    "look-up": "a side is in no order of time: the right one is sorted by key and time, and left rows look it up",
}
