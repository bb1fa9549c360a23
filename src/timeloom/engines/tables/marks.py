"""Which tables are indexes: known by a method, so that asking loads nothing."""

from typing import Any


def is_index(frame: Any) -> bool:
    """Tell an index (see `indexes.PeriodIndex`) from any other table."""
    return hasattr(type(frame), "__timeloom_index__")


def is_keyed(frame: Any) -> bool:
    """Tell an index for each key (see `indexes.KeyedIndex`) from any other table."""
    return hasattr(type(frame), "__timeloom_keys__")
