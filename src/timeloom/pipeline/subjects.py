"""What each table of a run is about: the keys that name its rows, and the columns that a picture of it shows."""

from typing import Any

import pyarrow as pa

from timeloom.model.period import Period
from timeloom.pipeline.definition.faults import one_line
from timeloom.pipeline.definition.models import Source, Step
from timeloom.report.pictures.choice import Subject, picture_of
from timeloom.report.pictures.measures import Measures
from timeloom.report.record import SinkRecord

_KEY_OPTIONS = ("by", "on", "left_on")


class Subjects:
    """Keys come from sources and from options such as ``on`` and ``by``, and go along with the columns."""

    def __init__(self) -> None:
        self.keys: dict[str, list[str]] = {}
        self.measured: dict[str, list[str]] = {}
        self.counted: dict[str, str | None] = {}

    def know_source(self, name: str, source: Source) -> None:
        """Take note of a source."""
        self.keys[name], self.measured[name], self.counted[name] = list(source.keys), [], None

    def know_step(self, name: str, step: Step, columns: list[str]) -> None:
        """Take note of a result."""
        options = step.options
        given = [key for option in _KEY_OPTIONS for key in _names(options.get(option))]
        inherited = [key for table in step.needs for key in self.keys[table]]
        self.keys[name] = [key for key in dict.fromkeys((*given, *inherited)) if key in columns]
        self.measured[name] = [value for value in self._measured(step) if value in columns]
        self.counted[name] = options.get("name", "count") if step.verb in ("count_join", "top_k") else None
        if step.verb is None and len(step.needs) == 1:
            inner = self.counted[step.needs[0]]
            self.counted[name] = inner if inner in columns else None

    def _measured(self, step: Step) -> list[str]:
        if step.verb == "depth":
            return [str(step.options.get("name", "depth"))]
        if step.verb == "temporal_aggregate":
            return list(step.options.get("aggregates") or ())
        return self.measured[step.needs[0]] if step.verb is None and len(step.needs) == 1 else []

    def draw(self, record: SinkRecord, sample: pa.Table, period: Period | None, measures: Measures) -> None:
        """Draw a result. A picture that cannot be drawn is told in its place and fails no run."""
        numbers = [name for name in self.measured[record.table] if _is_number(sample.schema.field(name).type)]
        counted = self.counted[record.table]
        subject = Subject(record.rows, period, next(iter(numbers), None), counted)
        try:
            record.picture = picture_of(subject, measures) or record.picture
        except Exception as error:  # whatever is wrong with a picture, the rows are written and counted
            record.note = f"no picture: {one_line(error)}"


def _names(value: Any) -> list[str]:
    if value is None:
        return []
    return [value] if isinstance(value, str) else [str(name) for name in value]


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))
