"""A request to end (SIGTERM) unwinds a command as an interrupt does: it cleans up, and a run writes its report."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Terminated(KeyboardInterrupt):
    """Somebody asked the process to end."""


@contextmanager
def terminable() -> Iterator[None]:
    """Raise Terminated at the first SIGTERM; another one meanwhile is not heard, so that cleaning up can end.

    Outside the main thread, where no signals arrive, it does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise Terminated("asked to end")

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
