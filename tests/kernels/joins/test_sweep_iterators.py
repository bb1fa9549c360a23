"""The worked examples of the sweeping paper's iterators, on the fused sweep that has no iterators left.

What an iterator lets through can be seen by points at every tick: a row is active from the endpoint that starts it to
the one that ends it, both included.
"""

import numpy as np

from timeloom.kernels.counts.endpoints import LEFT_START, merge_endpoints
from timeloom.kernels.joins.sweep import BUFFER, ENDED, Active, Column, Selection, Streams, join_by_s
from timeloom.kernels.order import NOTHING, sort
from timeloom.model.ticks import MAX_TICK
from tree import worked_examples

CASES = worked_examples("sweeping")
NONE = Selection(NOTHING, NOTHING, NOTHING)
TICKS = [*range(12), MAX_TICK]


def columns(source, kind):
    """The endpoints of a kind as two columns: the first of each row, and the second where it has one."""
    seen, found = set(), ([], [])
    for time, what, row in source:
        if what == kind:
            found[row in seen].append((MAX_TICK if time == "inf" else time, row - 1))
            seen.add(row)
    return [column(np.array(rows, np.int64).reshape(-1, 2)) for rows in found]


def column(rows):
    order = sort(rows[:, 0])
    return Column(order.values, rows[order.ids, 1].astype(np.int32), 0)


def endpoints_seen(source, waits):
    """Sweep over points at all ticks; tell where each row is active first and last."""
    rows = max(row for _, _, row in source)
    points = sort(np.array(TICKS, np.int64))
    streams = Streams(Column(points.values, points.ids, 0), *columns(source, "start"), *columns(source, "end"))
    for buffer in (1, BUFFER):
        room = np.empty(rows + 1, np.int32), np.empty(rows + 1, np.int64), np.empty(rows + 1, np.int64)
        active = Active(np.full(rows, ENDED - waits, np.int32), *room)
        out = np.empty(200, np.int32), np.empty(200, np.int32)
        written = join_by_s(streams, NONE, active, np.zeros(6, np.int64), buffer, *out, np.zeros(4, np.int64))
        met = [(int(row), TICKS[at]) for row, at in zip(out[0][:written], out[1][:written], strict=True)]
        seen = []
        for row in sorted({row for row, _ in met}):
            at = sorted(tick for found, tick in met if found == row)
            seen += [[at[0], "start", row + 1], ["inf" if at[-1] == MAX_TICK else at[-1], "end", row + 1]]
        yield sorted(seen, key=lambda event: (float(event[0]), event[1]))


def test_the_merging_iterator_loses_no_endpoint():
    case = CASES["IJ-A-merging"]
    for seen in endpoints_seen(case["input"]["it1"] + case["input"]["it2"], waits=1):
        assert seen == case["expected"]["right"]
        assert seen != case["expected"]["literal"]


def test_of_two_ends_the_first_ends_a_row():
    case = CASES["IJ-A-first-end"]
    for seen in endpoints_seen(case["input"]["source"], waits=1):
        assert seen == case["expected"]


def test_of_two_starts_the_second_starts_a_row():
    case = CASES["IJ-A-second-start"]
    for seen in endpoints_seen(case["input"]["source"], waits=2):
        assert seen == case["expected"]


def merged(periods, numbers):
    starts, ends = np.array(periods, np.int64).T
    nothing = np.empty(0, np.int64)
    found = merge_endpoints(starts.copy(), ends.copy(), nothing, nothing)
    events = []
    for kind, row in zip(found.kinds, found.rows, strict=True):
        starting = kind == LEFT_START
        events.append([int((starts if starting else ends)[row]), "start" if starting else "end", numbers[row]])
    return events


def test_the_endpoint_index():
    case = CASES["IJ-5.1-index"]
    periods = case["input"]["r"]
    assert merged(periods, range(1, len(periods) + 1)) == case["expected"]


def test_the_endpoints_of_one_row():
    case = CASES["IJ-5.1-events"]
    assert merged([case["input"]["tuple"]], [case["input"]["id"]]) == case["expected"]
