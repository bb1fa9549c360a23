"""Tasks in Spark's Python workers, without the waiting that surrounds a task there by default.

Each task in a worker that Spark keeps costs 60 to 150 ms that are not its own. Spark sends a task in small writes and
holds each back until the one before it is acknowledged, for which Linux takes 40 ms if nobody asks for it. After each
task all Python objects are searched for cycles, which takes long once the compiler is loaded. And large arrays get new
pages from the system each time, which takes as long as half of what is computed in them.

A fresh worker waits for its first rows while Spark compiles what reads them. It loads the compiler meanwhile.
"""

import ctypes
import gc
import os
import socket
import stat
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql import types as T

Task = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""Turns the Arrow batches of a partition into others."""

OURS = "timeloom_"
"""The names of all tasks begin with this, in Spark's plans."""

_WITHIN = ("second", "func", "work", "task")
"""Where tasks that are put around others have these: two in turn, with arguments, for a group, with other names."""

OPEN_FILES = "/proc/self/fd"

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""What the settings of the C library's allocator are called in its function ``mallopt``."""

KEPT_BYTES, ARRAY_BYTES = 128 << 20, 64 << 20
"""So much free memory a worker keeps for its next arrays; larger arrays are given back to the system at once."""


@dataclass(frozen=True)
class InTurn:
    """Two tasks as one: the second takes what the first one gives."""

    first: Task
    second: Task

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run both on one partition."""
        return self.second(self.first(batches))


@dataclass(frozen=True)
class Piped:
    """Rows, and a task that makes them ready for the next one in the same partition, of which there are so many."""

    frame: "DataFrame"
    task: Task
    partitions: int = 1


def mapped(rows: "DataFrame | Piped", task: Task, schema: "T.StructType | str", *, kernels: bool = True) -> "DataFrame":
    """What a task makes of each partition of a DataFrame, by kernels or without. Nothing runs before an action."""
    from timeloom.engines.spark.cluster.pipelines import Unnested, in_pipeline, nested
    from timeloom.engines.spark.cluster.schema_texts import schema_of

    frame, task = (rows.frame, InTurn(rows.task, task)) if isinstance(rows, Piped) else (rows, task)
    if in_pipeline():
        frame, task = nested(frame), InTurn(Unnested(), task)
        schema = schema_of(schema) if isinstance(schema, str) else schema
    return frame.mapInArrow(Prompt(task, kernels), schema)


@dataclass(frozen=True)
class Prompt:
    """A task that starts at once, and after which its worker is soon ready again; ``kernels`` if it calls any."""

    task: Task
    kernels: bool = True

    @property
    def __name__(self) -> str:
        """What Spark's plans, and so its UI, call it."""
        return plan_name(self.task)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run the task on one partition."""
        acknowledge()
        if self.kernels:
            load_compiler()
        keep_loaded()
        keep_memory()
        yield from self.task(batches)


def plan_name(task: Any) -> str:
    """What Spark's plans, and so its UI, call a task: by what it ends with, or by the verb that it runs on groups."""
    while True:
        task = getattr(task, "__self__", task)
        inner = next((getattr(task, name) for name in _WITHIN if hasattr(task, name)), None)
        if inner is None:
            return f"{OURS}{getattr(task, '__name__', type(task).__name__).lstrip('_')}"
        task = inner


def acknowledge() -> None:
    """Acknowledge what has arrived on all connections of this process, and do not hold back what it sends itself."""
    if not hasattr(socket, "TCP_QUICKACK") or not os.path.isdir(OPEN_FILES):
        return
    for name in os.listdir(OPEN_FILES):
        try:
            if stat.S_ISSOCK(os.stat(int(name)).st_mode):
                _acknowledge(int(name))
        except OSError:
            continue  # closed meanwhile, or no connection


def _acknowledge(descriptor: int) -> None:
    connection = socket.socket(fileno=descriptor)
    try:
        if connection.family in (socket.AF_INET, socket.AF_INET6) and connection.type == socket.SOCK_STREAM:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    finally:
        connection.detach()


def load_compiler() -> None:
    """Call a kernel, on nothing, that nearly every task calls: so the compiler is there when the first rows are."""
    from timeloom.kernels.order import NOTHING, in_order

    in_order(NOTHING)


def keep_loaded() -> None:
    """Let the search for cycles pass over what is loaded when a task begins: modules and compiled code, which stay.

    Spark has just searched what the task before left, so nothing is kept that nobody needs.
    """
    if len(sys.modules) != _LOADED.modules:
        _LOADED.modules = len(sys.modules)
        gc.freeze()


def keep_memory() -> None:
    """Let arrays, of Arrow as well, have the memory of earlier ones, instead of pages that the system must clear first.

    That is a matter of the C library of Linux; where there is another, nothing changes.
    """
    if _LOADED.settled:
        return
    _LOADED.settled = True
    setting = getattr(ctypes.pythonapi, "mallopt", None)
    if setting is not None and setting(_MMAP_THRESHOLD, ARRAY_BYTES) and setting(_TRIM_THRESHOLD, KEPT_BYTES):
        pa.set_memory_pool(pa.system_memory_pool())


class _Loaded:
    """How many modules there were when objects were last taken out of the search, and whether memory is kept."""

    modules = 0
    settled = False


_LOADED = _Loaded()
