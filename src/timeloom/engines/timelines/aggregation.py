"""Temporal aggregation of groups: the timeline, and every measure of it. For every engine."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from timeloom.engines.resources.threads import MANY_PAIRS, aside, in_parallel
from timeloom.engines.tables.arrays import from_numpy
from timeloom.engines.tables.gather import Source
from timeloom.engines.tables.taking import take_rows
from timeloom.engines.timelines.grouped import Grouped, Rows
from timeloom.engines.timelines.measure_task import Sweep
from timeloom.engines.timelines.measures import CallFailedError, evaluate
from timeloom.errors import InvalidInputError
from timeloom.model.measures import Measure
from timeloom.model.sequenced import AggregateRequest


def sweep(grouped: Grouped, request: AggregateRequest, threads: int) -> Sweep:
    """Make the timeline; to show empty time, a filler without values spans each group."""
    starts, ends = grouped.starts, grouped.ends
    if request.fill:
        low, high, _ = grouped.spans()
        starts, ends = np.concatenate([starts, low]), np.concatenate([ends, high])
    swept = Sweep.of(starts, ends, grouped.starts.size, threads, dip=request.algorithm == "dip")
    return replace(swept, line=grouped.cut(swept.line))


def measured(
    swept: Sweep, measures: tuple[Measure, ...], table: pa.Table, rows: Rows, periods: "dict[str, Any]"
) -> "dict[str, pa.Array]":
    """Measures of some rows: those that share counts or sums of a column one after the other, the rest side by side.

    The user's own functions are called one at a time, by the thread that called the verb.
    """
    wanted = table.select(sorted({measure.column for measure in measures if measure.column is not None}))
    whole = rows.size == table.num_rows and np.array_equal(rows, np.arange(rows.size))
    source = Source(wanted if whole else take_rows(wanted, from_numpy(rows)))
    ours: dict[Any, list[Measure]] = {}
    theirs: dict[Any, list[Measure]] = {}
    for measure in measures:
        apart = measure.aggregate is None or not measure.aggregate.reversible
        tasks = theirs if callable(measure.function) else ours
        tasks.setdefault((measure.column, measure.name if apart else ""), []).append(measure)

    def task(column: str | None, some: list[Measure]) -> Callable[[], dict[str, pa.Array]]:
        return partial(evaluate, swept, some, None if column is None else source.column(column))

    try:
        compiled = [task(column, some) for (column, _), some in ours.items()]
        pairs = len(swept.line.by_start) ** 2
        results = aside(in_parallel, compiled, swept.threads if pairs >= MANY_PAIRS else 1, pairs=pairs)
        results += [task(column, some)() for (column, _), some in theirs.items()]
    except CallFailedError as error:
        at = {name: column[error.period].as_py() for name, column in periods.items()}
        where = ", ".join(f"{name}={value}" for name, value in at.items())
        raise InvalidInputError(
            f"aggregate {error.measure.name!r}: its function raised {error} for the period with {where}"
        ) from error
    found = {name: column for result in results for name, column in result.items()}
    return {measure.name: found[measure.name] for measure in measures}
