"""Replacing a file by a whole new one, and clearing away what a killed save left behind."""

import importlib
import os
import re
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

_FCNTL: Any = importlib.import_module("fcntl") if os.name == "posix" else None
"""Locks on files. Where there are none, leftovers stay."""


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a scratch file beside a file; it takes the file's place when the block ends well.

    A reader, also after a crash in the middle, sees either the old file or the new one. A link is written through, and
    the permissions of an earlier file stay. Whoever writes holds a lock on the scratch file, so one that can be locked
    was left by a process that has ended.
    """
    target = Path(os.path.realpath(path))
    _clear_leftovers(target)
    scratch, file = _open_scratch(target)
    try:
        with file:
            yield file
            file.flush()
            if target.exists():
                os.chmod(scratch, stat.S_IMODE(target.stat().st_mode))
            os.fsync(file.fileno())
            os.replace(scratch, target)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise
    directory = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _open_scratch(target: Path) -> tuple[Path, BinaryIO]:
    """Make a scratch file and lock it; another save may have taken it for a leftover before it was locked."""
    while True:
        scratch = target.with_name(f"{target.name}.{uuid.uuid4().hex}.part")
        file = scratch.open("x+b")
        if lock(file, wait=True) and not scratch.exists():
            file.close()
            continue
        return scratch, file


def _clear_leftovers(target: Path) -> None:
    pattern = re.compile(re.escape(target.name) + r"\.[0-9a-f]{32}\.part")
    with os.scandir(target.parent) as entries:
        found = [Path(entry.path) for entry in entries if pattern.fullmatch(entry.name)]
    for leftover in found:
        try:
            with leftover.open("r+b") as file:
                if lock(file):
                    leftover.unlink(missing_ok=True)
        except OSError:
            continue


def lock(file: BinaryIO, *, wait: bool = False) -> bool:
    """Lock an open file until it is closed; False if another holds it, unless that is waited for, or without locks."""
    if _FCNTL is None:
        return False
    try:
        _FCNTL.flock(file.fileno(), _FCNTL.LOCK_EX | (0 if wait else _FCNTL.LOCK_NB))
    except OSError:
        return False
    return True
