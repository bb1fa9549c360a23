"""Patterns of named events on local tables."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from timeloom.engines.joins.chains import chained
from timeloom.engines.joins.problem import Side
from timeloom.engines.resources.threads import aside, cores
from timeloom.engines.tables.axes import same_axis
from timeloom.engines.tables.frames import require_columns, to_arrow
from timeloom.engines.tables.keys import keys_of_all
from timeloom.engines.tables.taking import taken
from timeloom.engines.tables.validity import Admitted, admit
from timeloom.model.explanation import Explanation
from timeloom.model.pattern import PatternRequest
from timeloom.model.ticks import Axis


def pattern(tables: Mapping[str, object], request: PatternRequest) -> Any:
    """The matches of a pattern, one row each."""
    admitted, restore, axis = _admitted(tables, request)
    output = request.output({name: some.table.column_names for name, some in admitted.items()})
    rows = aside(_matches, admitted, request, axis)
    columns = {}
    for name, (table, column) in output.items():
        columns[name] = taken(admitted[table].table[column], pa.array(rows[table]), column)
    if not columns:
        return restore(pa.table({}))
    kinds = keys_of_all([some.table for some in admitted.values()], list(request.keys))[2]
    return restore(pa.table({name: found.cast(kinds.get(name, found.type)) for name, found in columns.items()}))


def explain_pattern(tables: Mapping[str, object], request: PatternRequest) -> Explanation:
    """Say in which order a pattern would be joined."""
    admitted, _, axis = _admitted(tables, request)
    counts = {name: some.starts.size for name, some in admitted.items()}
    return explained("local", request, axis, {"rows": ", ".join(f"{name} {count}" for name, count in counts.items())})


def explained(engine: str, request: PatternRequest, axis: Axis, more: dict[str, Any]) -> Explanation:
    """The chain of a pattern in words."""
    first, steps = request.pattern.steps(axis)
    facts = {"keys": list(request.keys), "begins with": first} | {
        f"step {number}": str(step) for number, step in enumerate(steps, 1)
    }
    why = "relations with the most bounds come first; a table is joined by one relation, and judged by its others"
    return Explanation("pattern", engine, facts | more, (why,))


def _admitted(tables: Mapping[str, object], request: PatternRequest) -> tuple[dict[str, Admitted], Any, Axis]:
    read = {name: to_arrow(frame, name) for name, frame in tables.items()}
    found: dict[str, Admitted] = {}
    for name, (table, _) in read.items():
        require_columns(table.column_names, list(request.keys), name)
        found[name] = admit(table, request.periods[name], name, request.policy)
    first, *others = found.values()
    axis = first.ticks.type.axis
    for other in others:
        axis = same_axis(first.ticks.type, other.ticks.type)
    request.pattern.require_possible(axis)
    return found, next(iter(read.values()))[1], axis


def _matches(admitted: dict[str, Admitted], request: PatternRequest, axis: Axis) -> dict[str, np.ndarray[Any, Any]]:
    keys, count, _ = keys_of_all([some.table for some in admitted.values()], list(request.keys))
    sides = {
        name: Side(some.starts, some.ends, numbers if request.keys else None)
        for (name, some), numbers in zip(admitted.items(), keys, strict=True)
    }
    return chained(request.pattern, sides, count if request.keys else 0, axis, cores())
