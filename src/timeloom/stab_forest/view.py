"""One state of a forest as rows of a table: what verbs read of it."""

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from timeloom.engines.tables.taking import taken
from timeloom.engines.tables.ticks import TimeType, shift_ticks
from timeloom.errors import TimeloomError
from timeloom.kernels.order import Ticks
from timeloom.kernels.stab_forest.layout import ends_of
from timeloom.model.period import Period
from timeloom.model.ticks import FOREVER, Axis
from timeloom.stab_forest.index import EventIndex
from timeloom.stab_forest.instants import INTEGER

OWN = ("id", "start", "end")
"""The columns of a forest without a payload."""

_INT64, _DATE = pa.int64(), pa.date32()
SMALL = 64
"""Arrays of fewer values are sooner looked through as lists."""


class ForestView:
    """A pinned index with its columns: those of its payload, with the period in front if that has none; or ``OWN``."""

    def __init__(
        self,
        index: EventIndex,
        kind: TimeType | None,
        period: Period,
        payload: pa.Table | None,
        release: Callable[[EventIndex], None],
    ) -> None:
        self.index, self.forest = index, index.forest
        self.kind, self.period, self.payload = kind, period, payload
        self._release = release

    def __enter__(self) -> "ForestView":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Let the index go, unless kernels may still read it that an interrupt has left behind."""
        if kind is None or issubclass(kind, TimeloomError):
            self._release(self.index)

    def __len__(self) -> int:
        return len(self.index)

    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""
        if self.payload is None:
            return list(OWN)
        names: list[str] = self.payload.column_names
        return names if self.period.start in names else [self.period.start, self.period.end, *names]

    def schema(self) -> pa.Schema:
        """The columns and their types."""
        none = np.zeros(0, np.int64)
        columns = self.columns(self.column_names, none)
        return pa.schema([(name, column.type) for name, column in zip(self.column_names, columns, strict=True)])

    def columns(self, names: Sequence[str], positions: NDArray[np.integer]) -> "list[pa.Array | pa.ChunkedArray]":
        """Some columns of the events at these positions."""
        if self.payload is None and tuple(names) == OWN:
            kind = self.kind or INTEGER
            return [
                _plain(self.index.names(positions), _INT64),
                _starts(self.forest.starts[positions], kind),
                _ends(ends_of(self.forest, positions), kind),
            ]
        found: dict[str, pa.Array | pa.ChunkedArray] = {}
        payload, kind = self.payload, self.kind or INTEGER
        rows = None
        for name in names:
            if payload is not None and name in payload.column_names:
                rows = pa.array(self.index.ranks(positions)) if rows is None else rows
                found[name] = self._known(taken(payload[name], rows, name), name, positions)
            elif name == self.period.start:
                found[name] = _starts(self.forest.starts[positions], kind)
            elif name == self.period.end:
                found[name] = _ends(ends_of(self.forest, positions), kind)
            else:
                found[name] = _plain(self.index.names(positions), _INT64)
        return [found[name] for name in names]

    def _known(
        self, column: "pa.Array | pa.ChunkedArray", name: str, positions: NDArray[np.integer]
    ) -> "pa.Array | pa.ChunkedArray":
        """A column of the payload; of its period, what rows do not tell is known from the events: ends came later."""
        period = self.period
        if not column.null_count or name not in (period.start, period.end):
            return column
        if name == period.start:
            ticks, shift = self.forest.starts[positions], period.start_shift
        else:
            ticks, shift = ends_of(self.forest, positions), period.end_shift
        is_open = ticks == FOREVER
        if is_open.all():
            return column
        kind = TimeType.of(column.type, name, "payload")
        return pc.coalesce(column, kind.to_arrow(shift_ticks(ticks, -shift), is_open, name))

    def order(self, positions: NDArray[np.integer]) -> "NDArray[np.integer]":
        """The same positions by ascending id."""
        ids = self.index.ids
        return np.sort(positions) if ids is None else positions[np.argsort(ids[positions], kind="stable")]

    def table(self) -> pa.Table:
        """All events, by id."""
        positions = self.order(np.arange(len(self)))
        return pa.Table.from_arrays(self.columns(self.column_names, positions), names=self.column_names)


def _starts(ticks: Ticks, kind: TimeType) -> pa.Array:
    """Ticks as values of their axis."""
    if kind.axis is not Axis.DATE:
        return _plain(ticks, kind.arrow)
    days = ticks.astype(np.int32)
    return _plain(days, _DATE) if kind.arrow == _DATE and (days == ticks).all() else kind.to_arrow(ticks)


def _ends(ticks: Ticks, kind: TimeType) -> pa.Array:
    """Ticks as values of their axis; open ends are null."""
    is_open = FOREVER in ticks.tolist() if ticks.size < SMALL else int(ticks.max()) == FOREVER
    return kind.to_arrow(ticks, ticks == FOREVER) if is_open else _starts(ticks, kind)


def _plain(values: NDArray[np.integer], kind: pa.DataType) -> pa.Array:
    return pa.Array.from_buffers(kind, values.size, [None, pa.py_buffer(values)])
