"""The nearest rows, on local tables."""

from typing import Any

from timeloom.engines.indexes.nearest_left import reason
from timeloom.engines.joins.nearest import nearest_tables
from timeloom.engines.joins.two_tables import TwoTables
from timeloom.engines.resources.threads import cores
from timeloom.engines.tables.marks import is_index
from timeloom.engines.tables.validity import answer
from timeloom.model.explanation import Explanation
from timeloom.model.neighbours import NearestRequest


def nearest(left: object, right: object, request: NearestRequest) -> Any:
    """Find the k nearest right rows of each left row."""
    result, tables = nearest_tables(left, right, request, cores())
    return answer(result, tables.rejected, request.policy, tables.restore)


def explain_nearest(left: object, right: object, request: NearestRequest) -> Explanation:
    """Say how neighbours would be found."""
    tables = TwoTables(left, right, request)
    facts = {
        "algorithm": "walk",
        "k": request.k,
        "direction": request.direction,
        "left rows": len(tables.left.starts),
        "right rows": len(tables.right.starts),
        "keys": list(request.keys.left),
    }
    why = "from each left row outwards over sorted starts and ends, so only neighbours are looked at"
    index = is_index(left) or is_index(right)
    return Explanation("nearest", "local", facts, (why, reason(left, request)) if index else (why,))
