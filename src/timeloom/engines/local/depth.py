"""Depth over time on local tables."""

from typing import Any

import numpy as np
import pyarrow as pa

from timeloom.engines.admission import admit, answer
from timeloom.engines.folding import Fold
from timeloom.engines.frames import require_columns, to_arrow
from timeloom.engines.keys import group_keys
from timeloom.errors import UsageError
from timeloom.kernels.aggregate import timeline
from timeloom.model.period import Period
from timeloom.model.policy import Policy


def depth(df: object, by: tuple[str, ...], period: Period, policy: Policy, name: str) -> Any:
    """Tell how many rows are active, between each endpoint and the next, where any is."""
    table, restore = to_arrow(df, "input")
    require_columns(table.column_names, list(by), "input")
    taken = [*by, period.start, period.end, name]
    if len(set(taken)) < len(taken):
        raise UsageError(f"the result would have a column twice: {', '.join(map(repr, taken))}; choose another name=")
    admitted = admit(table, period, "input", policy)
    groups, number = group_keys(admitted.table, list(by))
    fold = Fold.over([admitted.starts, admitted.ends], number)
    line = timeline(fold.points(admitted.starts, groups), fold.points(admitted.ends, groups))
    columns = {}
    if by:
        member = np.zeros(number, np.int64)
        member[groups] = np.arange(groups.size)
        rows = pa.array(member[line.starts // fold.width])
        columns = {key: admitted.table[key].take(rows) for key in by}
    columns[period.start] = admitted.ticks.write_starts(fold.unfold(line.starts))
    columns[period.end] = admitted.ticks.write_ends(fold.unfold(line.ends))
    columns[name] = pa.array(line.active.astype(np.int64))
    return answer(pa.table(columns), admitted.rejected, policy, restore)
