"""What must stay of an old output: other batches, other partitions."""

import errno
import os
import shutil
from pathlib import Path

from timeloom.pipeline.definition.models import Sink

SEPARATOR = "--"
"""Stands between the label of a batch and the rest of a file's name, which begins with ``part-`` and never has it."""

_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.EXDEV, errno.ENOSYS)


def merge_old(sink: Sink, old: Path, staging: Path) -> None:
    """Bring what must stay of the old output into the staged one."""
    if sink.mode == "append":
        for file in sorted(staging.rglob("*")):
            if file.is_file() and is_hidden(file):
                file.unlink()
            elif file.is_file():
                file.rename(file.with_name(f"{sink.batch}{SEPARATOR}{file.name}"))
        link_tree(old, staging, batch=sink.batch)
    if sink.mode == "replace_partitions":
        folders = frozenset(file.parent.relative_to(staging) for file in staging.rglob("*") if file.is_file())
        link_tree(old, staging, without=folders - {Path(".")})


def is_hidden(file: Path) -> bool:
    """Tell files that readers skip, such as checksums and marks of success."""
    return file.name.startswith((".", "_"))


def batch_of(name: str) -> str:
    """The batch that a file belongs to; an empty text if none.

    >>> batch_of("2024--01--part-0.parquet"), batch_of("2024--part-0.parquet"), batch_of("part-0.parquet")
    ('2024--01', '2024', '')
    """
    return name.rpartition(SEPARATOR)[0]


def link_tree(old: Path, new: Path, *, without: "frozenset[Path]" = frozenset(), batch: str | None = None) -> None:
    """Link the files of a directory into another, except below some folders and those of a batch.

    Parameters
    ----------
    old, new
        The directory with the files, and the one that gets links to them.
    without
        Folders, relative to ``old``, that are left out.
    batch
        The batch whose files are left out.
    """
    for file in sorted(old.rglob("*")):
        inside = file.relative_to(old)
        if file.is_dir() or is_hidden(file) or any(folder in without for folder in inside.parents):
            continue
        if batch is None or batch_of(file.name) != batch:
            target = new / inside
            target.parent.mkdir(parents=True, exist_ok=True)
            _link(file, target)


def _link(file: Path, target: Path) -> None:
    """Link a file, or copy it where the file system has no links."""
    try:
        os.link(file, target)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        shutil.copy2(file, target)
