"""The journal of a commit: which staged outputs take which places.

It is written beside the first output before the first rename, with a note beside every other one that points to it.
While it stands, the commit has been decided: whoever finds it, or a note, completes the renames. Without it nothing
was renamed, or everything. What has been renamed is told by the numbers (inodes) of the staged files.
"""

import json
import os
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from timeloom.errors import StorageError
from timeloom.pipeline.outputs.swaps import exchange, remove, sync

VERSION = 1
STAGING = "staging-"


def beside(path: Path, role: str) -> Path:
    """The hidden place beside an output that plays a role in its change."""
    return path.with_name(f".{path.name}.timeloom-{role}")


@dataclass(frozen=True)
class Entry:
    """One output: its place, where the new one is staged, and the number of the staged file or directory."""

    path: str
    staging: str
    number: int

    @classmethod
    def of(cls, path: Path, staging: Path) -> "Entry":
        """The entry of an output that is staged."""
        return cls(str(path), str(staging), staging.stat().st_ino)

    @property
    def place(self) -> Path:
        """Where the output belongs."""
        return Path(self.path)

    @property
    def staged(self) -> Path:
        """Where the new output waits; after paths have changed places, the old one is there."""
        return Path(self.staging)

    @property
    def old(self) -> Path:
        """Where the old output waits if paths cannot change places."""
        return beside(self.place, "old")

    @property
    def is_done(self) -> bool:
        """Whether the new output is in its place."""
        return _number(self.place) == self.number

    @property
    def can_be_done(self) -> bool:
        """Whether the new output still is somewhere."""
        return self.is_done or _number(self.staged) == self.number

    def do(self) -> None:
        """Let the new output take its place; the old one stays at hand."""
        if self.is_done:
            return
        if not os.path.lexists(self.place):
            os.rename(self.staged, self.place)
        elif not exchange(self.staged, self.place):
            if self.place.is_dir():
                remove(self.old)
                os.rename(self.place, self.old)
            else:  # a link keeps the old file while a rename replaces its name, so readers always find one
                self.old.unlink(missing_ok=True)
                os.link(self.place, self.old)
            os.replace(self.staged, self.place)

    def undo(self) -> None:
        """Put the old output back."""
        if self.is_done and os.path.lexists(self.staged):
            if not exchange(self.staged, self.place):
                raise StorageError(f"the old {self.path!r} cannot be put back; it is at {self.staging!r}")
        elif self.is_done:
            os.rename(self.place, self.staged)
        if os.path.lexists(self.old) and not os.path.lexists(self.place):
            os.rename(self.old, self.place)

    def clean(self) -> None:
        """Remove what is left of the old output."""
        remove(self.staged)
        remove(self.old)


@dataclass(frozen=True)
class Journal:
    """All outputs that change together; the journal lies beside the first."""

    run: str
    entries: tuple[Entry, ...]

    @property
    def place(self) -> Path:
        """Where the journal is."""
        return beside(self.entries[0].place, "journal")

    def write(self) -> None:
        """Put notes beside all outputs, then the journal: from here on the commit has been decided."""
        folders = {entry.place.parent for entry in self.entries}
        for entry in self.entries[1:]:
            _write(beside(entry.place, "journal"), {"version": VERSION, "run": self.run, "journal": str(self.place)})
        sync(*folders)
        entries = [asdict(entry) for entry in self.entries]
        _write(self.place, {"version": VERSION, "run": self.run, "entries": entries})
        sync(self.place.parent)

    def complete(self) -> None:
        """Rename what has not been renamed yet."""
        for entry in self.entries:
            if not entry.can_be_done:
                raise StorageError(
                    f"{entry.path!r} cannot be completed: what was staged at {entry.staging!r} is gone; see to it that "
                    f"the outputs fit together, and remove {str(self.place)!r}"
                )
        for entry in self.entries:
            entry.do()

    def revert(self) -> None:
        """Put all old outputs back."""
        for entry in reversed(self.entries):
            entry.undo()

    def close(self) -> None:
        """Clean up; a note without a journal means nothing."""
        sync(*{entry.place.parent for entry in self.entries})
        for entry in self.entries:
            try:
                entry.clean()
            except OSError as error:
                warnings.warn(f"the old {entry.path!r} cannot be removed: {error}", stacklevel=2)
        self.drop()

    def drop(self) -> None:
        """Remove the journal, then the notes that point to it."""
        self.place.unlink(missing_ok=True)
        sync(self.place.parent)
        for entry in self.entries[1:]:
            beside(entry.place, "journal").unlink(missing_ok=True)


def find_journal(path: Path) -> Journal | None:
    """The journal of an unfinished commit that an output is part of; None if there is none."""
    data = _read(beside(path, "journal"))
    if data is None:
        return None
    run = data["run"]
    if "entries" not in data:
        main = Path(data["journal"])
        if not main.parent.is_dir():
            raise StorageError(
                f"{str(path)!r} is part of an unfinished change of outputs that is recorded in {str(main)!r}, which "
                "cannot be reached; mount it, and try again"
            )
        data = _read(main)
    if data is None or data["run"] != run or "entries" not in data:
        return None
    return Journal(run, tuple(_entry(entry) for entry in data["entries"]))


def _entry(data: dict[str, Any]) -> Entry:
    """Read an entry; it may move nothing but what a run stages beside its own output."""
    try:
        entry = Entry(str(data["path"]), str(data["staging"]), int(data["number"]))
    except (KeyError, TypeError, ValueError) as error:
        raise StorageError(f"a journal cannot be read: {data!r} is no entry; restore or remove it") from error
    if entry.staged.parent != entry.place.parent or not entry.staged.name.startswith(beside(entry.place, STAGING).name):
        raise StorageError(f"a journal speaks of {entry.staging!r}, which is no staging place of {entry.path!r}")
    return entry


def _number(path: Path) -> int | None:
    try:
        return os.lstat(path).st_ino
    except (FileNotFoundError, NotADirectoryError):
        return None


def _write(path: Path, data: object) -> None:
    """Write a file whole: it has its name only once it is on the disk."""
    scratch = path.with_name(f"{path.name}.part")
    with scratch.open("w", encoding="utf-8") as file:
        json.dump(data, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(scratch, path)


def _read(path: Path) -> dict[str, Any] | None:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["version"] != VERSION or not isinstance(data["run"], str):
            raise ValueError(f"version {data['version']}, expected {VERSION}")
        return dict(data)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StorageError(f"the journal {str(path)!r} cannot be read ({error}); restore or remove it") from error
