"""What tasks of streams know of Spark, without Spark."""

from timeloom.streaming.buckets import BucketProcessor


class Store:
    """What a processor knows of Spark: a state by bucket and page, and timers."""

    def __init__(self) -> None:
        self.values: dict[tuple, tuple] = {}
        self.timers: set[int] = set()
        self.marks: list[tuple] = []
        self.bucket: tuple = ()
        self.earlier: dict[tuple, bytes] = {}
        self.messages = 0
        self._statefulProcessorApiClient = self

    def set_implicit_key(self, key: tuple) -> None:
        self.bucket = key

    def getMapState(self, *_schema: object) -> "Store":
        return self

    def getValueState(self, *_schema: object) -> "Earlier":
        return Earlier(self)

    def getListState(self, *_schema: object) -> "Store":
        return self

    def get(self) -> list[tuple]:
        return self.marks

    def put(self, marks: list[tuple]) -> None:
        self.marks = marks

    def getValue(self, page: tuple) -> tuple | None:
        self.messages += 1
        return self.values.get((self.bucket, page))

    def updateValue(self, page: tuple, value: tuple) -> None:
        self.messages += 1
        self.values[self.bucket, page] = value

    def removeKey(self, page: tuple) -> None:
        self.values.pop((self.bucket, page), None)

    def registerTimer(self, instant: int) -> None:
        self.timers.add(instant)

    def getCurrentWatermarkInMs(self) -> int:
        return self.watermark

    def batch(self, task: BucketProcessor, bucket: tuple, frames: list, watermark: int) -> list:
        """A micro-batch of one bucket in a task of its own: events first, then timers."""
        task.init(self)
        self.watermark = watermark
        self.set_implicit_key(bucket)
        found = list(task.handleInputRows(bucket, iter(frames), self)) if frames else []
        due = {timer for timer in self.timers if timer <= watermark}
        self.timers -= due
        for _ in due:
            found += task.handleExpiredTimer(bucket, self, None)
        task.close()
        return found


class Earlier:
    """A variable that a bucket has one value of."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def exists(self) -> bool:
        return self.store.bucket in self.store.earlier

    def get(self) -> tuple[bytes]:
        return (self.store.earlier[self.store.bucket],)

    def clear(self) -> None:
        del self.store.earlier[self.store.bucket]
