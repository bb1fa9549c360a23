"""Partners that start together, or end together: found without a scan of the rows that are active.

These are the virtual ends of the sweeping paper, section 6.2: in ``equals``, ``starts`` and ``finishes`` a row is there
to be matched for one instant only. Rows that end now are the events of now; rows that started at an instant are
chained. What the counters count as read are those rows.
"""

from timeloom.kernels.jit import compiled
from timeloom.kernels.streaming import gapless
from timeloom.kernels.streaming.gapless import Cells, bucket_of
from timeloom.kernels.streaming.layout import (
    BUFFERED,
    CANDIDATES,
    EVENT_HANDLE,
    EVENT_SIDE,
    FROM,
    GETNEXT,
    ID,
    INSTANT,
    PAIRS,
    SCANS,
    STARTING,
    TO,
)
from timeloom.kernels.streaming.scan import END_HIGH, END_LOW, FIRED_AT, FIRED_NAME, START_HIGH, START_LOW


@compiled
def scan_same_start(maps: Cells, side: int, buffer: Cells, state: Cells, pairs: Cells) -> None:
    """Write the pairs of the one buffered row of a side, whose partners all start at one instant."""
    other, written, seen = 1 - side, state[PAIRS], 0
    start, end_low, end_high = buffer[side, 0, START_LOW], buffer[side, 0, END_LOW], buffer[side, 0, END_HIGH]
    at = -1
    if start <= buffer[side, 0, START_HIGH]:
        at = maps[other, gapless.FIRST_ALIKE, bucket_of(start, maps.shape[2] - 1)]
    while at >= 0:
        if maps[other, gapless.START, at] == start:
            seen += 1
            if end_low <= maps[other, gapless.END, at] <= end_high:
                pairs[side, written] = buffer[side, 0, FIRED_NAME]
                pairs[other, written] = maps[other, gapless.NAME, at]
                pairs[INSTANT, written] = buffer[side, 0, FIRED_AT]
                written += 1
        at = maps[other, gapless.NEXT_ALIKE, at]
    state[SCANS] += 1
    state[GETNEXT] += seen
    state[CANDIDATES] += seen
    state[PAIRS], state[BUFFERED + side] = written, 0


@compiled
def scan_same_end(events: Cells, first: int, last: int, side: int, buffer: Cells, state: Cells, pairs: Cells) -> None:
    """Write the pairs of the one buffered row of a side, whose partners end now: by the events from first to last."""
    other, written, seen = 1 - side, state[PAIRS], 0
    start_low, start_high = buffer[side, 0, START_LOW], buffer[side, 0, START_HIGH]
    end_low, end_high = buffer[side, 0, END_LOW], buffer[side, 0, END_HIGH]
    for at in range(first, last):
        if events[at, STARTING]:
            break
        if events[at, EVENT_SIDE] == other and events[at, EVENT_HANDLE] >= 0:
            seen += 1
            if start_low <= events[at, FROM] <= start_high and end_low <= events[at, TO] <= end_high:
                pairs[side, written] = buffer[side, 0, FIRED_NAME]
                pairs[other, written] = events[at, ID]
                pairs[INSTANT, written] = buffer[side, 0, FIRED_AT]
                written += 1
    state[SCANS] += 1
    state[GETNEXT] += seen
    state[CANDIDATES] += seen
    state[PAIRS], state[BUFFERED + side] = written, 0
