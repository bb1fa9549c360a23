"""What may be passed to a query under a name."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from timeloom.bitemporal.index import BitemporalIndex
from timeloom.bitemporal.table import BitemporalTable
from timeloom.engines.tables.frames import Restore, is_spark, to_arrow
from timeloom.query.session import refuse_same_names


@dataclass(frozen=True)
class Given:
    """A table of a query: its rows, its kind, and how to ask its index for the rows of an instant, if it has one."""

    frame: Any
    restore: Restore
    as_of: "Callable[..., Any] | None" = None
    table: BitemporalTable | None = None


def read_input(name: str, value: Any) -> Given:
    """Take a table of any kind; one with an index shows all its versions."""
    if is_spark(value):
        refuse_same_names(value.columns, f"table {name!r}")
        return Given(value, lambda frame: frame)
    if isinstance(value, BitemporalTable):
        return Given(value.history(), _identity, lambda **at: value.as_of(**at) if "sys" in at else None, value)
    if isinstance(value, BitemporalIndex):
        return Given(_rows(value), _identity, lambda **at: value.rows(value.as_of(**at)) if len(at) == 2 else None)
    frame, restore = to_arrow(value, name)
    refuse_same_names(frame.column_names, f"table {name!r}")
    return Given(frame, restore)


def zones(given: "dict[str, Given]") -> set[str]:
    """The time zones of all zoned columns."""
    kinds = (
        field.type for table in given.values() if isinstance(table.frame, pa.Table) for field in table.frame.schema
    )
    return {kind.tz for kind in kinds if pa.types.is_timestamp(kind) and kind.tz is not None}


def _rows(index: BitemporalIndex) -> pa.Table:
    return index.rows(list(range(len(index))))


def _identity(frame: Any) -> Any:
    return frame
