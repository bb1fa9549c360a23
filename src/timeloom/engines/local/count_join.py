"""Counting joins on local tables."""

from typing import Any

import numpy as np
import pyarrow as pa

from timeloom.engines.admission import Admitted, admit, answer, merge_rejected
from timeloom.engines.axes import same_axis
from timeloom.engines.counting import SWEEPS, Counting, sweep_counts
from timeloom.engines.frames import require_columns, to_arrow
from timeloom.engines.keys import shared_keys
from timeloom.engines.local.count_aggregates import aggregate
from timeloom.engines.matching import Problem, Side
from timeloom.engines.threads import cores
from timeloom.model.count_join import CountRequest
from timeloom.model.explanation import Explanation


class LocalCount:
    """Two admitted tables, ready to be counted."""

    def __init__(self, left: object, right: object, request: CountRequest) -> None:
        self.request = request
        left_table, self.restore = to_arrow(left, "left")
        right_table, _ = to_arrow(right, "right")
        require_columns(left_table.column_names, list(request.keys.left), "left")
        wanted = [*request.keys.right, *(measure.column for measure in request.aggregates if measure.column)]
        require_columns(right_table.column_names, wanted, "right")
        request.check_names(left_table.column_names)
        self.left: Admitted = admit(left_table, request.left_period, "left", request.policy)
        self.right: Admitted = admit(right_table, request.right_period, "right", request.policy)
        self.boxes = request.relation.boxes(same_axis(self.left.ticks.type, self.right.ticks.type))
        self.problem = self._problem()

    @property
    def rejected(self) -> pa.Table:
        """The rows that take no part, of both sides."""
        return merge_rejected(self.left.rejected, self.right.rejected)

    def counts(self) -> np.typing.NDArray[np.int64]:
        """The count of each left row, by the algorithm asked for."""
        if self.request.algorithm in SWEEPS:
            return sweep_counts(self.problem, self.request.relation, self.request.algorithm)
        return Counting(self.problem, self.boxes).counts()

    def result(self) -> pa.Table:
        """The left table with its counts and aggregates."""
        table = self.left.table
        if not self.request.aggregates:
            return table.append_column(self.request.name, pa.array(self.counts()))
        counting = Counting(self.problem, self.boxes)
        counts = self.counts() if self.request.algorithm in SWEEPS else counting.counts()
        table = table.append_column(self.request.name, pa.array(counts))
        for measure in self.request.aggregates:
            column = aggregate(counting, counts, self.right.table, measure)
            table = table.append_column(measure.name, column)
        return table

    def _problem(self) -> Problem:
        left_keys = right_keys = None
        number = 0
        if self.request.keys:
            names = list(self.request.keys.left), list(self.request.keys.right)
            left_keys, right_keys, number = shared_keys(self.left.table, self.right.table, *names)
        return Problem.of(
            Side(self.left.starts, self.left.ends, left_keys),
            Side(self.right.starts, self.right.ends, right_keys),
            number,
            cores(),
        )


def count_join(left: object, right: object, request: CountRequest) -> Any:
    """Count the right rows of each left row."""
    task = LocalCount(left, right, request)
    return answer(task.result(), task.rejected, request.policy, task.restore)


def explain_count_join(left: object, right: object, request: CountRequest) -> Explanation:
    """Say how the counts would be made."""
    task = LocalCount(left, right, request)
    facts: dict[str, Any] = {
        "relation": repr(request.relation),
        "algorithm": request.algorithm,
        "left rows": len(task.problem.left),
        "right rows": len(task.problem.right),
        "keys": list(request.keys.left),
    }
    if request.algorithm in SWEEPS:
        return Explanation("count_join", "local", facts, ("it was asked for",))
    counting = Counting(task.problem, task.boxes)
    swept = counting.rows_to_sweep
    facts["algorithm"] = "dominance" if swept else "ranks"
    facts["swept rows"] = swept
    if swept:
        why = "both endpoints of a right row are bounded, so ranks alone do not tell how many satisfy both bounds"
    else:
        why = "each count is a sum and difference of ranks in the sorted starts and ends"
    return Explanation("count_join", "local", facts, (why,))
