"""Signals that come while outputs change come too late: the change takes an instant, and ends first."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def deferred_signals() -> Iterator[None]:
    """Let interrupts and requests to end wait for nothing: they are not heard within the block.

    Outside the main thread, where no signals arrive, it does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ignore(number: int, frame: FrameType | None) -> None:
        """Python's own handler would raise in the middle of a rename."""

    before = {number: signal.signal(number, ignore) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
