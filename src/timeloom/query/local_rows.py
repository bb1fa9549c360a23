"""Rows of a query as an Arrow table."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeloom.engines.resources.threads import cores
from timeloom.engines.tables.gather import Source
from timeloom.engines.tables.key_types import plain_values
from timeloom.engines.tables.keys import group_keys
from timeloom.engines.tables.taking import chosen_rows, take_rows, taken
from timeloom.engines.tables.ticks import whole
from timeloom.engines.timelines.measure_task import Sweep
from timeloom.engines.timelines.measures import evaluate
from timeloom.model.measures import Measure
from timeloom.query.expressions import Evaluator
from timeloom.query.scope import Scope


class LocalRows:
    """An Arrow table, and the operations of SQL on it."""

    def __init__(self, frame: pa.Table) -> None:
        self.frame = frame

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.frame.column_names)

    def of(self, frame: pa.Table) -> "LocalRows":
        """Another table."""
        return LocalRows(frame)

    def filter(self, condition: Any, scope: Scope) -> "LocalRows":
        """Keep the rows for which a condition is true."""
        found = Evaluator(self.frame, scope).column(condition)
        if not pa.types.is_boolean(found.type):
            raise scope.error(
                condition, f"{condition.sql()} is {found.type}, expected a condition that is true or false"
            )
        return LocalRows(chosen_rows(self.frame, np.asarray(pc.fill_null(found, False))))

    def extended(self, items: "list[tuple[str, Any]]", scope: Scope) -> "LocalRows":
        """Add columns."""
        table, evaluator = self.frame, Evaluator(self.frame, scope)
        for name, node in items:
            table = table.append_column(name, evaluator.column(node))
        return LocalRows(table)

    def projected(self, items: "list[tuple[str, Any]]", scope: Scope) -> "LocalRows":
        """Compute columns; nothing else stays."""
        evaluator = Evaluator(self.frame, scope)
        return LocalRows(pa.table({name: evaluator.column(node) for name, node in items}))

    def grouped(self, keys: list[str], measures: tuple[Measure, ...]) -> "LocalRows":
        """Aggregate by keys, in the order in which the keys first appear; without keys there is one group.

        Groups are points of one axis, and rows are active at the point of their group.
        """
        table = self.frame
        codes = group_keys(table, keys)[0] if keys else np.zeros(table.num_rows, np.int64)
        _, leaders, groups = np.unique(codes, return_index=True, return_inverse=True)
        rank = np.empty(leaders.size, np.int64)
        rank[np.argsort(leaders)] = np.arange(leaders.size)
        points = rank[groups] if keys else codes
        filler = np.zeros(0 if keys else 1, np.int64)
        starts = np.concatenate([points, filler])
        swept = Sweep.of(starts, starts + 1, points.size, cores())
        source = Source(table)
        columns = {name: taken(table[name], pa.array(np.sort(leaders)), name) for name in keys}
        for measure in measures:
            column = None if measure.column is None else source.column(measure.column)
            columns |= evaluate(swept, [measure], column)
        return LocalRows(pa.table(columns))

    def sorted(self, keys: "list[tuple[str, bool, bool]]") -> "LocalRows":
        """Sort by columns, each (name, descending, nulls first); equal rows keep their order."""
        order = pa.array(np.arange(self.frame.num_rows))
        for name, descending, nulls_first in reversed(keys):
            column = plain_values(whole(taken(self.frame[name], order, name)))
            found = pc.array_sort_indices(
                column,
                order="descending" if descending else "ascending",
                null_placement="at_start" if nulls_first else "at_end",
            )
            order = order.take(found)
        return LocalRows(take_rows(self.frame, order))

    def distinct(self) -> "LocalRows":
        """Keep the first of equal rows."""
        return LocalRows(self.frame.group_by(self.columns, use_threads=False).aggregate([]))

    def sliced(self, offset: int, limit: "int | None") -> "LocalRows":
        """Skip rows, and keep at most so many."""
        return LocalRows(self.frame.slice(offset, limit))
