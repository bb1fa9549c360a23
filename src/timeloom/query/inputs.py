"""What may be passed to a query under a name."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from timeloom.bitemporal.index import BitemporalIndex
from timeloom.bitemporal.table import BitemporalTable
from timeloom.engines.tables.frames import Restore, to_arrow
from timeloom.engines.tables.marks import is_spark
from timeloom.query.session import refuse_same_names


@dataclass(frozen=True)
class Given:
    """A table of a query, and how its kind is made of a result; an index is asked for its rows only if it must be."""

    head: Any
    """A frame with the columns, with all rows unless ``load`` gives them."""
    restore: Restore
    as_of: "Callable[..., Any] | None" = None
    table: BitemporalTable | None = None
    index: BitemporalIndex | None = None
    load: "Callable[[], Any] | None" = None

    @cached_property
    def names(self) -> list[str]:
        """The names of its columns. (A frame of Connect takes any attribute for a column: kinds are told by class.)"""
        return list(self.head.column_names if isinstance(self.head, pa.Table) else self.head.columns)

    @cached_property
    def frame(self) -> Any:
        """The frame with all rows."""
        return self.head if self.load is None else self.load()

    def without_rows(self) -> "Given":
        """The columns only, for a plan; an index has none either, and is known to be one."""
        none, index = self.head.slice(0, 0), self.index
        if index is None:
            return Given(none, self.restore)
        like = BitemporalIndex(none, sys_period=index.sys_period, app_period=index.app_period)
        return Given(none, self.restore, index=like)


def read_input(name: str, value: Any) -> Given:
    """Take a table of any kind; one with an index shows all its versions."""
    if is_spark(value):
        refuse_same_names(value.columns, f"table {name!r}")
        return Given(value, lambda frame: frame)
    if isinstance(value, BitemporalTable):
        return Given(value.history(), _identity, lambda **at: value.as_of(**at) if "sys" in at else None, value)
    if isinstance(value, BitemporalIndex):
        return Given(
            value.rows([]),
            _identity,
            lambda **at: value.rows(value.as_of(**at)) if "sys" in at else None,
            index=value,
            load=lambda: value.rows(value.held()),
        )
    frame, restore = to_arrow(value, name)
    refuse_same_names(frame.column_names, f"table {name!r}")
    return Given(frame, restore)


def zones(given: "dict[str, Given]") -> set[str]:
    """The time zones of all zoned columns."""
    kinds = (field.type for table in given.values() if isinstance(table.head, pa.Table) for field in table.head.schema)
    return {kind.tz for kind in kinds if pa.types.is_timestamp(kind) and kind.tz is not None}


def _identity(frame: Any) -> Any:
    return frame
