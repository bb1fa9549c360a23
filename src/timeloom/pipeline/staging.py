"""Outputs that change all at once.

A run writes beside each target, in a staging place, and swaps all of them in when everything is written. Until then
the old outputs stand; a run that dies in between leaves them untouched, and the next run removes what it left.
"""

import ctypes
import fcntl
import os
import shutil
import uuid
from pathlib import Path
from types import TracebackType

from timeloom.errors import StorageError

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


class Target:
    """One output: a file or a directory, locked against other runs, with a staging place beside it."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        self.staging = self._beside(f"staging-{uuid.uuid4().hex[:12]}")
        self._lock: int | None = None

    def _beside(self, role: str) -> Path:
        return self.path.with_name(f".{self.path.name}.timeloom-{role}")

    def open(self) -> None:
        """Take the lock, put right what a run that died has left, and make room for the parents."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._take_lock()
            old = self._beside("old")
            if old.exists() and not self.path.exists():
                os.rename(old, self.path)
            for left in self.path.parent.glob(f".{glob_text(self.path.name)}.timeloom-*"):
                if left != self._beside("lock"):
                    remove(left)
        except BlockingIOError as error:
            raise StorageError(f"another run is writing {str(self.path)!r}; wait until it ends") from error
        except OSError as error:
            if isinstance(error, StorageError):
                raise
            raise StorageError(f"{str(self.path)!r} cannot be prepared for writing: {error}") from error

    def _take_lock(self) -> None:
        """Lock a file beside the target; it may vanish between opening and locking, when its owner ends."""
        place = self._beside("lock")
        while True:
            lock = os.open(place, os.O_CREAT | os.O_RDWR, 0o666)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if place.exists() and os.fstat(lock).st_ino == place.stat().st_ino:
                    self._lock = lock
                    return
            except BaseException:
                os.close(lock)
                raise
            os.close(lock)

    def commit(self) -> None:
        """Let the staged output take the target's place, and remove what stood there."""
        try:
            sync(self.staging)
            if not self.path.exists():
                os.rename(self.staging, self.path)
            elif self.staging.is_file() and self.path.is_file():
                os.replace(self.staging, self.path)
            elif not exchange(self.staging, self.path):
                os.rename(self.path, self._beside("old"))
                os.rename(self.staging, self.path)
                remove(self._beside("old"))
            sync(self.path.parent)
        except OSError as error:
            raise StorageError(f"{str(self.path)!r} cannot be replaced: {error}") from error

    def close(self) -> None:
        """Remove the staging place and give up the lock."""
        if self._lock is not None:
            remove(self.staging)
            self._beside("lock").unlink(missing_ok=True)
            os.close(self._lock)
            self._lock = None


class Outputs:
    """All outputs of a run."""

    def __init__(self) -> None:
        self.targets: list[Target] = []

    def __enter__(self) -> "Outputs":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for target in self.targets:
            target.close()

    def add(self, path: str) -> Target:
        """Open one more output."""
        target = Target(path)
        target.open()
        self.targets.append(target)
        return target

    def commit(self) -> None:
        """Swap everything in that was staged."""
        for target in self.targets:
            if target.staging.exists():
                target.commit()


def exchange(one: Path, other: Path) -> bool:
    """Let two paths change places in one instant; False where the system or the file system cannot."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    done: int = rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE)
    return done == 0


def remove(path: Path) -> None:
    """Remove a file or a directory, if it exists."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Make sure that a file or all files of a directory are on the disk, so that a rename cannot outrun them."""
    places = [path, *path.rglob("*")] if path.is_dir() and path.name.startswith(".") else [path]
    for place in places:
        opened = os.open(place, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def glob_text(name: str) -> str:
    """Escape the characters that mean something in a pattern."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)
