"""Lengths of time in the file of a stream."""

from datetime import timedelta
from typing import Any

from timeloom.errors import UsageError
from timeloom.model.ticks import parse_span

AVAILABLE_NOW = "available-now"


def read_duration(value: Any) -> timedelta:
    """Read a length of time.

    >>> read_duration("1 minute 30 seconds")
    datetime.timedelta(seconds=90)
    """
    try:
        found = parse_span(value, "duration")
    except UsageError as error:
        raise ValueError(str(error)) from error
    if isinstance(found, int) or found < timedelta(0):
        raise ValueError(f"{value!r} is no length of time; expected a number and a unit, such as '10 seconds'")
    return found


def read_watermark(value: Any) -> timedelta | dict[str, timedelta]:
    """Read how late events may be: on both sides, or on each."""
    if not isinstance(value, dict):
        return read_duration(value)
    return {side: read_duration(delay) for side, delay in value.items()}


def read_trigger(value: Any) -> timedelta | None:
    """Read when a micro-batch starts: all that is there now (None), or whenever some time has passed."""
    return None if value in (None, AVAILABLE_NOW) else read_duration(value)


def in_words(duration: timedelta) -> str:
    """A duration as Spark reads it."""
    return f"{duration // timedelta(microseconds=1)} microseconds"
