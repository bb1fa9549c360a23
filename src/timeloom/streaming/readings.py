"""The two readings of carried-over counters that make a count, where a box allows it.

A count is the right rows that started, or ended, up to one instant, less those that did so up to another one. That
is enough for boxes that limit only the start of a right row, or only its end. A third kind says that the right row is
active: it has started by one instant and has not ended by another. Then the rows that ended too early are subtracted,
which must all have started in time.
"""

from typing import NamedTuple

import numpy as np

from timeloom.kernels.order import Ticks
from timeloom.model.box import Box
from timeloom.model.ticks import FOREVER, MAX_TICK, MIN_TICK
from timeloom.streaming.deciding import in_ticks

STARTED, ENDED = range(2)
"""The counters."""

Limit = tuple[int | None, int | None]


class Reading(NamedTuple):
    """A counter, read at the first (or last) of two instants: so long after the start and the end of a left row."""

    counter: int
    after_start: int | None
    after_end: int | None
    first: bool

    def instants(self, starts: Ticks, ends: Ticks) -> Ticks:
        """Up to which instant the counter counts; the end of the axis while that is not known."""
        terms = [
            _moved(points, after)
            for points, after in ((starts, self.after_start), (ends, self.after_end))
            if after is not None
        ]
        if not terms:
            return np.full(starts.size, FOREVER)
        found: Ticks = np.min(terms, axis=0) if self.first else np.max(terms, axis=0)
        return found

    def known(self, starts: Ticks, ends: Ticks) -> Ticks:
        """When that instant has come and is known."""
        instants = self.instants(starts, ends)
        if self.after_end is None:
            return instants
        waits = np.ones(starts.size, np.bool_)
        if self.first and self.after_start is not None:
            waits = _moved(starts, self.after_start) > instants
        return np.where(waits, np.maximum(instants, ends), instants)


class Count(NamedTuple):
    """The right rows up to one reading, less those up to another one."""

    up_to: Reading
    less: Reading | None


def count_of(box: Box) -> Count | None:
    """The readings whose difference counts the right rows in a box, or None if there are none."""
    for found in (_by_start(box), _by_end(box), _active(box)):
        if found is not None and all(reading is None or _not_past(reading) for reading in found):
            return found
    return None


def _not_past(reading: Reading) -> bool:
    """Counters cannot be read of instants that have passed when a left row starts or ends."""
    return all(after is None or after >= -1 for after in (reading.after_start, reading.after_end))


def _by_start(box: Box) -> Count | None:
    if not Box(start_start=box.start_start, start_end=box.start_end).implies(box):
        return None
    return _between(STARTED, in_ticks(box)[0], in_ticks(box)[1])


def _by_end(box: Box) -> Count | None:
    if not Box(end_start=box.end_start, end_end=box.end_end).implies(box):
        return None
    return _between(ENDED, in_ticks(box)[2], in_ticks(box)[3])


def _between(counter: int, from_start: Limit, from_end: Limit) -> Count:
    (start_low, start_high), (end_low, end_high) = from_start, from_end
    up_to = Reading(counter, start_high, end_high, first=True)
    if start_low is None and end_low is None:
        return Count(up_to, None)
    return Count(up_to, Reading(counter, _before(start_low), _before(end_low), first=False))


def _active(box: Box) -> Count | None:
    (_, ss_high), (_, se_high), (es_low, _), (ee_low, _) = in_ticks(box)
    started = (Box(start_start=(None, ss_high)), Box(start_end=(None, se_high)))
    lasting = (Box(end_start=(es_low, None)), Box(end_end=(ee_low, None)))
    if not (started[0] & started[1] & lasting[0] & lasting[1]).implies(box):
        return None
    late = [rest for part in started for rest in Box().minus(part)]
    gone = [rest for part in lasting for rest in Box().minus(part)]
    if any((one & other).tight() is not None for one in late for other in gone):
        return None
    up_to = Reading(STARTED, ss_high, se_high, first=True)
    return Count(up_to, Reading(ENDED, _before(es_low), _before(ee_low), first=False))


def _moved(points: Ticks, by: int) -> Ticks:
    """Add and saturate. What comes before an end that never comes is all but what never comes either."""
    if by > 0:
        return np.where(points > MAX_TICK - by, MAX_TICK, points + np.int64(by))
    return np.where(points < MIN_TICK - by, MIN_TICK, points + np.int64(by))


def _before(low: int | None) -> int | None:
    return None if low is None else low - 1
