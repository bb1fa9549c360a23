"""The verbs that a stream's file may call: their options, which sources they take, and how they run."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

from pydantic import Field, field_validator

from timeloom.pipeline.definition.models import Part, as_list
from timeloom.pipeline.streams.durations import in_words, read_duration, read_watermark


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

    def run(self, frames: Mapping[str, Any], arrives: Mapping[str, str]) -> Any:
        """The results of streaming DataFrames."""
        from timeloom.operators.stream_join import stream_join

        options = self.model_dump(exclude={"relation", "on", "watermark"})
        return stream_join(
            frames["left"],
            frames["right"],
            self.relation,
            on=self.on or None,
            watermark=self._words(),
            left_arrives=arrives["left"],
            right_arrives=arrives["right"],
            **options,
        )

    def _words(self) -> str | dict[str, str | None]:
        if not isinstance(self.watermark, dict):
            return in_words(self.watermark)
        return {side: in_words(self.watermark.get(side, timedelta(0))) for side in ("left", "right")}


class Final(Part):
    """What the verbs of final results have in common."""

    watermark: timedelta = timedelta(0)

    _watermark = field_validator("watermark", mode="before")(read_duration)


class StreamCount(Final):
    """How left rows are counted; as in `timeloom.stream_count`."""

    relation: str | list[str] = "intersects"
    on: list[str] = Field(default_factory=list)
    name: str = "count"
    aggregates: dict[str, str | list[str]] = Field(default_factory=dict)
    delta: int | str | None = None
    epsilon: int | str | None = None
    columns: list[str] | None = None

    _lists = field_validator("on", mode="before")(as_list)

    def run(self, frames: Mapping[str, Any], arrives: Mapping[str, str]) -> Any:
        """The results of streams, or of tables as streams that are over."""
        from timeloom.operators.stream_count import stream_count

        options = self.model_dump(exclude={"relation", "on", "watermark"})
        return stream_count(
            frames["left"],
            frames["right"],
            self.relation,
            on=self.on or None,
            watermark=in_words(self.watermark),
            left_arrives=arrives["left"],
            right_arrives=arrives["right"],
            **options,
        )


class StreamAggregate(Final):
    """What is aggregated over time; as in `timeloom.stream_aggregate`."""

    aggregates: dict[str, str | list[str]]
    by: list[str] = Field(default_factory=list)
    every: int | str | None = None
    zone: str | None = None

    _lists = field_validator("by", mode="before")(as_list)

    def run(self, frames: Mapping[str, Any], arrives: Mapping[str, str]) -> Any:
        """The results of a stream, or of a table as a stream that is over."""
        from timeloom.operators.stream_aggregate import stream_aggregate

        options = self.model_dump(exclude={"aggregates", "watermark"})
        return stream_aggregate(
            frames["input"],
            self.aggregates,
            watermark=in_words(self.watermark),
            arrives=arrives["input"],
            **options,
        )


class StreamCoalesce(Final):
    """What is merged; as in `timeloom.stream_coalesce`."""

    by: list[str] = Field(default_factory=list)
    max_gap: int | str | None = None

    _lists = field_validator("by", mode="before")(as_list)

    def run(self, frames: Mapping[str, Any], arrives: Mapping[str, str]) -> Any:
        """The results of a stream, or of a table as a stream that is over."""
        from timeloom.operators.stream_coalesce import stream_coalesce

        options = {"by": self.by, "max_gap": self.max_gap, "watermark": in_words(self.watermark)}
        return stream_coalesce(frames["input"], arrives=arrives["input"], **options)  # type: ignore[arg-type]


class StreamPattern(Final):
    """Which relations hold between which streams; as in `timeloom.stream_pattern`."""

    relations: list[tuple[str, str, str]]
    on: list[str] = Field(default_factory=list)
    columns: list[str] | None = None

    _lists = field_validator("on", mode="before")(as_list)

    def run(self, frames: Mapping[str, Any], arrives: Mapping[str, str]) -> Any:
        """The results of streams, or of tables as streams that are over."""
        from timeloom.operators.stream_pattern import stream_pattern

        options: dict[str, Any] = {"on": self.on or None, "columns": self.columns}
        return stream_pattern(
            dict(frames), self.relations, arrives=dict(arrives), watermark=in_words(self.watermark), **options
        )


StreamCall = StreamJoin | StreamCount | StreamAggregate | StreamCoalesce | StreamPattern


@dataclass(frozen=True)
class StreamVerb:
    """A verb of streams: its options, and its sources, which a pattern names itself."""

    options: type[Any]
    sources: tuple[str, ...] = ()


STREAM_VERBS = {
    "join": StreamVerb(StreamJoin, ("left", "right")),
    "count": StreamVerb(StreamCount, ("left", "right")),
    "aggregate": StreamVerb(StreamAggregate, ("input",)),
    "coalesce": StreamVerb(StreamCoalesce, ("input",)),
    "pattern": StreamVerb(StreamPattern),
}
"""The verbs by the word that calls them in a file."""
