"""The parts of a stream: two sources of events, a join, a sink."""

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pydantic import Field, field_validator, model_validator

from timeloom.errors import UsageError
from timeloom.model.ticks import parse_span
from timeloom.pipeline.definition.models import Cluster, Part, as_list, known_types
from timeloom.pipeline.definition.paths import absolute, relative
from timeloom.pipeline.formats.registry import DEFAULT, FORMATS

STREAMED = tuple(name for name, form in FORMATS.items() if form.spark is not None and form.spark.streams)
if TYPE_CHECKING:
    StreamSourceFormat: TypeAlias = str
    StreamSinkFormat: TypeAlias = str
else:
    StreamSourceFormat = Literal[*STREAMED, "rate"]
    StreamSinkFormat = Literal[*STREAMED, "memory", "console"]

AVAILABLE_NOW = "available-now"
RATE_COLUMNS = ("timestamp", "value")
TIME_TYPES = ("timestamp", "timestamp_ntz")


def read_duration(value: Any) -> timedelta:
    """Read a length of time.

    >>> read_duration("1 minute 30 seconds")
    datetime.timedelta(seconds=90)
    """
    try:
        found = parse_span(value, "duration")
    except UsageError as error:
        raise ValueError(str(error)) from error
    if isinstance(found, int) or found < timedelta(0):
        raise ValueError(f"{value!r} is no length of time; expected a number and a unit, such as '10 seconds'")
    return found


def read_watermark(value: Any) -> timedelta | dict[str, timedelta]:
    """Read how late events may be: on both sides, or on each."""
    if not isinstance(value, dict):
        return read_duration(value)
    return {side: read_duration(delay) for side, delay in value.items()}


def read_trigger(value: Any) -> timedelta | None:
    """Read when a micro-batch starts: all that is there now (None), or whenever some time has passed."""
    return None if value in (None, AVAILABLE_NOW) else read_duration(value)


class StreamSource(Part):
    """Events that come: files that appear in a directory, or Spark's own clockwork of rows (``rate``)."""

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
        elif self.path is None or self.columns is None:
            raise ValueError(f"a {self.format} source needs path, a directory, and schema: a stream cannot guess types")
        for name in self.needed:
            if name not in self.given:
                raise ValueError(f"there is no column {name!r}; name it in the schema, or make it with select")
        return self

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns that events, or whole rows, must have."""
        return ("id", "time", "event") if self.arrives == "events" else ("id", "start", "end")

    @property
    def given(self) -> tuple[str, ...]:
        """The columns that the source has."""
        return tuple(self.select or self.columns or RATE_COLUMNS)


class StreamJoin(Part):
    """How the two sides are joined; as in `timeloom.stream_join`."""

    relation: str | list[str] = "intersects"
    on: list[str] = Field(default_factory=list)
    how: Literal["inner", "left", "right", "full", "semi", "anti"] = "inner"
    delta: int | str | None = None
    epsilon: int | str | None = None
    watermark: timedelta | dict[Literal["left", "right"], timedelta] = timedelta(0)
    columns: Literal["*"] | list[str] | None = None
    suffixes: tuple[str, str] = ("", "_right")
    overlap: bool | Literal["length"] = False
    where: str | None = None

    _on = field_validator("on", mode="before")(as_list)
    _watermark = field_validator("watermark", mode="before")(read_watermark)


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
    left: StreamSource
    right: StreamSource
    join: StreamJoin
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
