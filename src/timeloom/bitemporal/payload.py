"""The rows of an index with all their columns."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from timeloom.bitemporal.facts import Chunks, Facts
from timeloom.engines.tables.conditions import held
from timeloom.engines.tables.key_types import plain_values
from timeloom.engines.tables.taking import take_rows
from timeloom.engines.tables.ticks import whole
from timeloom.kernels.bitemporal.windows import Ticks
from timeloom.model.conditions import Condition


@dataclass(frozen=True)
class Payload:
    """The rows of an index by their numbers; ``positions`` says where a number stands."""

    schema: pa.Schema
    chunks: Chunks
    positions: Callable[[Ticks], Ticks]

    def rows(self, numbers: Ticks, columns: "list[str] | None" = None) -> pa.Table:
        """Rows by their numbers, in any order."""
        schema = self.schema if columns is None else pa.schema([self.schema.field(name) for name in columns])
        chunks = self.chunks if columns is None else tuple(chunk.select(columns) for chunk in self.chunks)
        rows = self.positions(numbers)
        if rows.size < 2 or bool((rows[1:] >= rows[:-1]).all()):
            return self._joined(schema, Facts(chunks).taken(rows))
        order = np.argsort(rows, kind="stable")
        back = np.empty(order.size, np.int64)
        back[order] = np.arange(order.size)
        return take_rows(self._joined(schema, Facts(chunks).taken(rows[order])), pa.array(back))

    def values(self, column: str, numbers: Ticks) -> pa.Array:
        """The values of one column."""
        return plain_values(whole(self.rows(numbers, [column])[column]))

    def satisfying(self, condition: Condition, numbers: Ticks) -> Ticks:
        """Those rows among some that satisfy a condition."""
        if not numbers.size:
            return numbers
        names = condition.resolve(self.schema.names)
        table = self.rows(numbers, list(dict.fromkeys(names.values())))
        columns = {name: table[column] for name, column in names.items()}
        return numbers[held(condition, columns, numbers.size)]

    @staticmethod
    def _joined(schema: pa.Schema, parts: list[pa.Table]) -> pa.Table:
        return pa.concat_tables([schema.empty_table(), *parts], promote_options="default")
