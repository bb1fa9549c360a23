"""Steps of a window query over a table, for every engine: the rows inside, measured, listed, or told by changes."""

from functools import partial

import numpy as np
import pyarrow as pa

from timeloom.engines.resources.memory import require_room
from timeloom.engines.resources.threads import aside, in_parallel
from timeloom.engines.tables.gather import Source
from timeloom.engines.tables.taking import take_rows
from timeloom.engines.tables.validity import admit
from timeloom.engines.timelines.measure_task import Sweep
from timeloom.engines.timelines.measures import CallFailedError, evaluate
from timeloom.engines.windows.history import History
from timeloom.engines.windows.slides import written_windows
from timeloom.errors import InvalidInputError
from timeloom.kernels.bitemporal.windows import Ticks, Windows
from timeloom.model.measures import Measure
from timeloom.model.policy import Policy
from timeloom.model.sliding_windows import BOUNDS, CHANGE, STEP, WindowRequest

MEMBER_BYTES = 32
"""What a row inside a step takes while it is put in order: its number, its step and their positions."""


def admit_history(table: pa.Table, request: WindowRequest) -> tuple[pa.Table, pa.Table]:
    """Treat rows with an invalid period as the policy says; an empty period is valid, and never inside."""
    policy = Policy(request.policy.on_invalid, "point")
    by_system = admit(table, request.sys_period, "input", policy)
    by_both = admit(by_system.table, request.app_period, "input", policy)
    return by_both.table, pa.concat_tables([by_system.rejected, by_both.rejected])


def window_columns(windows: Windows, history: History) -> dict[str, pa.Array]:
    """The windows of all steps, in the types of the table."""
    axes = (history.types[0], history.types[0], history.types[1], history.types[1])
    return {name: written_windows(windows[k], axes[k], name) for k, name in enumerate(BOUNDS)}


def step_sweep(enter: Ticks, leave: Ticks, steps: int, threads: int) -> Sweep:
    """The timeline of all steps: runs are periods on the axis of steps, and fillers make every step appear."""
    axis = np.arange(steps + 1, dtype=np.int64)
    starts, ends = np.concatenate([enter, axis]), np.concatenate([leave, axis + 1])
    return Sweep.of(starts, ends, enter.size, threads, in_row_order=True)


def step_measures(
    table: pa.Table, enter: Ticks, leave: Ticks, steps: int, measures: tuple[Measure, ...], threads: int
) -> dict[str, pa.Array]:
    """Every measure at every step."""
    rows = np.flatnonzero(enter < leave)
    swept = aside(partial(step_sweep, enter[rows], leave[rows], steps, threads))
    names = list(dict.fromkeys(measure.column for measure in measures))
    inside = Source(take_rows(table.select([name for name in names if name is not None]), pa.array(rows)))
    tasks = [
        partial(
            evaluate,
            swept,
            [measure for measure in measures if measure.column == name],
            None if name is None else inside.column(name),
        )
        for name in names
    ]
    try:
        ours = all(isinstance(measure.function, str) for measure in measures)
        results = aside(in_parallel, tasks, threads) if ours else in_parallel(tasks, threads)
    except CallFailedError as error:
        raise InvalidInputError(
            f"select {error.measure.name!r}: its function raised {error} for step {error.period}"
        ) from error
    found = {name: column for result in results for name, column in result.items()}
    return {measure.name: found[measure.name] for measure in measures}


def changes(table: pa.Table, enter: Ticks, leave: Ticks, steps: int) -> pa.Table:
    """Two rows for each row that is ever inside: +1 at the step it enters, -1 at the step it leaves, by step."""
    _refuse_columns(table, (STEP, CHANGE))
    entering = np.flatnonzero(enter < leave)
    leaving = entering[leave[entering] <= steps]
    rows = np.concatenate([entering, leaving])
    step = np.concatenate([enter[entering], leave[leaving]])
    change = np.concatenate([np.ones(entering.size, np.int8), np.full(leaving.size, -1, np.int8)])
    order = np.lexsort((rows, change, step))
    taken = take_rows(table, pa.array(rows[order]))
    return taken.add_column(0, STEP, pa.array(step[order])).add_column(1, CHANGE, pa.array(change[order]))


def members(table: pa.Table, enter: Ticks, leave: Ticks) -> pa.Table:
    """One row for each step and row inside it, by step."""
    _refuse_columns(table, (STEP,))
    lengths = leave - enter
    row_bytes = MEMBER_BYTES + table.nbytes / max(1, table.num_rows)
    require_room(int(lengths.sum()), row_bytes, "ask for deltas=True, for fewer steps, or for aggregates")
    rows = np.repeat(np.arange(enter.size), lengths)
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)[:-1]]) if lengths.size else lengths
    step = np.arange(rows.size) - np.repeat(before - enter, lengths)
    order = np.argsort(step, kind="stable")
    return take_rows(table, pa.array(rows[order])).add_column(0, STEP, pa.array(step[order]))


def _refuse_columns(table: pa.Table, names: tuple[str, ...]) -> None:
    for name in names:
        if name in table.column_names:
            raise InvalidInputError(f"the input table has a column {name!r}, which the result needs; rename it")
