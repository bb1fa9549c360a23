"""What a pipeline needs of an engine. Frames are opaque here: Arrow tables or Spark DataFrames."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from timeloom.errors import UsageError
from timeloom.pipeline.definition.models import Sink, Source
from timeloom.pipeline.definition.stores import Store
from timeloom.pipeline.tables.listing import Listing
from timeloom.report.pictures.measures import Measures


@dataclass(frozen=True)
class Judged:
    """The rows of a source: fit ones, the others with a reason, how many in all, and how many for each reason."""

    fit: Any
    unfit: Any
    reason: str
    rows: int
    reasons: dict[str, int]


@dataclass(frozen=True)
class Counts:
    """How many rows an output was meant to have, and how many are found in it when it is read back."""

    meant: int
    found: int


class Engine(Protocol):
    """Reads, judges, queries and writes."""

    name: str
    about: dict[str, str]
    reads_late: bool
    """Whether files are read again whenever a frame is used, not once when the source is judged."""

    def listing(self, place: str) -> Listing:
        """List the files of a source."""

    def judge(self, name: str, source: Source, place: str) -> Judged:
        """Read a source and tell its rows apart."""

    def only(self, judged: Judged, reasons: list[str]) -> Any:
        """The unfit rows with one of these reasons."""

    def query(self, text: str, tables: Mapping[str, Any]) -> Any:
        """Run a query over named tables."""

    def settle(self, frame: Any) -> tuple[Any, int]:
        """Compute a result once for all who use it, whatever it is computed from, and count its rows."""

    def columns(self, frame: Any) -> list[str]:
        """The names of a frame's columns."""

    def write(self, frame: Any, sink: Sink, staging: Path) -> Counts:
        """Write a frame, and count its rows on the way and in the output."""

    def sample(self, frame: Any, sink: Sink | None, staging: Path | None, rows: int) -> Any:
        """A few rows of what was written, or of a settled frame, as an Arrow table."""

    def require(self, store: Store) -> None:
        """Refuse a store that cannot be written here."""

    def deliver(self, frame: Any, store: Store, place: str, rows: int) -> None:
        """Write a settled frame to a store."""

    def measures(self, frame: Any, sink: Sink | None, staging: Path | None) -> Measures:
        """What was written, to be measured for a picture."""

    def close(self) -> None:
        """Give back what the engine holds."""


def require_pyspark(or_else: str = "") -> None:
    """Refuse what needs Spark where it is not installed."""
    if find_spec("pyspark") is None:
        raise UsageError(f"the engine 'spark' needs PySpark, which is missing: pip install 'timeloom[spark]'{or_else}")
