"""Indexes as tables: what an engine may ask of one, whoever made it.

An index is known by its method ``__timeloom_index__``; engines import no index, indexes import what they need of the
engines. As every index exports Arrow, a verb that has no way of its own for indexes takes it as any other table.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeloom.engines.tables.ticks import TimeType
from timeloom.kernels.stab_forest.layout import Forest
from timeloom.model.period import Period


class IndexedEvents(Protocol):
    """One complete state of an index: its events, in an order of their own, and the columns of its rows."""

    forest: Forest
    kind: TimeType | None
    period: Period

    def __len__(self) -> int: ...

    @property
    def column_names(self) -> list[str]:
        """The names of the columns that each row has, in order."""

    def schema(self) -> pa.Schema:
        """The columns and their types."""

    def columns(self, names: Sequence[str], positions: NDArray[np.integer]) -> "list[pa.Array | pa.ChunkedArray]":
        """Some columns of the events at these positions."""

    def order(self, positions: NDArray[np.integer]) -> "NDArray[np.integer]":
        """The same positions in the order of the table that the index exports."""


class PeriodIndex(Protocol):
    """An index over periods."""

    def __timeloom_index__(self) -> AbstractContextManager[IndexedEvents]:
        """Hold a state for as long as it is read."""


class KeyedIndex(Protocol):
    """An index for each key."""

    def __timeloom_keys__(self) -> tuple[str, pa.DataType]:
        """The column of the keys, and its type."""

    def __len__(self) -> int:
        """The number of events of all keys."""

    def of(self, key: object) -> PeriodIndex:
        """The index of a key, whose rows have all columns but the key."""
