"""What becomes of signals while a command, a stream or a change of outputs is under way."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType

SIGNALS = (signal.SIGINT, signal.SIGTERM)
Handler = Callable[[int, FrameType | None], None]


@contextmanager
def taken(handler: Handler, numbers: tuple[signal.Signals, ...] = SIGNALS) -> Iterator[None]:
    """Let a handler take signals, and put back whoever took them before.

    Outside the main thread, where no signals arrive, it does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


class Terminated(KeyboardInterrupt):
    """Somebody asked the process to end."""


@contextmanager
def terminable() -> Iterator[None]:
    """A request to end (SIGTERM) unwinds a command as an interrupt does: it cleans up, and a run writes its report.

    Another request meanwhile is not heard, so that cleaning up can end.
    """

    def end(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise Terminated("asked to end")

    with taken(end, (signal.SIGTERM,)):
        yield


@contextmanager
def deferred_signals() -> Iterator[None]:
    """Signals that come while outputs change come too late: the change takes an instant, and ends first."""

    def ignore(number: int, frame: FrameType | None) -> None:
        """Python's own handler would raise in the middle of a rename."""

    with taken(ignore):
        yield


class StopSignals:
    """Stopping a stream: the first signal sets ``asked``, so that it ends after its micro-batch; the second ends it."""

    def __init__(self) -> None:
        self.asked = False
        self._taken = taken(self._take)

    def __enter__(self) -> "StopSignals":
        self._taken.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._taken.__exit__(kind, error, trace)

    def _take(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
