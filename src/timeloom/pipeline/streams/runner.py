"""Runs a checked stream: sources, a verb, a sink; until its data end, it is asked to stop, or it fails."""

from pathlib import Path
from typing import Any, Protocol

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T  # noqa: N812

from timeloom.pipeline.engines.session import spark_errors
from timeloom.pipeline.engines.spark_sources import quoted
from timeloom.pipeline.formats.registry import FORMATS
from timeloom.pipeline.signals import StopSignals
from timeloom.pipeline.streams.durations import in_words
from timeloom.pipeline.streams.kafka import kafka_rows, selected
from timeloom.pipeline.streams.models import KAFKA, Stream, StreamSource
from timeloom.streaming.metrics import StreamMetrics, observed

POLL = 0.2
"""Seconds between two looks at a running query."""


class StreamWatcher(Protocol):
    """Is told how a stream goes on."""

    def begin(self, text: str) -> None:
        """Something has begun."""

    def go_on(self, text: str) -> None:
        """It goes on, and this is where it stands."""

    def end(self, text: str) -> None:
        """It has ended."""


class StreamRun:
    """One run of a stream."""

    def __init__(self, stream: Stream, spark: SparkSession, watcher: StreamWatcher) -> None:
        self.stream = stream
        self.spark = spark
        self.watcher = watcher
        self.progress = StreamMetrics()
        self.stopped = False
        self.schema: T.StructType | None = None

    def go(self, signals: StopSignals) -> None:
        """Run until the data or the patience end; a stop lets the running micro-batch finish."""
        with spark_errors("the stream cannot start"):
            frame = self._called()
            if signals.asked:
                self.stopped = True
                self.watcher.end(f"stream {self.stream.name} stopped before it began")
                return
            schema, query = frame.schema, self._start(frame)
            self.schema = schema
            self.watcher.begin(f"stream {self.stream.name}")
            try:
                with spark_errors("the stream failed"):
                    self._follow(query, signals)
            finally:
                if query.isActive:
                    query.stop()
        how = "stopped" if self.stopped else "done"
        self.watcher.end(f"stream {self.stream.name} {how}: {self.progress.words()}")

    @property
    def columns(self) -> list[str]:
        """The columns of the results, as soon as they are known."""
        return [] if self.schema is None else list(self.schema.names)

    def _called(self) -> DataFrame:
        frames = {name: self._read(source) for name, source in self.stream.sources.items()}
        arrives = {name: source.arrives for name, source in self.stream.sources.items()}
        called: DataFrame = observed(self.stream.call.run(frames, arrives), sides=list(frames))
        return called

    def _read(self, source: StreamSource) -> DataFrame:
        if source.format == KAFKA:
            return kafka_rows(self.spark, source)
        reader = self.spark.readStream.format(source.format)
        if source.columns is not None:
            names = ((name.replace("`", "``"), kind) for name, kind in source.columns.items())
            reader = reader.schema(", ".join(f"`{name}` {kind}" for name, kind in names))
        form = FORMATS[source.format].spark if source.format in FORMATS else None
        if form is not None:
            reader = reader.format(form.name).options(**form.layout)
        frame = reader.options(**source.options).load(_address(self.stream, source.path))
        return selected(frame, source)

    def _start(self, frame: DataFrame) -> Any:
        sink = self.stream.sink
        writer = frame.writeStream.format(sink.format).outputMode("append").options(**sink.options)
        if sink.path is not None:
            writer = writer.option("path", _address(self.stream, sink.path))
        if sink.partition_by:
            writer = writer.partitionBy(*sink.partition_by)
        if sink.table is not None:
            writer = writer.queryName(sink.table)
        if self.stream.checkpoint is not None:
            writer = writer.option("checkpointLocation", _address(self.stream, self.stream.checkpoint))
        if self.stream.trigger is None:
            return writer.trigger(availableNow=True).start()
        return writer.trigger(processingTime=in_words(self.stream.trigger)).start()

    def _follow(self, query: Any, signals: StopSignals) -> None:
        """Tell of every micro-batch. Asked to stop, wait for the end of the one that is under way."""
        stop_after: int | None = None
        while not query.awaitTermination(POLL):
            self._look(query)
            if not signals.asked:
                continue
            if stop_after is None:
                stop_after = self.progress.last_batch
                self.watcher.go_on("stopping after this micro-batch; once more to stop at once")
            if self.progress.last_batch > stop_after or not query.status["isTriggerActive"]:
                self.stopped = True
                query.stop()
        self._look(query)

    def _look(self, query: Any) -> None:
        for told in query.recentProgress:
            if self.progress.take(told):
                self.watcher.go_on(self.progress.words())

    def sample(self, rows: int) -> Any:
        """The first rows of the sink, as an Arrow table; None for sinks that cannot be read, or have nothing yet."""
        sink = self.stream.sink
        if self.schema is None or (sink.table is None and sink.path is None):
            return None
        with spark_errors("the sink cannot be read back"):
            if sink.table is not None:
                return self.spark.table(quoted_name(sink.table)).limit(rows).toArrow()
            reader = self.spark.read.format(sink.format).option("header", "true").options(**sink.options)
            try:
                stored = reader.schema(self.schema).load(_address(self.stream, sink.path))
                return stored.select(*(quoted(name) for name in self.columns)).limit(rows).toArrow()
            except AnalysisException as fault:
                if "PATH_NOT_FOUND" in str(fault):
                    return None
                raise


def quoted_name(name: str) -> str:
    """The table of this very name."""
    return "`" + name.replace("`", "``") + "`"


def _address(stream: Stream, path: str | None) -> str | None:
    if path is None:
        return None
    place = stream.place(path)
    return place if "://" in place else Path(place).as_uri()
