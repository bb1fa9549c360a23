"""What changes at each tick, and what runs along the changes, against brute force over instants."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from drawing import periods
from reference import sequenced as reference
from timeloom.kernels.aggregates.changes import (
    Slots,
    add_by_slot,
    add_in_order,
    dealt_changes,
    deciding,
    endpoints_of,
    mark_slots,
    net_changes,
    running_totals,
    spans_of,
    used_slots,
)
from timeloom.kernels.order import sort
from timeloom.model.ticks import FOREVER, MIN_TICK


def ticks(rows, at):
    return np.array([row[at] for row in rows], np.int64)


def changes(rows, weights):
    by_start, by_end = sort(ticks(rows, 0)), sort(ticks(rows, 1))
    found = endpoints_of(by_start, by_end)
    net = np.empty(found.ticks.size, np.int64)
    net_changes(np.array(weights, np.int64), by_start.ids, by_end.ids, found.begun, found.ended, net)
    return found, net


@given(periods(max_size=12))
def test_each_endpoint_is_there_once_with_all_that_begins_and_ends(rows):
    found, net = changes(rows, range(1, len(rows) + 1))
    assert found.ticks.tolist() == sorted({tick for row in rows for tick in row})
    for at, tick in enumerate(found.ticks.tolist()):
        assert found.begun[at] == sum(start <= tick for start, _ in rows)
        assert found.ended[at] == sum(end <= tick for _, end in rows)
        assert net[at] == sum(((row[0] == tick) - (row[1] == tick)) * weight for weight, row in enumerate(rows, 1))


@given(periods(max_size=12), st.booleans())
def test_slots_hold_what_sorting_finds(rows, endless):
    if endless and rows:
        rows[0] = (rows[0][0], FOREVER)
    weights = list(range(1, len(rows) + 1))
    found, net = changes(rows, weights)
    by_slot = np.zeros((21, 2), np.int64)
    dealt_changes(ticks(rows, 0), ticks(rows, 1), np.array([weights], np.int64), 0, by_slot)
    at, columns = np.empty(21, np.int64), np.empty((2, 21), np.int64)
    size = used_slots(by_slot, 0, at, columns)
    assert at[:size].tolist() == found.ticks.tolist()
    assert columns[0, :size].tolist() == np.diff(found.begun - found.ended, prepend=0).tolist()
    assert columns[1, :size].tolist() == net.tolist()


@given(st.lists(st.tuples(st.one_of(st.integers(0, 12), st.just(FOREVER)), st.integers(-3, 3)), max_size=12))
def test_changes_of_many_tasks_add_up_by_slot_and_in_order(told):
    at, values = (np.array([one[k] for one in told], np.int64) for k in range(2))
    used, sums = np.zeros(14, np.uint8), np.zeros(14, np.int64)
    mark_slots(at, 0, used)
    add_by_slot(at, values, 0, sums)
    some = np.flatnonzero(used)
    expected = {tick: sum(value for other, value in told if other == tick) for tick in sorted(set(at.tolist()))}
    assert dict(zip(Slots(0, 14).ticks(some).tolist(), sums[some].tolist(), strict=True)) == expected
    by_tick, totals = sort(at), np.zeros(len(expected), np.int64)
    add_in_order(by_tick.values, by_tick.ids, values, totals)
    assert totals.tolist() == list(expected.values())


def test_about_one_tick_of_64_decides_whatever_their_distance():
    for apart in (1, 3, 86_400, 60_000_000, 1 << 20):
        given_ticks = np.arange(1 << 12, dtype=np.int64) * apart - 77 * apart
        found = np.empty(given_ticks.size, np.int64)
        size = deciding(given_ticks, found)
        assert 8 <= size <= 256
        assert set(found[:size].tolist()) <= set(given_ticks.tolist())


@given(periods(max_size=12), st.integers(0, 19), st.integers(0, 19))
def test_periods_run_along_changes_within_a_part_of_time(rows, one, other):
    since, until = min(one, other), max(one, other)
    found, net = changes(rows, range(1, len(rows) + 1))
    inside = (found.ticks >= since) & (found.ticks < until)
    active = sum(start < since < end for start, end in rows)
    carried = sum(weight * (start < since < end) for weight, (start, end) in enumerate(rows, 1))
    # What ends where the part begins changes there, so it is active before.
    active += sum(start < since == end for start, end in rows)
    carried += sum(weight * (start < since == end) for weight, (start, end) in enumerate(rows, 1))
    rows_change = np.diff(found.begun - found.ended, prepend=0).astype(np.int64)
    spans = spans_of(found.ticks[inside], rows_change[inside], active, since, until)
    totals = np.empty(spans.starts.size, np.int64)
    running_totals(net[inside], carried, spans.changed, totals)
    expected = [
        (max(start, since), min(end, until), len(names), sum(name + 1 for name in names))
        for start, end, names in reference.lineage(rows)
        if max(start, since) < min(end, until)
    ]
    assert list(zip(*(column.tolist() for column in (*spans[:3], totals)), strict=True)) == expected


def test_the_ends_of_the_axis_are_reached():
    rows = [(MIN_TICK, 3), (2, FOREVER)]
    found, net = changes(rows, [1, 1])
    spans = spans_of(found.ticks, net, 0, MIN_TICK, FOREVER)
    assert spans.starts.tolist() == [MIN_TICK, 2, 3]
    assert spans.ends.tolist() == [2, 3, FOREVER]
    assert spans.active.tolist() == [1, 2, 1]
