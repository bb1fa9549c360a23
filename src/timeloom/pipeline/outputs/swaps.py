"""Moves on a file system that outputs are changed by, and what may stand in their way."""

import ctypes
import os
import shutil
import stat
from pathlib import Path

from timeloom.errors import StorageError

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
MOUNTS = "/proc/self/mountinfo"


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


def sync(*places: Path) -> None:
    """Make sure that files and the entries of directories are on the disk, so that a rename cannot outrun them."""
    for place in places:
        opened = os.open(place, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def sync_tree(path: Path) -> None:
    """The same for a file, or for a directory with all that it holds."""
    sync(path, *(path.rglob("*") if path.is_dir() else ()))


def check_place(path: Path, is_file: bool) -> None:
    """Refuse a place that no rename could change, or that holds something of another kind."""
    shown = str(path)
    if is_mount(path):
        raise StorageError(f"{shown!r} is a mount point, which cannot be replaced; take a path inside it")
    if not path.exists():
        return
    if path.is_dir() == is_file:
        found, wanted = ("directory", "file") if is_file else ("file", "directory")
        raise StorageError(f"{shown!r} is a {found}, and the output is a {wanted}; remove it, or take another path")
    if not path.is_file() and not path.is_dir():
        raise StorageError(f"{shown!r} is neither a file nor a directory; take another path")
    above, own = path.parent.stat(), path.stat()
    if above.st_mode & stat.S_ISVTX and os.geteuid() not in (0, above.st_uid, own.st_uid):
        raise StorageError(f"{shown!r} belongs to somebody else in a directory where only owners may replace things")
    for folder, _, _ in os.walk(path):
        if not os.access(folder, os.W_OK | os.X_OK):
            raise StorageError(f"{folder!r} may not be written by us, so it cannot be replaced; change its permissions")


def is_mount(path: Path) -> bool:
    """Tell a mount point, also one of the same device."""
    if os.path.ismount(path):
        return True
    try:
        with open(MOUNTS, encoding="utf-8", errors="surrogateescape") as mounts:
            places = [line.split(" ")[4] for line in mounts]
    except OSError:
        return False
    shown = str(path).replace("\\", "\\134").replace(" ", "\\040").replace("\t", "\\011").replace("\n", "\\012")
    return shown in places


def keep_owner(old: Path, new: Path) -> None:
    """Give a staged output the permissions and, as far as we may, the owner of the one that it will replace.

    In a directory each file takes after that of the same name or, if there was none, after the first one.
    """
    if not old.exists():
        return
    _take_after(new, old.stat())
    if not new.is_dir():
        return
    first = next((file for file in sorted(old.rglob("*")) if file.is_file()), None)
    for part in new.rglob("*"):
        model = old / part.relative_to(new)
        if not model.exists() or model.is_dir() != part.is_dir():
            model = old if part.is_dir() else first or part
        if part.stat().st_nlink == 1 or part.is_dir():  # a linked file is the old one itself
            _take_after(part, model.stat())


def _take_after(path: Path, model: os.stat_result) -> None:
    for owner, group in ((model.st_uid, model.st_gid), (-1, model.st_gid)):
        try:
            os.chown(path, owner, group)
            break
        except PermissionError:
            continue
    os.chmod(path, stat.S_IMODE(model.st_mode))
