"""Counts of what a plan costs, which are the same on every machine: calls to the JVM, jobs, stages, tasks, bytes."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from py4j.java_gateway import GatewayClient
from pyspark.sql import SparkSession

_FORGET = "m\n"
"""The command by which Python tells the JVM that it no longer holds an object."""


_MARKS = {"executor": b"CoarseGrainedExecutorBackend", "python": b"pyspark.daemon"}
"""What the commands of a worker's processes have in them."""


class JvmCalls:
    """Counts the round trips from Python to the JVM while it is entered."""

    def __init__(self) -> None:
        self.count = 0
        self._sent: Any = None

    def __enter__(self) -> "JvmCalls":
        sent = self._sent = GatewayClient.send_command

        def counted(client: Any, command: str, *rest: Any, **options: Any) -> Any:
            self.count += not command.startswith(_FORGET)
            return sent(client, command, *rest, **options)

        GatewayClient.send_command = counted
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        GatewayClient.send_command = self._sent


def jobs_of(spark: SparkSession, call: Callable[[], None]) -> dict[str, int]:
    """How many jobs, stages and tasks a call runs, by Spark's own count; what is skipped does not count."""
    context = spark.sparkContext._jsc.sc()

    def known() -> set[int]:
        context.listenerBus().waitUntilEmpty()
        time.sleep(0.3)
        return {int(number) for number in spark.sparkContext.statusTracker().getJobIdsForGroup(None)}

    before = known()
    call()
    tracker, found = spark.sparkContext.statusTracker(), known() - before
    jobs = [tracker.getJobInfo(number) for number in found]
    numbers = {int(stage) for job in jobs if job is not None for stage in job.stageIds}
    stages = [info for number in numbers if (info := tracker.getStageInfo(number)) is not None]
    ran = [stage for stage in stages if stage.numCompletedTasks]
    return {"jobs": len(found), "stages": len(ran), "tasks": sum(stage.numCompletedTasks for stage in ran)}


def spent(spark: SparkSession, call: Callable[[], Any]) -> dict[str, int]:
    """How many bytes a call shuffled and spilled, and how many tasks it ran, by Spark's own count."""
    context = spark.sparkContext._jsc.sc()

    def so_far() -> tuple[int, int]:
        context.listenerBus().waitUntilEmpty()
        time.sleep(0.5)
        executors = context.statusStore().executorList(False)
        known = [executors.apply(number) for number in range(executors.size())]
        return sum(one.totalShuffleWrite() for one in known), sum(one.completedTasks() for one in known)

    before, stages = so_far(), _stages(spark)
    call()
    shuffled, tasks = (now - then for now, then in zip(so_far(), before, strict=True))
    spilled = sum(found for number, found in _stages(spark).items() if number not in stages)
    return {"shuffled": shuffled, "spilled": spilled, "tasks": tasks}


def _stages(spark: SparkSession) -> dict[int, int]:
    """The bytes that each stage has written to disk for want of memory."""
    gateway, store = spark.sparkContext._gateway, spark.sparkContext._jsc.sc().statusStore()
    found = store.stageList(None, False, False, gateway.new_array(gateway.jvm.double, 0), None)
    known = [found.apply(number) for number in range(found.size())]
    return {int(stage.stageId()): int(stage.diskBytesSpilled()) for stage in known}


class Footprint:
    """The most memory that a Python worker, and an executor, among the processes below this one held while entered."""

    def __init__(self, every: float = 0.25) -> None:
        self.most = {"python": 0, "executor": 0}
        self._every, self._ended = every, threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "Footprint":
        self._watcher.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._watcher.join()

    def _watch(self) -> None:
        while not self._ended.wait(self._every):
            for words, held in _descendants():
                for kind, mark in _MARKS.items():
                    if mark in words:
                        self.most[kind] = max(self.most[kind], held)


def processor_seconds() -> dict[str, float]:
    """The processor time so far of this process, of the JVM below it, and of Spark's Python workers."""
    found = {"driver": time.process_time(), "jvm": 0.0, "workers": 0.0}
    for number in _below():
        try:
            words = Path("/proc", str(number), "cmdline").read_bytes()
            fields = Path("/proc", str(number), "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # ended meanwhile
        ticks = sum(map(int, fields[11:13]))
        found["workers" if _MARKS["python"] in words else "jvm"] += ticks / os.sysconf("SC_CLK_TCK")
    return found


def _descendants() -> Iterator[tuple[bytes, int]]:
    """The command and the resident bytes of each process that this one has begun, or that such a one has."""
    for number in _below():
        try:
            words = Path("/proc", str(number), "cmdline").read_bytes()
            held = int(Path("/proc", str(number), "statm").read_text().split()[1])
        except OSError:
            continue
        yield words, held * os.sysconf("SC_PAGE_SIZE")


def _below() -> set[int]:
    """The processes that this one has begun, or that such a one has."""
    parents: dict[int, int] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            parents[int(name)] = int(Path("/proc", name, "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # ended meanwhile
    ours = {os.getpid()}
    while more := {child for child, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return ours - {os.getpid()}
