"""The streaming join as a stateful processor of Structured Streaming."""

from dataclasses import dataclass

from timeloom.streaming.buckets import BucketProcessor, Layout, States, Task
from timeloom.streaming.join_plan import Plan

BUCKET, BUCKETS = "bucket", 64
"""The column by which Spark sends rows to tasks, and how many values it has: each has keys of its own."""

LAYOUT = Layout(mark="join", nowhere=("?",))
"""Up to version 7 the variable of this name was a value, the state of each key. Spark refuses to make another variable
of it when a query goes on, and says that a new checkpoint is needed."""


@dataclass(frozen=True)
class Join:
    """The join that tasks do, and the query that their states are of."""

    plan: Plan
    query: str

    def begin(self, states: States) -> Task:
        """Begin with a partition."""
        from timeloom.streaming.join_task import JoinTask

        return JoinTask(self.plan, self.query, states)


class JoinProcessor(BucketProcessor):
    """Pushes the events of a bucket of keys up to the watermark, and what is pending when the watermark gets there."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(Join(plan, plan.query), LAYOUT)
