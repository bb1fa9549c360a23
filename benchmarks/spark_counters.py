"""Counts of what a plan costs, which are the same on every machine: calls to the JVM, jobs, stages and tasks."""

import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

from py4j.java_gateway import GatewayClient
from pyspark.sql import SparkSession

_FORGET = "m\n"
"""The command by which Python tells the JVM that it no longer holds an object."""


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
