"""Joins by a key through an index for each key: few rows look up theirs."""

from dataclasses import replace
from typing import Any

import pyarrow as pa

from timeloom.engines.indexes.verbs import ALWAYS_FEW, FEW
from timeloom.engines.indexes.verbs import join as through_index
from timeloom.engines.tables.frames import require_columns, to_arrow
from timeloom.engines.tables.indexes import KeyedIndex
from timeloom.engines.tables.taking import stacked, take_rows
from timeloom.model.join import JoinRequest
from timeloom.model.naming import Keys


def join(left: object, right: KeyedIndex, request: JoinRequest) -> Any:
    """Join each key's rows through its index; None where the ordinary join must do it."""
    by, kind = right.__timeloom_keys__()
    if request.keys.right != (by,) or request.how not in ("inner", "left"):
        return None
    table, restore = to_arrow(left, "left")
    name = request.keys.left[0]
    require_columns(table.column_names, [name], "left")
    few = table.num_rows <= ALWAYS_FEW or table.num_rows * FEW <= len(right)
    if not few or table[name].type != kind or not table.num_rows:
        return None
    rows: dict[Any, list[int]] = {}
    for row, key in enumerate(table[name].to_pylist()):
        rows.setdefault(key, []).append(row)
    rest, parts = replace(request, keys=Keys()), []
    for key, positions in rows.items():
        found = through_index(take_rows(table, pa.array(positions)), right.of(key), rest)
        if found is None:
            return None
        parts.append(found)
    return restore(stacked(parts))
