"""How far a stream on Spark has come: what it observes of its results, and what Spark tells of its micro-batches."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from timeloom.streaming.intake import REASONS

OBSERVED, RESULTS, REFUSED = "timeloom", "results", "refused_"
"""The metrics that a stream observes of itself: results, and refused events by the number of their reason."""

LATE = "late"


def observed(frame: Any, name: str = OBSERVED) -> Any:
    """Let Spark observe the results of a streaming verb: each micro-batch tells of them in its progress.

    Parameters
    ----------
    frame
        What `timeloom.stream_join` or another verb of streams has returned.
    name
        The name of the observation in ``observedMetrics``: ``results``, and ``refused_1``, ``refused_2``, … with the
        events refused for each reason, which `StreamMetrics` puts into words.
    """
    from pyspark.sql import functions as F  # noqa: N812

    reasons = (
        F.count_if(F.col("reason") == reason).alias(f"{REFUSED}{number}") for number, reason in enumerate(REASONS)
    )
    return frame.observe(name, F.count_if(F.col("reason").isNull()).alias(RESULTS), *reasons)


@dataclass
class StreamMetrics:
    """Totals of a running query, and where it stands: events in, results out, refused events by reason, state, lag.

    ``events`` has a number for each source, ``reasons`` one for each reason for which events were refused. The state
    and the watermark are those of the last micro-batch.
    """

    batches: int = 0
    events: list[int] = field(default_factory=list)
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

    @classmethod
    def of(cls, query: Any) -> "StreamMetrics":
        """The metrics of a query whose results are `observed`, as far as Spark still tells of its micro-batches."""
        found = cls()
        for told in query.recentProgress:
            found.take(told)
        return found

    def take(self, told: Mapping[str, Any]) -> bool:
        """Add what Spark tells of one micro-batch; tell whether it was news."""
        mark = (told["batchId"], told["timestamp"])
        if mark in self._seen:
            return False
        self._seen = {known for known in self._seen if known[0] >= told["batchId"] - 1} | {mark}
        rows = [int(source["numInputRows"] or 0) for source in told["sources"]]
        known = [*self.events, *[0] * (len(rows) - len(self.events))]
        self.events = [before + count for before, count in zip(known, rows, strict=True)]
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
        for number, reason in enumerate(REASONS):
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
