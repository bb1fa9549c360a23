"""Periods as files and commands write them."""

from typing import Any

from timeloom.errors import UsageError
from timeloom.model.period import Period


def read_period(value: Any) -> Period:
    """Read a period: one or two names, or a mapping with ``start``, ``end``, ``closed``, ``open_end``, ``truncate``."""
    try:
        return Period.of(value)
    except UsageError as error:
        raise ValueError(str(error)) from error
