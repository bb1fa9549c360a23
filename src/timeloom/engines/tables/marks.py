"""Which tables are Spark's, and which are indexes: asking loads nothing."""

import sys
from typing import TYPE_CHECKING, Any, TypeGuard

if TYPE_CHECKING:
    from timeloom.engines.tables.indexes import KeyedIndex


def is_spark(frame: object) -> bool:
    """Tell a Spark DataFrame, classic or Connect; where nobody has imported Spark there is none."""
    if "pyspark.sql" not in sys.modules:
        return False
    from pyspark.sql import DataFrame

    return isinstance(frame, DataFrame)


def is_index(frame: Any) -> bool:
    """Tell an index (see `indexes.PeriodIndex`) from any other table."""
    return hasattr(type(frame), "__timeloom_index__")


def is_keyed(frame: object) -> "TypeGuard[KeyedIndex]":
    """Tell an index for each key from any other table."""
    return hasattr(type(frame), "__timeloom_keys__")
