"""Outputs that change together.

A run writes beside each target, in a staging place. When everything is written and on the disk, a journal is written,
and all staged outputs are renamed into place, with nothing in between that takes time or could fail. A run that dies
before the journal leaves the old outputs; one that dies after it is completed by the next run, or by `recover`.
"""

import os
import uuid
from collections.abc import Container, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType

from timeloom.errors import StorageError
from timeloom.pipeline.outputs.journal import STAGING, Entry, Journal, beside, find_journal
from timeloom.pipeline.outputs.locks import Lock
from timeloom.pipeline.outputs.swaps import check_place, keep_owner, remove, sync, sync_tree
from timeloom.pipeline.signals import deferred_signals


class Target:
    """One output: a file or a directory, locked against other runs, with a staging place beside it.

    A symbolic link is followed: what it points to is written.
    """

    def __init__(self, path: str, *, is_file: bool = False) -> None:
        self.named = Path(path)
        self.is_file = is_file
        with _told(f"{path!r} cannot be prepared for writing"):
            self.path = self.named.resolve()
        self.staging = beside(self.path, f"{STAGING}{uuid.uuid4().hex[:12]}")
        self._lock: Lock | None = None

    def open(self, held: Container[Path] = ()) -> None:
        """Make the parents, take the lock, put right what a run that died has left, and see that nothing hinders us.

        ``held`` has the outputs that this run has locked already.
        """
        with _told(f"{str(self.path)!r} cannot be prepared for writing"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = Lock(self.path)
            try:
                recover_output(self.path, held)
                check_place(self.path, self.is_file)
            except BaseException:
                self.close()
                raise

    def prepare(self) -> Entry:
        """Do all that takes time or can fail before a rename."""
        check_place(self.path, self.is_file)
        keep_owner(self.path, self.staging)
        sync_tree(self.staging)
        sync(self.path.parent)
        return Entry.of(self.path, self.staging)

    def close(self, *, leave: bool = False) -> None:
        """Remove the staging place, unless it is still needed, and give up the lock."""
        if self._lock is None:
            return
        if not leave:
            with suppress(OSError):  # what cannot be removed now, the next run removes
                remove(self.staging)
        self._lock.release()
        self._lock = None


class Outputs:
    """All outputs of a run."""

    def __init__(self) -> None:
        self.run = uuid.uuid4().hex
        self.targets: list[Target] = []
        self.committed = False
        self._unfinished = False
        self._scratch: Path | None = None

    def __enter__(self) -> "Outputs":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._scratch is not None:
            with suppress(OSError):  # what cannot be removed now, the next run removes
                remove(self._scratch)
        for target in self.targets:
            target.close(leave=self._unfinished)

    def add(self, path: str, *, is_file: bool = False) -> Target:
        """Open one more output."""
        target = Target(path, is_file=is_file)
        if any(target.path == other.path for other in self.targets):
            raise StorageError(f"{path!r} is the place of two outputs; choose another for one of them")
        target.open({other.path for other in self.targets})
        self.targets.append(target)
        return target

    def scratch(self) -> Path:
        """A directory for what a run needs until it ends; it lies where outputs do, so that all who write see it."""
        if self._scratch is None:
            self._scratch = beside(self.targets[0].path, f"scratch-{self.run[:12]}")
            self._scratch.mkdir()
        return self._scratch

    def commit(self) -> None:
        """Swap everything in that was staged: all of it, or nothing."""
        with _told("the outputs cannot be replaced, and stay as they were"):
            entries = tuple(target.prepare() for target in self.targets if os.path.lexists(target.staging))
        if not entries:
            return
        journal = Journal(self.run, entries)
        with deferred_signals():
            self._swap(journal)
            self.committed = True
            journal.close()

    def _swap(self, journal: Journal) -> None:
        try:
            journal.write()
            journal.complete()
        except BaseException as error:
            try:
                journal.revert()
                journal.drop()
            except BaseException as second:
                self._unfinished = True
                raise StorageError(
                    f"the outputs cannot be replaced ({error}), and not put back either ({second}); "
                    f"see to the cause, then: timeloom recover {str(journal.place.parent)!r}"
                ) from error
            if isinstance(error, OSError):
                raise StorageError(f"the outputs cannot be replaced, and stay as they were: {error}") from error
            raise


def recover_output(path: Path, held: Container[Path] = ()) -> list[str]:
    """Complete an unfinished commit that a locked output is part of, and remove what runs that died have left.

    ``held`` has further outputs that the caller has locked. The answer names what was done.
    """
    told = []
    journal = find_journal(path)
    if journal is not None:
        locks = []
        try:
            for entry in journal.entries:
                if entry.place != path and entry.place not in held:
                    locks.append(Lock(entry.place))
            journal.complete()
            journal.close()
            told += [f"completed {entry.path}" for entry in journal.entries]
        finally:
            for lock in locks:
                lock.release()
    old = beside(path, "old")
    if os.path.lexists(old) and not os.path.lexists(path):
        os.rename(old, path)
        told.append(f"put back {path}")
    for left in leftovers(path):
        remove(left)
        told.append(f"removed {left}")
    return told


def leftovers(path: Path) -> Iterator[Path]:
    """What runs that died have left beside an output; its lock is not among it."""
    name = glob_text(path.name)
    for pattern in (f".{name}.timeloom-*", f"..{name}.timeloom-*.part"):
        for left in sorted(path.parent.glob(pattern)):
            if left != beside(path, "lock"):
                yield left


def glob_text(name: str) -> str:
    """Escape the characters that mean something in a pattern."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)


@contextmanager
def _told(what: str) -> Iterator[None]:
    """Turn the system's errors into ours."""
    try:
        yield
    except StorageError:
        raise
    except (OSError, RuntimeError) as error:
        raise StorageError(f"{what}: {error}") from error
