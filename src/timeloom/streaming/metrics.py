"""How far a stream on Spark has come: what it observes of its results, and what Spark tells of its micro-batches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from timeloom.streaming.intake import REASONS

OBSERVED, RESULTS, REFUSED, REFUSED_OF, FIRST_AT = "timeloom", "results", "refused_", "refused_of_", "first_at"
"""The metrics that a stream observes of itself: results, refused events by the number of their reason and by the side
that they are of, and the first instant of a result, in microseconds since 1970."""

LATE = "late"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def observed(frame: Any, name: str = OBSERVED, *, sides: Sequence[str] | None = None) -> Any:
    """Let Spark observe the results of a streaming verb: each micro-batch tells of them in its progress.

    Parameters
    ----------
    frame
        What `timeloom.stream_join` or another verb of streams has returned.
    name
        The name of the observation in ``observedMetrics``: ``results``; ``refused_1``, ``refused_2``, … with the
        events refused for each reason, which `StreamMetrics` puts into words; ``refused_of_left``, … with those of each
        side; and ``first_at``, the first instant ``at`` of a result, in microseconds since 1970.
    sides
        The streams whose refused events are told apart: by default ``left`` and ``right`` where results have their ids,
        and else none.
    """
    from pyspark.sql import functions as F  # noqa: N812

    columns = set(frame.columns)
    if sides is None:
        sides = ("left", "right") if {"left_id", "right_id"} <= columns else ()
    refused, is_result = F.col("reason").isNotNull(), F.col("reason").isNull()
    reasons = [
        F.count_if(F.col("reason") == reason).alias(f"{REFUSED}{number}") for number, reason in enumerate(REASONS)
    ]
    for side in sides:
        own = "id" if len(sides) == 1 else f"{side}_id"
        if own in columns:
            quoted = "`" + own.replace("`", "``") + "`"
            reasons.append(F.count_if(refused & F.col(quoted).isNotNull()).alias(f"{REFUSED_OF}{side}"))
    first_at = F.min(F.unix_micros(F.when(is_result, F.col("at")).cast("timestamp")))
    return frame.observe(name, F.count_if(is_result).alias(RESULTS), *reasons, first_at.alias(FIRST_AT))


@dataclass
class StreamMetrics:
    """Totals of a running query, and where it stands: events in, results out, refused events by reason, state, lag.

    ``events`` has a number for each source, ``reasons`` one for each reason for which events were refused, and
    ``refused_of`` one for each side that had some (an event without an id is of no side that could be told). The state
    and the watermark are those of the last micro-batch. ``delay`` is how long after its instant ``at`` a result of the
    last micro-batch that had some left, at most, by the clock on the wall.
    """

    batches: int = 0
    events: list[int] = field(default_factory=list)
    results: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    refused_of: dict[str, int] = field(default_factory=dict)
    state_rows: int = 0
    state_bytes: int = 0
    watermark: datetime | None = None
    newest: datetime | None = None
    delay: timedelta | None = None
    last_batch: int = -1
    _arrivals: list[tuple[datetime, datetime]] = field(default_factory=list)
    _told: datetime | None = None
    _last: tuple[int, str] = (-1, "")

    @property
    def refused(self) -> int:
        """Events that take no part."""
        return sum(self.reasons.values())

    @property
    def late(self) -> int:
        """Events that came when their instant was complete."""
        return sum(count for reason, count in self.reasons.items() if reason.startswith(LATE))

    @property
    def behind(self) -> timedelta | None:
        """How far the watermark, at which results leave, is behind the newest event: in the time of the events."""
        if self.watermark is None or self.newest is None:
            return None
        return max(self.newest - self.watermark, timedelta(0))

    @property
    def lag(self) -> timedelta | None:
        """How far results are behind the arrival of events: in the time of the clock on the wall.

        That is how long before the end of the last micro-batch the first event arrived that is as new as the watermark:
        up to there all results have left, and events that came after it are still waiting.
        """
        if self.watermark is None or self._told is None:
            return None
        come = [arrived for newest, arrived in self._arrivals if newest >= self.watermark]
        return max(self._told - come[0], timedelta(0)) if come else timedelta(0)

    @classmethod
    def of(cls, query: Any) -> "StreamMetrics":
        """The metrics of a query whose results are `observed`, as far as Spark still tells of its micro-batches."""
        found = cls()
        for told in query.recentProgress:
            found.take(told)
        return found

    def take(self, told: Mapping[str, Any]) -> bool:
        """Add what Spark tells of one micro-batch; tell whether it was news.

        Spark tells of micro-batches in their order, and of the last hundred as often as it is asked.
        """
        mark = (told["batchId"], told["timestamp"])
        if mark <= self._last:
            return False
        self._last = mark
        rows = [int(source["numInputRows"] or 0) for source in told["sources"]]
        known = [*self.events, *[0] * (len(rows) - len(self.events))]
        self.events = [before + count for before, count in zip(known, rows, strict=True)]
        for state in told["stateOperators"][:1]:
            self.state_rows, self.state_bytes = int(state["numRowsTotal"]), int(state["memoryUsedBytes"])
        times = told["eventTime"]
        self.watermark = _later(self.watermark, times.get("watermark"))
        self.newest = _later(self.newest, times.get("max"))
        self._take_arrival(told)
        self._take_metrics(told["observedMetrics"].get(OBSERVED))
        if "addBatch" not in told["durationMs"]:
            return False
        self.last_batch = told["batchId"]
        self.batches += 1
        return True

    def _take_arrival(self, told: Mapping[str, Any]) -> None:
        """Note when events of an instant had come; of instants that the watermark has passed only the last counts."""
        begun = datetime.fromisoformat(told["timestamp"])
        spent = timedelta(milliseconds=int(told["durationMs"].get("triggerExecution") or 0))
        self._told = begun + spent
        if self.newest is not None and (not self._arrivals or self.newest > self._arrivals[-1][0]):
            self._arrivals.append((self.newest, begun))
        passed = [self.watermark is not None and newest < self.watermark for newest, _ in self._arrivals]
        self._arrivals = self._arrivals[sum(passed) :]

    def _take_metrics(self, row: Any) -> None:
        if row is None:
            return
        metrics = row.asDict() if hasattr(row, "asDict") else dict(row)
        self.results += int(metrics[RESULTS] or 0)
        for number, reason in enumerate(REASONS):
            count = int(metrics.get(f"{REFUSED}{number}") or 0)
            if count:
                self.reasons[reason] = self.reasons.get(reason, 0) + count
        for name, count in metrics.items():
            if name.startswith(REFUSED_OF) and count:
                side = name.removeprefix(REFUSED_OF)
                self.refused_of[side] = self.refused_of.get(side, 0) + int(count)
        if metrics.get(FIRST_AT) is not None and self._told is not None:
            self.delay = self._told - (EPOCH + timedelta(microseconds=int(metrics[FIRST_AT])))

    def words(self) -> str:
        """One line for people."""
        parts = [
            f"batch {self.last_batch}" if self.batches else "no batch",
            f"{sum(self.events):,} events in",
            f"{self.results:,} results out",
            f"{self.refused:,} refused ({', '.join(self._kinds())})",
            f"state {self.state_rows:,} rows, {self.state_bytes / 1e6:.1f} MB",
        ]
        if self.watermark is not None:
            parts.append(f"watermark {self.watermark.isoformat(' ', 'milliseconds').removesuffix('+00:00')}")
        if self.behind is not None:
            parts.append(f"{self.behind.total_seconds():,.1f} s behind the newest event")
        if self.lag is not None:
            parts.append(f"lag {self.lag.total_seconds():,.1f} s")
        return ", ".join(parts)

    def _kinds(self) -> list[str]:
        return [f"{self.late:,} late", *(f"{count:,} {side}" for side, count in sorted(self.refused_of.items()))]

    def facts(self) -> dict[str, Any]:
        """The same for reports."""
        return {
            "batches": self.batches,
            "events in": sum(self.events),
            "events refused": self.refused,
            "results out": self.results,
            **{f"events refused ({side})": count for side, count in sorted(self.refused_of.items())},
            "late": self.late,
            "state rows": self.state_rows,
            "state bytes": self.state_bytes,
            "watermark": "" if self.watermark is None else self.watermark.isoformat(),
            "behind the newest event (s)": "" if self.behind is None else self.behind.total_seconds(),
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
