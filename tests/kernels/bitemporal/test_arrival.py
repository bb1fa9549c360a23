"""What a batch of a bitemporal history tells as it arrives."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from timeloom.kernels.bitemporal.arrival import NONE, all_last, closing_rows, reached, unfit_end
from timeloom.model.ticks import FOREVER, MIN_TICK

INSTANTS = st.integers(0, 6)
ENDS = INSTANTS | st.just(FOREVER)


def ticks(values):
    return np.array(values, np.int64)


def test_an_end_is_refused_where_it_stands_first():
    starts, ends = ticks([1, 2, 3]), ticks([FOREVER, FOREVER, 9])
    assert unfit_end(ticks([0, 1]), ticks([1, 5]), starts, ends) == NONE
    assert unfit_end(ticks([0, 2, 1]), ticks([4, 10, 0]), starts, ends) == 1, "the row has ended"
    assert unfit_end(ticks([0, 1]), ticks([4, 1]), starts, ends) == 1, "before the row begins"
    assert unfit_end(ticks([0]), ticks([FOREVER]), starts, ends) == 0, "never"


def test_periods_last_if_each_holds_an_instant():
    assert all_last(ticks([]), ticks([]))
    assert all_last(ticks([1, 2]), ticks([2, FOREVER]))
    assert not all_last(ticks([1, 2]), ticks([2, 2]))


def test_system_time_gets_as_far_as_the_last_start_or_known_end():
    later = ticks([5, 6])
    assert reached(ticks([1, 3]), ticks([FOREVER, 8]), later, later + 1) == (8, True)
    assert reached(ticks([1, 3]), ticks([FOREVER, FOREVER]), later, later) == (3, False)
    assert reached(ticks([]), ticks([]), ticks([]), ticks([])) == (MIN_TICK, True)


@given(st.lists(st.tuples(INSTANTS, ENDS), max_size=8), st.lists(INSTANTS, max_size=8))
def test_closing_rows_come_in_order_of_their_ends(rows, ends):
    starts, until, at = ticks([row[0] for row in rows]), ticks([row[1] for row in rows]), ticks(sorted(ends))
    found = closing_rows(100, starts, until, np.arange(at.size), at)
    new = [(end, 100 + row) for row, (start, end) in enumerate(rows) if start < end != FOREVER]
    wanted = sorted([*zip(at.tolist(), range(at.size), strict=True), *new], key=lambda one: one[0])
    assert found.dtype == np.int32
    assert found.tolist() == [row for _, row in wanted]
