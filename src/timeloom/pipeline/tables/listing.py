"""What files a source has, so that a change under a running run is noticed."""

import os
from pathlib import Path

from timeloom.errors import StorageError

Listing = dict[str, tuple[object, ...]]
"""For each file what changes when its content does: size, time of the last change and, on this machine, its number."""


def list_files(place: str) -> Listing:
    """List a file, or all files in a directory and below; nothing if there is nothing."""
    if os.path.isfile(place):
        return {place: _mark(Path(place))}
    found = {}
    for folder, _, names in os.walk(place):
        for name in names:
            found[os.path.join(folder, name)] = _mark(Path(folder, name))
    return found


def _mark(path: Path) -> tuple[object, ...]:
    try:
        status = path.stat()
    except FileNotFoundError:
        return ()
    return status.st_size, status.st_mtime_ns, status.st_ino


def require_same(name: str, before: Listing, now: Listing) -> None:
    """Refuse to go on if the files of a source have changed."""
    changed = sorted(path for path in {*before, *now} if before.get(path) != now.get(path))
    if changed:
        how = "appeared" if changed[0] not in before else "vanished" if changed[0] not in now else "changed"
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        raise StorageError(
            f"source {name!r} changed while it was read: {changed[0]!r}{more} {how}; nothing was written, run it again"
        )
