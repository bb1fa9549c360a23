"""How much memory is free: what the system has, and what the control group of this process may still take."""

import os
from pathlib import Path

from timeloom.errors import InvalidInputError

SHARE = 0.8
"""The share of free memory that a result may take."""

_MEMINFO = Path("/proc/meminfo")
_GROUPS = (
    (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current"), Path("/sys/fs/cgroup/memory.stat")),
    (
        Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
        Path("/sys/fs/cgroup/memory/memory.usage_in_bytes"),
        Path("/sys/fs/cgroup/memory/memory.stat"),
    ),
)


def free_bytes() -> int | None:
    """The bytes that can be taken without pushing anything out, or None where the system does not say."""
    known = [free for free in (_system(), *(_group(*files) for files in _GROUPS)) if free is not None]
    return max(0, min(known)) if known else None


def require_room(rows: int, row_bytes: float, remedy: str) -> None:
    """Refuse a result, before it is written, that does not fit into free memory."""
    free = free_bytes()
    if free is not None and rows * row_bytes > SHARE * free:
        raise InvalidInputError(
            f"the result would have {rows:,} rows, about {size_of(rows * row_bytes)}, more than fits into the memory "
            f"that is free; {remedy}"
        )


def size_of(size: float) -> str:
    """A number of bytes in words.

    >>> size_of(480e9)
    '480 GB'
    """
    for unit in ("bytes", "KB", "MB", "GB"):
        if size < 1000:
            return f"{size:,.0f} {unit}"
        size /= 1000
    return f"{size:,.1f} TB"


def _system() -> int | None:
    for line in _lines(_MEMINFO):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return None


def _group(limit: Path, used: Path, stat: Path) -> int | None:
    """What is left of a control group's limit; files that it read once can be dropped at any time."""
    most, taken = (next(iter(_lines(file)), "") for file in (limit, used))
    if not most.isdigit() or not taken.isdigit():
        return None
    words = [line.split() for line in _lines(stat)]
    cached = sum(int(value) for name, value in words if name in ("inactive_file", "total_inactive_file"))
    return int(most) - int(taken) + cached


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text().splitlines()
    except OSError:
        return []
