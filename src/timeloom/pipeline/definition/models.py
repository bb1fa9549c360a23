"""The parts of a pipeline: sources, steps and sinks."""

import re
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from timeloom.errors import UsageError
from timeloom.model.period import Period
from timeloom.pipeline.definition.paths import absolute, relative
from timeloom.pipeline.definition.periods import read_period
from timeloom.pipeline.definition.types import parse_type
from timeloom.pipeline.formats.registry import DEFAULT, FORMATS, INDEX, by_suffix, is_index_file

if TYPE_CHECKING:
    FileFormat: TypeAlias = str
    SourceFormat: TypeAlias = str
else:
    FileFormat = Literal[*FORMATS]
    SourceFormat = Literal[*FORMATS, INDEX, "jdbc", "table"]


class Part(BaseModel):
    """Base of all parts: unknown keys are faults, and nothing changes after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, arbitrary_types_allowed=True)


def _format_by_suffix(data: Any) -> Any:
    if isinstance(data, dict) and "format" not in data:
        if isinstance(data.get("path"), str):
            found = by_suffix(data["path"])
            return data | {"format": found.name} if found else data
        if "url" not in data and "table" in data:
            return data | {"format": "table"}
        if "url" in data:
            return data | {"format": "jdbc"}
    return data


def _source_format(data: Any) -> Any:
    """Indexes are read like tables, and never written."""
    if isinstance(data, dict) and "format" not in data and is_index_file(str(data.get("path", ""))):
        return data | {"format": INDEX}
    return _format_by_suffix(data)


def known_types(columns: dict[str, str] | None) -> dict[str, str] | None:
    """Read the types of a schema."""
    try:
        return columns and {name: parse_type(kind, name) for name, kind in columns.items()}
    except UsageError as error:
        raise ValueError(str(error)) from error


def as_list(value: Any) -> Any:
    """One name stands for a list of one."""
    return [value] if isinstance(value, str) else value


class Expect(Part):
    """What a table of periods is expected to be, as `check` tells, and what happens otherwise."""

    by: list[str] = Field(default_factory=list)
    overlaps: bool = True
    gaps: bool = False
    duplicates: bool = False
    within: tuple[Any, Any] | None = None
    otherwise: Literal["fail", "quarantine", "warn"] = "fail"

    _by = field_validator("by", mode="before")(as_list)

    @model_validator(mode="after")
    def _looks_for_something(self) -> "Expect":
        if self.within is not None and not self.gaps:
            raise ValueError("within is the time in which gaps are looked for; give gaps: true, too")
        return self


class Source(Part):
    """Where rows come from, and which of them are fit to take part."""

    format: SourceFormat
    path: str | None = None
    url: str | None = None
    table: str | None = None
    columns: dict[str, str] | None = Field(default=None, alias="schema")
    period: Period | None = None
    keys: list[str] = Field(default_factory=list)
    required: list[str] = Field(default_factory=list)
    on_invalid: Literal["error", "quarantine", "drop"] = "error"
    empty: Literal["error", "drop", "point"] | None = None
    expect: Expect | None = None
    options: dict[str, str | int | float | bool] = Field(default_factory=dict)

    _suffix = model_validator(mode="before")(_source_format)
    _keys = field_validator("keys", "required", mode="before")(as_list)
    _period = field_validator("period", mode="before")(read_period)

    _types = field_validator("columns")(known_types)

    @model_validator(mode="after")
    def _whole(self) -> "Source":
        needed = {"jdbc": ("url", "table"), "table": ("table",)}.get(self.format, ("path",))
        for name in ("path", "url", "table"):
            if name in needed and getattr(self, name) is None:
                raise ValueError(f"a {self.format} source needs {' and '.join(needed)}")
            if name not in needed and getattr(self, name) is not None:
                raise ValueError(f"a {self.format} source has no {name}; it needs {' and '.join(needed)}")
        told = [name for name in self.model_fields_set if name not in ("format", "path")]
        if self.format == INDEX and told:
            raise ValueError(
                f"an index knows its columns and periods, and its rows were checked; leave {', '.join(told)} out"
            )
        for name in self.period_columns + self.never_null:
            if self.columns is not None and name not in self.columns:
                raise ValueError(f"the schema does not have {name!r}, which is a period, key or required column")
        return self

    @property
    def period_columns(self) -> list[str]:
        """The columns of the period, if there is one."""
        return list(self.period.columns) if self.period else []

    @property
    def never_null(self) -> list[str]:
        """The columns that each row must have a value for."""
        return list(dict.fromkeys(self.keys + self.required))


class Step(Part):
    """A call of a verb (``verb``, with its ``inputs`` and ``options``), or a query (``sql``)."""

    verb: str | None = None
    sql: str | None = None
    inputs: dict[str, str | list[str]] = Field(default_factory=dict)
    options: dict[str, Any] = Field(default_factory=dict)
    period: Period | None = None
    expect: Expect | None = None

    @property
    def needs(self) -> list[str]:
        """The tables that the step reads, each once."""
        named = [[name] if isinstance(name, str) else name for name in self.inputs.values()]
        return list(dict.fromkeys(name for names in named for name in names))


LABEL = "a label of letters, digits and _.+- that does not begin with _ or . (a rerun replaces the rows of its batch)"
"""What the batch of an output is."""


def as_label(given: Any) -> Any:
    """A label that YAML takes for a day or a number, as it was written."""
    if isinstance(given, date):
        return given.isoformat()
    return str(given) if isinstance(given, int) and not isinstance(given, bool) else given


def is_label(text: str) -> bool:
    """Whether a text can be the label of a batch."""
    return re.fullmatch(r"[A-Za-z0-9+-][A-Za-z0-9_.+-]*", text) is not None


class Sink(Part):
    """Where a table goes."""

    table: str = Field(validation_alias="from")
    path: str
    format: FileFormat
    mode: Literal["overwrite", "replace_partitions", "append", "error"] = "overwrite"
    partition_by: list[str] = Field(default_factory=list)
    batch: str | None = None
    title: str | None = None
    options: dict[str, str | int | float | bool] = Field(default_factory=dict)

    _suffix = model_validator(mode="before")(_format_by_suffix)
    _partition = field_validator("partition_by", mode="before")(as_list)
    _batch = field_validator("batch", mode="before")(as_label)

    @model_validator(mode="after")
    def _whole(self) -> "Sink":
        if self.mode == "replace_partitions" and not self.partition_by:
            raise ValueError("mode replace_partitions needs partition_by")
        if len(set(self.partition_by)) < len(self.partition_by):
            raise ValueError("partition_by names a column twice")
        if self.mode == "append" and not (self.batch and is_label(self.batch)):
            raise ValueError(f"mode append needs batch, {LABEL}")
        if self.mode != "append" and self.batch is not None:
            raise ValueError("batch is for mode append")
        return self

    @property
    def is_file(self) -> bool:
        """Whether the local engine writes one file; all else is a directory."""
        named = Path(self.path).name.lower().endswith(FORMATS[self.format].suffixes)
        return named and not self.partition_by and self.mode in ("overwrite", "error")


class Quarantine(Part):
    """Where rejected rows go: a table for each source, below one path."""

    path: str
    format: FileFormat = DEFAULT


class Cluster(Part):
    """Where Spark runs, and with which settings."""

    master: str | None = None
    remote: str | None = None
    conf: dict[str, str | int | float | bool] = Field(default_factory=dict)

    def under(self, given: "Cluster | None") -> "Cluster":
        """What a file says, where nothing else was given."""
        if given is None:
            return self
        chosen: dict[str, Any] = given.model_dump(exclude_none=True)
        kept = {} if given.master or given.remote else {"master": self.master, "remote": self.remote}
        return Cluster(**{**kept, **chosen, "conf": {**self.conf, **given.conf}})


class Pipeline(Part):
    """A whole pipeline. Relative paths start at ``base``, the directory of its file."""

    name: str
    base: Path
    engine: Literal["spark", "local"] = "spark"
    sources: dict[str, Source]
    steps: dict[str, Step]
    sinks: dict[str, Sink]
    stores: dict[str, Any] = Field(default_factory=dict)
    quarantine: Quarantine | None = None
    report: str | None = None
    spark: Cluster = Cluster()

    def place(self, path: str) -> str:
        """A path of the file as an absolute one; addresses with a scheme stay as they are."""
        return absolute(self.base, path)

    @property
    def all_sinks(self) -> dict[str, Any]:
        """Files and stores."""
        return {**self.sinks, **self.stores}

    def told(self, place: str) -> str:
        """A place as a report tells it: seen from the file."""
        return relative(self.base, place)

    @property
    def report_place(self) -> str:
        """The directory of the report."""
        return self.place(self.report or f"{self.name}-report")
