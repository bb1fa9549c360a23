"""Plans of verbs that run in one way only, on local tables."""

from collections.abc import Sequence

from timeloom.engines.tables.frames import require_columns, to_arrow
from timeloom.model.explanation import Explanation
from timeloom.model.one_way import ONE_WAY, OneWayRequest, columns_of


def explain_one_way(verb: str, tables: Sequence[object], request: OneWayRequest) -> Explanation:
    """Say what a verb does with so many rows. Nothing runs."""
    rows = []
    for table, (side, names) in zip(tables, columns_of(request), strict=True):
        given, _ = to_arrow(table, side)
        require_columns(given.column_names, names, side)
        rows.append(given.num_rows)
    found = ONE_WAY[verb]
    facts = {"algorithm": found.algorithm, "rows": rows[0] if len(rows) == 1 else rows}
    return Explanation(verb, "local", facts, (found.why,))
