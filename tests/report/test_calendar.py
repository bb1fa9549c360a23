"""Ticks of time axes and parts of time: few, on borders of the calendar, whatever the periods."""

from datetime import datetime

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from timeloom.model.ticks import FOREVER, MIN_TICK, Axis
from timeloom.report.pictures.axes import Across, Upward
from timeloom.report.pictures.calendar import DAY, MOST_TICKS, moment, ticks, ticks_of
from timeloom.report.pictures.cells import MOST_CELLS, Cells

LEAST, MOST = -(2**63), 2**64 - 1
INSTANTS = st.integers(LEAST, MOST)
YEARS = st.integers(ticks_of(datetime(1, 1, 2)), ticks_of(datetime(9998, 1, 1)))


@given(INSTANTS, st.one_of(st.integers(1, 10), INSTANTS.map(abs)), st.booleans())
@example(1_700_000_000_000_000_000, 1, False)
@example(LEAST, MOST - LEAST, True)
def test_ticks_are_few_and_within(low, spread, is_time):
    high = low + max(spread, 1)
    found = ticks(low, high, is_time=is_time)
    assert len(found) <= MOST_TICKS
    assert all(low <= tick.at <= high for tick in found)
    assert len({tick.at for tick in found}) == len(found)


@given(YEARS, st.integers(60, 400 * 366).map(lambda days: days * DAY))
def test_long_times_have_their_ticks_on_first_days(low, spread):
    found = ticks(low, min(low + spread, ticks_of(datetime(9998, 12, 31))), is_time=True)
    moments = [moment(tick.at) for tick in found]
    assert all((when.hour, when.minute, when.second) == (0, 0, 0) for when in moments)
    if spread > 112 * DAY:
        assert all(when.day == 1 for when in moments)
    assert len(found) >= 2


@pytest.mark.parametrize(
    ("begin", "end", "labels"),
    [
        ("2013-01-01", "2014-01-01", ["Jan 2013", "Mar", "May", "Jul", "Sep", "Nov", "Jan 2014"]),
        ("2010-05-01", "2016-02-01", ["2011", "2012", "2013", "2014", "2015", "2016"]),
        ("2024-02-27", "2024-03-03", ["27 Feb 2024", "28 Feb", "29 Feb", "1 Mar", "2 Mar", "3 Mar"]),
        ("2024-01-01T07:30", "2024-01-01T12:00", ["1 Jan, 08:00", "09:00", "10:00", "11:00", "12:00"]),
        (
            "2023-12-31T18:00",
            "2024-01-01T06:00",
            ["31 Dec, 18:00", "20:00", "22:00", "1 Jan", "02:00", "04:00", "06:00"],
        ),
    ],
)
def test_ticks_as_a_calendar_has_them(begin, end, labels):
    low, high = (ticks_of(datetime.fromisoformat(text)) for text in (begin, end))
    assert [tick.label for tick in ticks(low, high, is_time=True)] == labels


@given(st.integers(MIN_TICK, FOREVER - 1), st.integers(1, 2**64), st.sampled_from(Axis))
@example(MIN_TICK, 2**64, Axis.INTEGER)
@example(MIN_TICK, 2**64, Axis.ZONED)
def test_parts_of_time_hold_all_of_it(first, spread, axis):
    last = min(first + spread, FOREVER)
    cells = Cells.over(first, last, axis)
    assert 1 <= cells.count <= MOST_CELLS + 1
    assert cells.origin <= first
    assert cells.origin + cells.width * cells.count >= last
    found = cells.of(np.array([first, last - 1], np.int64)).tolist()
    assert found == [(first - cells.origin) // cells.width, cells.count - 1]


@given(st.floats(-1e12, 1e12), st.floats(-1e12, 1e12))
@example(0.0, 5e-324)
@example(-1e-291, 1e-289)
def test_number_axes_have_room_for_all(one, other):
    axis = Upward.over(min(one, other), max(one, other))
    assert all(-1e-6 <= axis.of(value) <= 100.000001 for value in (one, other, 0.0))
    assert 2 <= len(axis.marks()) <= 9


def test_labels_stay_within_the_picture():
    marks = Across(0, 100, False).marks()
    assert (marks[0].side, marks[1].side, marks[-1].side) == ("first", "", "last")
    assert [mark.wide for mark in marks[:3]] == [False, True, False]
