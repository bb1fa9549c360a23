"""The parts of a stream: sources of events, what is made of them, a sink."""

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from pydantic import Field, field_validator, model_validator

from timeloom.pipeline.definition.models import Cluster, Part, as_list, known_types
from timeloom.pipeline.definition.paths import absolute, relative
from timeloom.pipeline.formats.registry import DEFAULT, FORMATS
from timeloom.pipeline.streams.calls import StreamCall

STREAMED = tuple(name for name, form in FORMATS.items() if form.spark is not None and form.spark.streams)
KAFKA = "kafka"
KAFKA_COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType")
KAFKA_TOPICS = ("subscribe", "subscribePattern", "assign")
if TYPE_CHECKING:
    StreamSourceFormat: TypeAlias = str
    StreamSinkFormat: TypeAlias = str
else:
    StreamSourceFormat = Literal[*STREAMED, "rate", KAFKA]
    StreamSinkFormat = Literal[*STREAMED, "memory", "console"]

RATE_COLUMNS = ("timestamp", "value")
TIME_TYPES = ("timestamp", "timestamp_ntz")


class StreamSource(Part):
    """Events that come: files that appear in a directory, topics of Kafka, or Spark's own clockwork (``rate``).

    The schema of a Kafka source is that of the JSON objects in its values; columns of Kafka's own can be selected, too.
    """

    format: StreamSourceFormat
    path: str | None = None
    columns: dict[str, str] | None = Field(default=None, alias="schema")
    select: dict[str, str] | None = None
    arrives: Literal["events", "start", "end"] = "events"
    options: dict[str, str | int | float | bool] = Field(default_factory=dict)

    _types = field_validator("columns")(known_types)

    @model_validator(mode="after")
    def _whole(self) -> "StreamSource":
        if self.format == "rate":
            if self.path is not None or self.columns is not None:
                raise ValueError("a rate source has no path and no schema; its columns are timestamp and value")
            if self.select is None:
                raise ValueError("a rate source needs select, which makes events of timestamp and value")
        elif self.format == KAFKA:
            self._check_kafka()
        elif self.path is None or self.columns is None:
            raise ValueError(f"a {self.format} source needs path, a directory, and schema: a stream cannot guess types")
        for name in self.needed:
            if name not in self.given:
                raise ValueError(f"there is no column {name!r}; name it in the schema, or make it with select")
        return self

    def _check_kafka(self) -> None:
        if self.path is not None:
            raise ValueError("a kafka source has no path; options name its servers and topics")
        if "kafka.bootstrap.servers" not in self.options:
            raise ValueError("a kafka source needs options with kafka.bootstrap.servers, such as 'host:9092'")
        if sum(name in self.options for name in KAFKA_TOPICS) != 1:
            raise ValueError(f"a kafka source needs one of the options {', '.join(KAFKA_TOPICS)}, to say which topics")
        if self.columns is None and self.select is None:
            raise ValueError("a kafka source needs schema, of the JSON objects in its values, or select")

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns that events, or whole rows, must have."""
        return ("id", "time", "event") if self.arrives == "events" else ("id", "start", "end")

    @property
    def given(self) -> tuple[str, ...]:
        """The columns that the source has."""
        return tuple(self.select or self.columns or (KAFKA_COLUMNS if self.format == KAFKA else RATE_COLUMNS))


class StreamSink(Part):
    """Where results go: files in a directory, a table in the session's memory, or the screen."""

    format: StreamSinkFormat = DEFAULT
    path: str | None = None
    table: str | None = None
    partition_by: list[str] = Field(default_factory=list)
    options: dict[str, str | int | float | bool] = Field(default_factory=dict)

    _partition = field_validator("partition_by", mode="before")(as_list)

    @model_validator(mode="after")
    def _whole(self) -> "StreamSink":
        needed = {"memory": "table", "console": None}.get(self.format, "path")
        for name in ("path", "table"):
            if (getattr(self, name) is None) == (name == needed):
                raise ValueError(f"a {self.format} sink {'needs' if name == needed else 'has no'} {name}")
        return self

    @property
    def lasts(self) -> bool:
        """Whether what was written outlives the session."""
        return self.path is not None


class Stream(Part):
    """A whole stream. Relative paths start at ``base``, the directory of its file."""

    name: str
    base: Path
    sources: dict[str, StreamSource]
    verb: str
    call: StreamCall
    sink: StreamSink
    checkpoint: str | None = None
    trigger: timedelta | None = None
    report: str | None = None
    spark: Cluster = Cluster()

    def place(self, path: str) -> str:
        """A path of the file as an absolute one; addresses with a scheme stay as they are."""
        return absolute(self.base, path)

    def told(self, place: str) -> str:
        """A place as a report tells it: seen from the file."""
        return relative(self.base, place)
