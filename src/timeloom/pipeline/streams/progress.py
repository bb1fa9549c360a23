"""How far a stream has come, from what Spark tells about its micro-batches."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

OBSERVED, RESULTS, REFUSED = "timeloom", "results", "refused_"
"""The metrics that a stream observes of itself: results, and refused events by the number of their reason."""

LATE = "late"


@dataclass
class StreamProgress:
    """Totals of a run, and where it stands. ``reasons`` counts refused events; the state is that of the last batch."""

    reasons_known: tuple[str, ...]
    batches: int = 0
    events: list[int] = field(default_factory=lambda: [0, 0])
    results: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    state_rows: int = 0
    state_bytes: int = 0
    watermark: datetime | None = None
    newest: datetime | None = None
    last_batch: int = -1
    _seen: set[tuple[int, str]] = field(default_factory=set)

    @property
    def refused(self) -> int:
        """Events that take no part."""
        return sum(self.reasons.values())

    @property
    def late(self) -> int:
        """Events that came when their instant was complete."""
        return sum(count for reason, count in self.reasons.items() if reason.startswith(LATE))

    @property
    def lag(self) -> timedelta | None:
        """How far the watermark, at which results leave, is behind the newest event."""
        if self.watermark is None or self.newest is None:
            return None
        return max(self.newest - self.watermark, timedelta(0))

    def take(self, told: Mapping[str, Any]) -> bool:
        """Add what Spark tells of one micro-batch; tell whether it was news."""
        mark = (told["batchId"], told["timestamp"])
        if mark in self._seen:
            return False
        self._seen = {known for known in self._seen if known[0] >= told["batchId"] - 1} | {mark}
        rows = [int(source["numInputRows"] or 0) for source in told["sources"]]
        for side, count in enumerate(rows[:2]):
            self.events[side] += count
        self._take_metrics(told["observedMetrics"].get(OBSERVED))
        for state in told["stateOperators"][:1]:
            self.state_rows, self.state_bytes = int(state["numRowsTotal"]), int(state["memoryUsedBytes"])
        times = told["eventTime"]
        self.watermark = _later(self.watermark, times.get("watermark"))
        self.newest = _later(self.newest, times.get("max"))
        if "addBatch" not in told["durationMs"]:
            return False
        self.last_batch = told["batchId"]
        self.batches += 1
        return True

    def _take_metrics(self, row: Any) -> None:
        if row is None:
            return
        metrics = row.asDict() if hasattr(row, "asDict") else dict(row)
        self.results += int(metrics[RESULTS] or 0)
        for number, reason in enumerate(self.reasons_known):
            count = int(metrics.get(f"{REFUSED}{number}") or 0)
            if count:
                self.reasons[reason] = self.reasons.get(reason, 0) + count

    def words(self) -> str:
        """One line for people."""
        parts = [
            f"batch {self.last_batch}" if self.batches else "no batch",
            f"{sum(self.events):,} events in",
            f"{self.results:,} results out",
            f"{self.refused:,} refused ({self.late:,} late)",
            f"state {self.state_rows:,} rows, {self.state_bytes / 1e6:.1f} MB",
        ]
        if self.watermark is not None:
            parts.append(f"watermark {self.watermark.isoformat(' ', 'milliseconds').removesuffix('+00:00')}")
        if self.lag is not None:
            parts.append(f"lag {self.lag.total_seconds():,.1f} s")
        return ", ".join(parts)

    def facts(self) -> dict[str, Any]:
        """The same for reports."""
        return {
            "batches": self.batches,
            "events in": sum(self.events),
            "events refused": self.refused,
            "results out": self.results,
            "late": self.late,
            "state rows": self.state_rows,
            "state bytes": self.state_bytes,
            "watermark": "" if self.watermark is None else self.watermark.isoformat(),
            "lag (s)": "" if self.lag is None else self.lag.total_seconds(),
        }


def _later(known: datetime | None, told: str | None) -> datetime | None:
    """The later of two instants; Spark's watermark begins at 1970, which means that there is none yet."""
    if told is None:
        return known
    found = datetime.fromisoformat(told)
    if found.timestamp() <= 0:
        return known
    return found if known is None else max(known, found)
