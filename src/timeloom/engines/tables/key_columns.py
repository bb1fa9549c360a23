"""Key columns of joined tables: in the type that both sides share, from whichever side a result row has."""

import numpy as np
import pyarrow as pa

from timeloom.engines.tables.gather import NO_ROW, Rows, Source, positions
from timeloom.engines.tables.key_types import as_key
from timeloom.engines.tables.keys import shared_type
from timeloom.engines.tables.ticks import whole
from timeloom.model.naming import Keys, OutputColumn


class JoinedSources:
    """Two tables to take the rows of a join from. Their keys have the common type, whatever the kind of join."""

    def __init__(self, left: pa.Table, right: pa.Table, keys: Keys) -> None:
        kinds = [_key_type(left, right, names) for names in zip(keys.left, keys.right, strict=True)]
        self._rows = left.num_rows
        self.left = Source(_with_keys(left, keys.left, kinds))
        self.right = Source(_with_keys(right, keys.right, kinds))
        self._both: dict[str, Source] = {}

    def key(self, column: OutputColumn, lefts: Rows, rights: Rows) -> pa.ChunkedArray:
        """A key of result rows: the left row's, or the right row's where there is no left one."""
        absent = lefts == NO_ROW
        if not absent.any():
            return self.left.take(column.left, positions(lefts))
        if column.name not in self._both:
            self._both[column.name] = self._stacked(column)
        rows = np.where(absent, rights.astype(np.int64) + self._rows, lefts)
        return self._both[column.name].take(column.name, pa.array(rows))

    def _stacked(self, column: OutputColumn) -> Source:
        """A key of both sides in one column, the left one's first."""
        both = pa.concat_arrays([self.left.column(column.left), self.right.column(column.right)])
        return Source(pa.table({column.name: both}))


def _key_type(left: pa.Table, right: pa.Table, names: tuple[str, str]) -> pa.DataType:
    """The common type; of dictionaries, with indices that can tell the values of both sides apart."""
    kind = shared_type(left.schema, right.schema, names)
    if pa.types.is_dictionary(kind):
        sides = (table[name] for table, name in zip((left, right), names, strict=True))
        try:
            pa.concat_arrays([whole(side) for side in sides if side.type == kind])
        except pa.ArrowInvalid:
            return pa.dictionary(pa.int32(), kind.value_type, ordered=kind.ordered)
    return kind


def _with_keys(table: pa.Table, names: tuple[str, ...], kinds: list[pa.DataType]) -> pa.Table:
    for name, kind in zip(names, kinds, strict=True):
        if table.schema.field(name).type != kind:
            at = table.column_names.index(name)
            field = table.schema.field(at).with_type(kind)
            table = table.set_column(at, field, as_key(table[name], kind, name))
    return table
