"""Two tables as sets or bags of values at every instant."""

from typing import Any

import numpy as np
import pyarrow as pa

from timeloom.engines.resources.threads import cores
from timeloom.engines.tables.axes import same_axis
from timeloom.engines.tables.frames import beside, to_arrow
from timeloom.engines.tables.key_types import as_key
from timeloom.engines.tables.keys import shared_type
from timeloom.engines.tables.period_writer import PeriodWriter
from timeloom.engines.tables.validity import Admitted, admit, answer, merge_rejected
from timeloom.engines.timelines.grouped import Grouped
from timeloom.errors import UsageError
from timeloom.kernels.order import sort
from timeloom.kernels.sequenced.multiplicities import UNION, combine
from timeloom.model.sequenced import TemporalSetRequest

NO_VALUE = "value"


class ValueSets:
    """Two admitted tables with the same columns, one below the other in the types that they share."""

    def __init__(self, left: object, right: object, request: TemporalSetRequest) -> None:
        self.request = request
        left_table, restore = to_arrow(left, "left")
        right_table, other = to_arrow(right, "right")
        self.restore = beside(restore, other, ("", ""))
        self.left: Admitted = admit(left_table, request.left_period, "left", request.policy)
        self.right: Admitted = admit(right_table, request.right_period, "right", request.policy)
        same_axis(self.left.ticks.type, self.right.ticks.type)
        self.values = [name for name in left_table.column_names if name not in request.left_period.columns]
        _require_same(self.values, right_table.column_names, request)
        self.writer = PeriodWriter.of([self.left.ticks, self.right.ticks], request.policy)
        self.names = self.left.ticks.period.placed(left_table.column_names)

    def stacked(self) -> pa.Table:
        """The values of both tables, the left ones first."""
        columns = {}
        for name in self.values:
            tables = self.left.table, self.right.table
            kind = shared_type(tables[0].schema, tables[1].schema, (name, name))
            parts = [as_key(table[name], kind, name) for table in tables]
            columns[name] = pa.chunked_array([chunk for part in parts for chunk in part.chunks], kind)
        return pa.table(columns) if columns else pa.table({NO_VALUE: pa.nulls(self.rows)}).select([])

    @property
    def rows(self) -> int:
        """The rows of both tables."""
        return self.left.starts.size + self.right.starts.size

    def concatenated(self) -> pa.Table:
        """All rows of both tables as they are."""
        values = self.stacked()
        starts, ends = (np.concatenate(pair) for pair in self._ends)
        return self._table({name: values[name] for name in self.values} | self.writer.columns(starts, ends))

    def combined(self, mode: int) -> pa.Table:
        """The result of a set operation at every instant."""
        values = self.stacked()
        starts, ends = (np.concatenate(pair) for pair in self._ends)
        grouped = Grouped.of(values, starts, ends, self.values)
        size = self.left.starts.size
        times = np.concatenate([grouped.starts[:size], grouped.ends[:size], grouped.starts[size:], grouped.ends[size:]])
        kinds = np.repeat(np.arange(4, dtype=np.int32), [size, size, self.rows - size, self.rows - size])
        order = sort(times, cores())
        found = combine(order.values, kinds[order.ids], mode, self.request.all)
        by_position = np.lexsort((found[1], found[0]))
        return self._table(
            grouped.columns(values, self.values, self.writer, found[0][by_position], found[1][by_position])
        )

    @property
    def _ends(self) -> "tuple[tuple[Any, Any], tuple[Any, Any]]":
        return (self.left.starts, self.right.starts), (self.left.ends, self.right.ends)

    def _table(self, columns: "dict[str, Any]") -> pa.Table:
        return pa.table({name: columns[name] for name in self.names})

    def table(self, mode: int) -> pa.Table:
        """The result; a bag of all rows is both tables, one below the other."""
        keeps_rows = mode == UNION and self.request.all
        return self.concatenated() if keeps_rows else self.combined(mode)

    def result(self, mode: int) -> Any:
        """What the user gets."""
        return answer(
            self.table(mode), merge_rejected(self.left.rejected, self.right.rejected), self.request.policy, self.restore
        )


def _require_same(values: list[str], right: list[str], request: TemporalSetRequest) -> None:
    theirs = [name for name in right if name not in request.right_period.columns]
    if sorted(values) != sorted(theirs):
        only = sorted({*values} ^ {*theirs})
        raise UsageError(
            f"the tables are compared by value and need the same columns beside their periods, but "
            f"one of them alone has {', '.join(map(repr, only))}; select or rename first"
        )
