"""Which picture fits a result: steps, a calendar of days, lanes, a histogram, or bars."""

from dataclasses import asdict, dataclass
from typing import Any

from timeloom.model.period import Period
from timeloom.model.ticks import Axis
from timeloom.report.pictures.calendar import DAY, moment
from timeloom.report.pictures.cells import Cells, day_ticks
from timeloom.report.pictures.measures import Bands, Extent, Measures

FEWEST_DAYS, MOST_DAYS = 70, 4 * 366
"""A calendar of fewer days is a speck, one of more is too small to read."""

MOST_LANES = 24


@dataclass(frozen=True)
class Subject:
    """What is known of a result.

    ``measured`` is the column that changes over time, as aggregates have it; ``counted`` is one that says something of
    each row, such as its count of partners.
    """

    rows: int
    period: Period | None
    measured: str | None = None
    counted: str | None = None


def picture_of(subject: Subject, measures: Measures) -> dict[str, Any] | None:
    """Choose a picture and measure what it needs, as plain data; None if nothing fits but the rows themselves."""
    period = subject.period
    if subject.counted is not None:
        return _histogram(subject.counted, measures) if subject.rows > MOST_LANES else None
    extent = measures.extent(period) if period is not None and subject.rows else None
    if extent is None or period is None:
        return None
    if subject.measured is not None:
        bands = measures.bands(period, subject.measured, extent)
        return None if bands is None else _about(extent) | {"kind": "steps", "value": subject.measured} | _data(bands)
    if subject.rows <= MOST_LANES:
        return _about(extent) | {"kind": "lanes"}
    if _is_calendar(extent):
        return _about(extent) | {"kind": "days", "days": sorted(measures.begins(period, extent).items())}
    cells = Cells.over(extent.first, extent.last, extent.axis)
    counts = [float(count) for count in measures.touching(period, cells)]
    starts = [cells.origin + cells.width * number for number in range(cells.count)]
    ends = [start + cells.width for start in starts]
    at = max(range(cells.count), key=lambda number: counts[number])
    bands = Bands(starts, ends, counts, counts, None, (counts[at], starts[at], ends[at]), cells.name)
    return _about(extent) | {"kind": "density", "value": "rows"} | _data(bands)


def _is_calendar(extent: Extent) -> bool:
    day = day_ticks(extent.axis)
    if not day or not FEWEST_DAYS <= (extent.last - extent.first) // day <= MOST_DAYS:
        return False
    return all(moment(tick // day * DAY) is not None for tick in (extent.first, extent.last))


def _about(extent: Extent) -> dict[str, Any]:
    return {
        "first": extent.first,
        "last": extent.last,
        "axis": extent.axis.name.lower(),
        "rows": extent.rows,
        "without": extent.without,
    }


def _data(bands: Bands) -> dict[str, Any]:
    return asdict(bands)


def _histogram(value: str, measures: Measures) -> dict[str, Any] | None:
    counts, bounds = measures.bins(value)
    return {"kind": "histogram", "value": value, "counts": counts, "bounds": bounds} if counts else None


def micros(tick: int, axis: str) -> int:
    """A tick of a picture as microseconds, or as it is on an axis of integers."""
    return tick * day_ticks(Axis.TIMESTAMP) if axis == Axis.DATE.name.lower() else tick
