"""Locks on outputs: one run at a time may change a place."""

import fcntl
import os
from pathlib import Path

from timeloom.errors import StorageError
from timeloom.pipeline.outputs.journal import beside


class Lock:
    """A locked file beside an output. The system gives it up when its process dies, however it dies."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.place = beside(path, "lock")
        self._opened: int | None = None
        try:
            self._opened = self._take()
        except BlockingIOError as error:
            raise StorageError(f"another run is writing {str(path)!r}; wait until it ends") from error

    def _take(self) -> int:
        """Lock the file; it may vanish between opening and locking, when its owner ends."""
        while True:
            opened = os.open(self.place, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
            try:
                fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if self.place.exists() and os.fstat(opened).st_ino == self.place.stat().st_ino:
                    return opened
            except BaseException:
                os.close(opened)
                raise
            os.close(opened)

    def release(self) -> None:
        """Give the lock up."""
        if self._opened is not None:
            self.place.unlink(missing_ok=True)
            os.close(self._opened)
            self._opened = None
