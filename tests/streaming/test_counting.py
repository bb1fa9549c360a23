"""The streaming count semi-join against nested loops."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.relations import intersects
from timeloom.kernels.sweep_arrival import NEVER_STARTED
from timeloom.streaming import EndpointCount
from timeloom.streaming.intake import Events

ticks = st.integers(0, 12)
periods = st.tuples(ticks, ticks).filter(lambda span: span[0] != span[1]).map(lambda span: tuple(sorted(span)))
tables = st.lists(periods, max_size=8)


def part(table: list[tuple[int, int]], first: int, last: int) -> Events:
    found = [
        (row, time, starting)
        for row, span in enumerate(table)
        for time, starting in zip(span, (True, False), strict=True)
        if first <= time <= last
    ]
    return Events.endpoints(
        np.array([row for row, _, _ in found], np.int64),
        np.array([time for _, time, _ in found], np.int64),
        np.array([starting for _, _, starting in found], np.bool_),
    )


@settings(max_examples=120, deadline=None)
@given(left=tables, right=tables, cut=ticks, promised=st.booleans(), ends=st.booleans())
def test_counts_leave_at_the_end_of_each_row(left, right, cut, promised, ends):
    """Where the stream ends too early, open rows are counted at its end."""
    count = EndpointCount()
    last = 12 if ends else 8
    parts = [
        count.push(part(left, 0, cut), part(right, 0, cut), until=cut if promised else None),
        count.push(part(left, cut + 1, last), part(right, cut + 1, last), until=max(cut, last)),
        count.close(),
    ]
    seen = max(cut, last)
    known_left = [(row, span) for row, span in enumerate(left) if span[0] <= seen]
    far = 2**63 - 1
    clipped = [(start, end if end <= seen else far) for start, end in right if start <= seen]
    expected = sorted(
        (row, sum(intersects((start, end if end <= seen else far), s) for s in clipped), end if end <= seen else far)
        for row, (start, end) in known_left
    )
    found = sorted(
        triple for p in parts for triple in zip(p.ids.tolist(), p.counts.tolist(), p.instants.tolist(), strict=True)
    )
    assert found == expected
    assert count.state_size == 0


def test_bad_events_do_not_count():
    count = EndpointCount()
    stray = Events.endpoints(np.array([4]), np.array([2]), np.array([False]))
    first = count.push(part([(0, 5)], 0, 5), stray, until=5)
    assert first.counts.tolist() == [0]
    assert [refused.verdicts.tolist() for refused in first.refused] == [[NEVER_STARTED]]
