"""What a run was made on: without this, no number means anything."""

import datetime
import importlib.metadata
import os
import platform
import time
from pathlib import Path
from typing import Any

PACKAGES = ("timeloom", "numpy", "numba", "pyarrow", "duckdb", "sortedcontainers", "rtree", "ncls")


def machine() -> dict[str, Any]:
    """Date, processor, how busy it was, versions."""
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "load": f"{os.getloadavg()[0]:.1f} when it began",
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in PACKAGES},
    }


def others_running() -> float:
    """How many processes beside this one have had a core, or waited for one, on average over a second."""
    file = Path("/proc/loadavg")
    if not file.exists():
        return max(0.0, os.getloadavg()[0] - 1)
    seen = []
    for _ in range(20):
        time.sleep(0.05)
        seen.append(int(file.read_text().split()[3].partition("/")[0]) - 1)
    return sum(seen) / len(seen)


def _processor() -> str:
    file = Path("/proc/cpuinfo")
    lines = file.read_text().splitlines() if file.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
