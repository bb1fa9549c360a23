"""Timing side by side, and the table that comes of it."""

import gc
import resource
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

SHORT, MORE = 0.3, 12
"""Runs that take less than this, in seconds, all together, are joined by some more."""


@dataclass
class Line:
    """One case: who was compared, how long each took, and what the ratio must show."""

    case: str
    ours: float
    peer: str
    theirs: float
    target: str = ""

    @property
    def ratio(self) -> float:
        """How many times faster Timeloom is."""
        return self.theirs / self.ours


def timed(function: Callable[[], Any], repeat: int = 3) -> float:
    """The best of some runs, in seconds; garbage is collected beforehand."""
    found = []
    for _ in range(repeat):
        gc.collect()
        began = time.perf_counter()
        result = function()
        found.append(time.perf_counter() - began)
        del result
    return min(found)


def side_by_side(ours: Callable[[], Any], theirs: Callable[[], Any], repeat: int = 3) -> tuple[float, float]:
    """Time two functions in turns, so that noise hits both; the best of each. Short ones take more turns."""
    pairs = [(timed(ours, 1), timed(theirs, 1)) for _ in range(repeat)]
    if sum(map(sum, pairs)) < SHORT:
        pairs += [(timed(ours, 1), timed(theirs, 1)) for _ in range(MORE)]
    return min(pair[0] for pair in pairs), min(pair[1] for pair in pairs)


def median_ratio(ours: Callable[[], Any], theirs: Callable[[], Any], repeat: int = 5) -> float:
    """The median over runs of how many times longer the second function takes."""
    return statistics.median(timed(theirs, 1) / timed(ours, 1) for _ in range(repeat))


def peak_memory() -> int:
    """The most memory that this process has held so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def show(title: str, lines: list[Line]) -> None:
    """Print a table of ratios."""
    output = Table(title=title)
    for name in ("case", "Timeloom (s)", "peer", "peer (s)", "faster", "wanted"):
        output.add_column(name, justify="right" if "(s)" in name or name == "faster" else "left")
    for line in lines:
        output.add_row(
            line.case, f"{line.ours:.4g}", line.peer, f"{line.theirs:.4g}", f"{line.ratio:.1f} x", line.target
        )
    Console(width=140).print(output)
