"""Counting joins on local tables."""

from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeloom.engines.counts.aggregates import aggregate
from timeloom.engines.counts.counting import Counting, counts_by
from timeloom.engines.joins.estimates import sampled
from timeloom.engines.joins.problem import Problem, Side
from timeloom.engines.resources.threads import aside, cores
from timeloom.engines.tables.axes import same_axis
from timeloom.engines.tables.frames import require_columns, to_arrow
from timeloom.engines.tables.keys import shared_keys
from timeloom.engines.tables.validity import Admitted, admit, answer, merge_rejected
from timeloom.model.count_join import CountRequest
from timeloom.model.explanation import Explanation


class LocalCount:
    """Two admitted tables, ready to be counted."""

    def __init__(self, left: object, right: object, request: CountRequest) -> None:
        self.request = request
        left_table, self.restore = to_arrow(left, "left")
        right_table, _ = to_arrow(right, "right")
        require_columns(left_table.column_names, list(request.keys.left), "left")
        wanted = [
            *request.keys.right,
            *(measure.column for measure in request.aggregates if measure.column is not None),
        ]
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

    def counts(self) -> NDArray[np.int64]:
        """The count of each left row."""
        return counts_by(self.request.chosen, self.problem, lambda: self.counting)

    def counted(self) -> pa.Table:
        """The left table with its counts and aggregates; an interrupt need not wait for it."""
        return aside(self._counted, pairs=len(self.left.starts) * len(self.right.starts))

    def _counted(self) -> pa.Table:
        counts = self.counts()
        table = self.left.table.append_column(self.request.name, pa.array(counts))
        for measure in self.request.aggregates:
            column = aggregate(self.counting, counts, self.right.table, measure)
            table = table.append_column(measure.name, column)
        return table

    @cached_property
    def counting(self) -> Counting:
        """The rectangles of the left rows over the right ones."""
        return Counting(self.problem, self.boxes)

    def _problem(self) -> Problem:
        left_keys = right_keys = None
        number = 0
        if self.request.keys:
            names = list(self.request.keys.left), list(self.request.keys.right)
            left_keys, right_keys, number = shared_keys(self.left.table, self.right.table, *names, cores())
        return Problem.of(
            Side(self.left.starts, self.left.ends, left_keys),
            Side(self.right.starts, self.right.ends, right_keys),
            number,
            cores(),
        )


def count_join(left: object, right: object, request: CountRequest) -> Any:
    """Count the right rows of each left row."""
    task = LocalCount(left, right, request)
    return answer(task.counted(), task.rejected, request.policy, task.restore)


def explain_count_join(left: object, right: object, request: CountRequest) -> Explanation:
    """Say how the counts would be made."""
    task = LocalCount(left, right, request)
    facts: dict[str, Any] = {
        "relation": repr(request.relation),
        "algorithm": request.chosen,
        "left rows": len(task.problem.left),
        "right rows": len(task.problem.right),
        "keys": list(request.keys.left),
    }
    if request.chosen == "dominance":
        some = sampled(task.problem)
        swept = Counting(some, task.boxes).rows_to_sweep
        facts["swept rows"] = round(swept * len(task.problem.left) / max(1, len(some.left)))
    return Explanation("count_join", "local", facts, (_reason(request, facts),))


def _reason(request: CountRequest, facts: dict[str, Any]) -> str:
    if request.algorithm != "auto":
        return "it was asked for"
    if request.chosen == "ranks":
        return "the rows that have started, less those that have ended: two ranks in sorted endpoints"
    if facts["swept rows"]:
        return "starts and ends are both bounded, and for the swept rows ranks do not tell how many satisfy both"
    return "every count is a sum and difference of ranks in the sorted starts and ends"
