"""The lines of a grid of time as ticks: at equal distances, where calendar units change in a zone, or at instants."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeloom.engines.tables.ticks import PeriodTicks, Ticks, TimeType
from timeloom.errors import UsageError
from timeloom.kernels.order import distinct
from timeloom.model.grids import Every, GridRequest
from timeloom.model.ticks import FOREVER, MAX_TICK, MIN_TICK, Axis, ticks_of

DAY = 86_400_000_000
MOST = 50_000_000
"""So many lines, or pieces between them, are enough for any result."""

_MONDAY = -3
"""The first Monday on or before 1970-01-01, in days."""


@dataclass(frozen=True)
class Lines:
    """Cells of time between lines: by arithmetic, or between lines that are known."""

    step: int
    origin: int
    known: Ticks

    def cells(self, ticks: Ticks) -> Ticks:
        """The number of the cell that holds each tick."""
        if self.step:
            cells: Ticks = np.floor_divide(ticks - np.int64(self.origin), np.int64(self.step))
            return cells
        return np.searchsorted(self.known, ticks, side="right").astype(np.int64) - 1

    def edges(self, cells: Ticks) -> Ticks:
        """Where cells begin."""
        if self.step:
            return cells * np.int64(self.step) + np.int64(self.origin)
        return self.known[cells]

    def between(self, low: int, high: int) -> int:
        """How many cells hold a tick from low up to high."""
        first, last = self.cells(np.array([low, high - 1], np.int64)).tolist()
        return int(last - first + 1)


def lines_of(request: GridRequest, ticks: PeriodTicks, low: int, high: int) -> Lines:
    """The lines of a grid over the ticks from low to high."""
    kind = ticks.type
    if request.at is not None:
        known = distinct(np.array([kind.ticks_of(at, "at") for at in request.at], np.int64))
        return Lines(0, 0, distinct(np.concatenate([[MIN_TICK], known, [MAX_TICK]])))
    assert request.every is not None
    zone = _zone(request, kind)
    if request.every.unit is None or (request.every.unit in ("day", "week") and zone is None):
        return _regular(request.every, request.origin, kind, low, high)
    if kind.axis is Axis.INTEGER:
        raise UsageError(
            f"every={request.every.shown!r} was given for integer periods, whose ticks have no calendar; give a number "
            "of ticks, or use date or timestamp columns"
        )
    return Lines(0, 0, _calendar(request.every, request.origin, kind, zone, low, high))


def _zone(request: GridRequest, kind: TimeType) -> str | None:
    """The zone in which calendar units are meant, if days differ in length there."""
    if kind.axis is not Axis.ZONED:
        if request.zone is not None:
            raise UsageError(f"zone={request.zone!r} is for timestamps with a zone; the periods are {kind.arrow}")
        return None
    zone = request.zone or kind.arrow.tz
    try:
        pa.array([0], pa.timestamp("us")).cast(pa.timestamp("us", zone))
        pc.assume_timezone(pa.array([0], pa.timestamp("us")), zone)
    except (pa.ArrowException, OSError) as error:
        raise UsageError(f"zone={zone!r} is no time zone: {error}") from error
    return None if zone in ("UTC", "Z", "+00:00") else str(zone)


def _regular(every: Every, origin: Any, kind: TimeType, low: int, high: int) -> Lines:
    if every.unit is not None:
        if kind.axis is Axis.INTEGER:
            raise UsageError(
                f"every={every.shown!r} was given for integer periods, whose ticks have no unit; give a plain integer"
            )
        day = 1 if kind.axis is Axis.DATE else DAY
        step = every.count * day * (7 if every.unit == "week" else 1)
        first = _MONDAY * day if every.unit == "week" else 0
    else:
        assert every.span is not None
        step, first = ticks_of(every.span, kind.axis), 0
    first = first if origin is None else kind.ticks_of(origin, "origin")
    if low - step < MIN_TICK + abs(first) or high + step > MAX_TICK - abs(first):
        raise beyond(every)
    return Lines(step, first, np.zeros(0, np.int64))


def _calendar(every: Every, origin: Any, kind: TimeType, zone: str | None, low: int, high: int) -> Ticks:
    """Lines at the changes of calendar units, one before the first tick and one after the last."""
    day = 1 if kind.axis is Axis.DATE else DAY
    if low - day < MIN_TICK or high + day > MAX_TICK:  # a wall clock shows up to a day more or less
        raise beyond(every)
    first, last = (_local(tick, zone) if zone else tick for tick in (low, high))
    days = first // day - 2, last // day + 2
    at, within = 0, 0
    if origin is not None:
        tick = kind.ticks_of(origin, "origin")
        at, within = divmod(_local(tick, zone) if zone else tick, day)
    if every.unit == "month":
        local = _months(every.count, at, *days)
    else:
        step = every.count * (7 if every.unit == "week" else 1)
        begin = at if origin is not None else (_MONDAY if every.unit == "week" else 0)
        local = np.arange((days[0] - begin) // step, (days[1] - begin) // step + 2, dtype=np.int64) * step + begin
    if local.size > MOST:
        raise UsageError(f"every={every.shown!r} cuts this time into {local.size:,} parts; give more, or less time")
    if (int(local[0]) - 1) * day < MIN_TICK or (int(local[-1]) + 2) * day > MAX_TICK:
        raise beyond(every)
    local = local * day + within
    return local if zone is None else _instants(local, zone)


def beyond(every: Every) -> UsageError:
    """Say that a grid has lines where there is no time."""
    return UsageError(f"every={every.shown!r} makes lines beyond the ticks that there are; ask for less time")


def _months(step: int, origin: int, low: int, high: int) -> Ticks:
    """The days at which every so many months begin, counted from the month of the origin, on its day of the month."""
    base = np.datetime64(origin, "D").astype("datetime64[M]").astype(np.int64)
    offset = origin - np.datetime64(int(base), "M").astype("datetime64[D]").astype(np.int64)
    ends = [np.datetime64(day, "D").astype("datetime64[M]").astype(np.int64) for day in (low, high)]
    if ends[1] - ends[0] > MOST:
        raise UsageError("the periods span more months than can be cut; ask for less time")
    numbers = np.arange((ends[0] - base) // step - 1, (ends[1] - base) // step + 2, dtype=np.int64) * step + base
    firsts, nexts = (
        (numbers + more).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64) for more in (0, 1)
    )
    found: Ticks = np.minimum(firsts + offset, nexts - 1)
    return found


def _local(tick: int, zone: str) -> int:
    """The wall clock of a zone at an instant."""
    instant = pa.array([tick], pa.int64()).cast(pa.timestamp("us", "UTC"))
    return int(pc.local_timestamp(instant.cast(pa.timestamp("us", zone))).cast(pa.int64())[0].as_py())


def _instants(local: Ticks, zone: str) -> Ticks:
    """When the wall clock of a zone shows these times: the first time if twice, the end of the gap if never."""
    naive = pa.array(local, pa.int64()).cast(pa.timestamp("us"))
    placed = pc.assume_timezone(naive, zone, ambiguous="earliest", nonexistent="latest")
    return distinct(np.asarray(placed.cast(pa.int64())))


def refuse_endless(ends: Ticks, what: str, mended: str = "give them an end") -> None:
    """Refuse rows without an end, which have no last piece."""
    endless = int((ends == FOREVER).sum())
    if endless:
        raise UsageError(f"{endless} rows never end, so {what}; {mended}")
