"""What a run has done, as plain data."""

from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any


@dataclass
class SourceRecord:
    """What was read, and what became of each row."""

    name: str
    place: str
    format: str
    rows: int = 0
    admitted: int = 0
    quarantined: int = 0
    dropped: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    faults: dict[str, int] = field(default_factory=dict)
    note: str = ""
    quarantine: str | None = None
    seconds: float = 0.0

    @property
    def balanced(self) -> bool:
        """Whether every row read is accounted for."""
        return self.rows == self.admitted + self.quarantined + self.dropped


@dataclass
class StepRecord:
    """One call of a verb, or one query. Rows are None where a result streams into what follows, uncounted."""

    name: str
    verb: str
    inputs: list[str]
    call: dict[str, str]
    rows: int | None = None
    quarantined: int = 0
    seconds: float = 0.0
    plan: dict[str, Any] | None = None
    faults: dict[str, int] = field(default_factory=dict)
    note: str = ""


@dataclass
class SinkRecord:
    """What was written, with a picture of all of it and a sample.

    ``refused`` are the rows among it that say why an event takes no part.
    """

    name: str
    table: str
    place: str
    format: str
    mode: str
    rows: int = 0
    bytes: int = 0
    seconds: float = 0.0
    columns: list[str] = field(default_factory=list)
    sample: list[list[str]] = field(default_factory=list)
    title: str = ""
    picture: dict[str, Any] | None = None
    bars: list[dict[str, Any]] = field(default_factory=list)
    legend: list[str] = field(default_factory=list)
    refused: int = 0
    note: str = ""


@dataclass
class RunRecord:
    """A whole run. Places are told relative to the file; hints are what its user may want to do next."""

    pipeline: str
    file: str
    engine: str
    about: dict[str, str]
    started: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    seconds: float = 0.0
    status: str = "running"
    error: str | None = None
    kind: str = "pipeline"
    hints: list[str] = field(default_factory=list)
    sources: list[SourceRecord] = field(default_factory=list)
    steps: list[StepRecord] = field(default_factory=list)
    sinks: list[SinkRecord] = field(default_factory=list)

    def as_data(self) -> dict[str, Any]:
        """The record as mappings and lists; each source says whether its rows are all accounted for."""
        data = asdict(self)
        for source, found in zip(data["sources"], self.sources, strict=True):
            source["balanced"] = found.balanced
        return data
