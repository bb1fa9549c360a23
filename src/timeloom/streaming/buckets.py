"""The stateful processor of Structured Streaming for keys that share states: buckets of keys, each with pages.

For each query Spark starts a Python process on the driver only to ask which variables the state has. Nothing but this
module is loaded there: what the work needs is loaded by the tasks that have events.
"""

import pickle
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from pyspark import cloudpickle
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

MILLISECOND = 1000

PAGES = "pages"
"""The variable of the state that has the pages of a bucket by their numbers."""

PAGE = T.StructType([T.StructField("page", T.IntegerType())])
STATE = T.StructType(
    [
        T.StructField("version", T.IntegerType()),
        T.StructField("body", T.BinaryType()),
        T.StructField("names", T.StringType()),
    ]
)
"""What a page is found by, and what it holds."""

EARLIER_STATE = T.StructType([T.StructField("body", T.BinaryType())])
"""What a variable of an earlier layout holds, of which a bucket had one."""


class Layout(NamedTuple):
    """Which variables a state has beside pages: what query it is of, under a bucket that is none, and an earlier one.

    A variable with the earlier name is read where a bucket has no page yet.
    """

    mark: str
    nowhere: tuple[Any, ...]
    earlier: str | None = None


class States(NamedTuple):
    """The variables of the state in a task."""

    handle: Any
    nowhere: tuple[Any, ...]
    pages: Any
    mark: Any
    earlier: Any = None

    @classmethod
    def opened(cls, handle: Any, layout: Layout) -> "States":
        """Tell Spark of the variables."""
        pages, mark = handle.getMapState(PAGES, PAGE, STATE), handle.getListState(layout.mark, STATE)
        earlier = None if layout.earlier is None else handle.getValueState(layout.earlier, EARLIER_STATE)
        return cls(handle, layout.nowhere, pages, mark, earlier)


class Task(Protocol):
    """What is done with the buckets of a partition in one micro-batch."""

    def take(self, bucket: Any, rows: Iterator[Any], watermark: int) -> Iterator[Any]:
        """Take the events of a bucket."""

    def wake(self, bucket: Any, watermark: int) -> Iterator[Any]:
        """Do what was waiting for the watermark."""


class Work(Protocol):
    """What makes tasks; it travels to them."""

    def begin(self, states: States) -> Task:
        """Begin with a partition."""


class BucketProcessor(StatefulProcessor):
    """Hands the events and timers of buckets to a task, which is made where there are some."""

    def __init__(self, work: Work, layout: Layout) -> None:
        self._packed: bytes = cloudpickle.dumps(work)  # type: ignore[no-untyped-call]
        self._layout = layout
        self._task: Task | None = None

    def init(self, handle: Any) -> None:
        """Open the state."""
        self._states = States.opened(handle, self._layout)
        self._task = None

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
        """Take a micro-batch of events of one bucket."""
        yield from self._working().take(key, rows, timerValues.getCurrentWatermarkInMs())

    def handleExpiredTimer(  # noqa: N802
        self,
        key: Any,
        timerValues: Any,  # noqa: N803
        expiredTimerInfo: Any,  # noqa: N803
    ) -> Iterator[Any]:
        """Do what was waiting for the watermark."""
        yield from self._working().wake(key, timerValues.getCurrentWatermarkInMs())

    def close(self) -> None:
        """Nothing is held outside the state."""
        if self._task is not None:
            from timeloom.engines.spark.cluster.workers import keep_loaded

            keep_loaded()

    def _working(self) -> Task:
        if self._task is None:
            from timeloom.engines.spark.cluster.workers import acknowledge

            acknowledge()
            work: Work = pickle.loads(self._packed)
            self._task = work.begin(self._states)
        return self._task
