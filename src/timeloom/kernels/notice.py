"""Tells, once in a process, that kernels are being compiled, where that takes long enough to be wondered about."""

import logging
import threading
import time
from functools import cache
from typing import Any

from numba.core import event

PATIENCE = 1.0
"""Seconds of compiling after which it is told."""

TEXT = (
    "timeloom compiles the kernels of this call for your machine and keeps them; this happens once "
    "(`timeloom warm` compiles all ahead)"
)
_PACKAGE = __name__.partition(".")[0] + "."


class CompileNotice(event.Listener):
    """Adds up the time that compiling takes, and tells when it is much. Numba compiles one function at a time."""

    def __init__(self) -> None:
        self.spent = 0.0
        self.told = False
        self._depth = 0
        self._begun = 0.0
        self._timer: threading.Timer | None = None

    def on_start(self, event: Any) -> None:
        """A kernel is being compiled, perhaps for another one that is."""
        if not _is_ours(event):
            return
        self._depth += 1
        if self._depth == 1 and not self.told:
            self._begun = time.monotonic()
            self._timer = threading.Timer(max(0.0, PATIENCE - self.spent), self.tell)
            self._timer.daemon = True
            self._timer.start()

    def on_end(self, event: Any) -> None:
        """It is compiled."""
        if not _is_ours(event):
            return
        self._depth -= 1
        if self._depth == 0 and self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self.spent += time.monotonic() - self._begun

    def tell(self) -> None:
        """Say so, the first time."""
        if not self.told:
            self.told = True
            logging.getLogger("timeloom").warning(TEXT)


def _is_ours(event: Any) -> bool:
    return bool(event.data["dispatcher"].py_func.__module__.startswith(_PACKAGE))


@cache
def listen() -> CompileNotice:
    """Listen from now on."""
    notice = CompileNotice()
    event.register("numba:compile", notice)  # type: ignore[no-untyped-call]
    return notice
