"""Plain threads over kernels that release the interpreter lock."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")

SMALL = 20_000
"""Work on fewer items than this is not worth a second thread."""


def cores() -> int:
    """The number of threads that the local engine uses."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_parallel(tasks: Sequence[Callable[[], T]], threads: int) -> list[T]:
    """Run the tasks, at most so many at a time, and return their results in order."""
    if threads <= 1 or len(tasks) <= 1:
        return [task() for task in tasks]
    with ThreadPoolExecutor(threads) as pool:
        return [future.result() for future in [pool.submit(task) for task in tasks]]


def chunks(total: int, threads: int) -> list[tuple[int, int]]:
    """Cut 0..total into one range a thread; small totals stay whole."""
    parts = max(1, min(threads, total // SMALL))
    edges = [total * part // parts for part in range(parts + 1)]
    return list(pairwise(edges))


def shares(total: int, threads: int) -> list[tuple[int, int]]:
    """Cut 0..total into several ranges a thread, so that a costly range holds only one of them up."""
    parts = max(1, min(8 * threads, total // SMALL)) if threads > 1 else 1
    edges = [total * part // parts for part in range(parts + 1)]
    return list(pairwise(edges))


def gathered(values: NDArray[Any], rows: NDArray[np.int32], threads: int) -> NDArray[Any]:
    """Rows of a column; every thread gathers a part of them."""
    found = np.empty(rows.size, values.dtype)

    def gather(first: int, last: int) -> None:
        np.take(values, rows[first:last], out=found[first:last], mode="clip")

    in_parallel([partial(gather, *part) for part in chunks(rows.size, threads)], threads)
    return found
