"""The streaming count semi-join against nested loops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.relations import RELATIONS, intersects
from timeloom.errors import UsageError
from timeloom.kernels.streaming.arrival import NEVER_STARTED
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
    assert sum(p.used for p in parts) == sum(time <= seen for span in (*left, *right) for time in span)


COUNTED = {
    **{name: {} for name in ("intersects", "before", "meets", "after", "met_by")},
    "iseql.start_preceding": {"delta": 2},
    "iseql.before": {"delta": 3},
    "iseql.after": {},
    "iseql.end_following": {},
}
UNCOUNTED = {"overlaps": {}, "equals": {}, "iseql.after": {"delta": 2}, "iseql.end_following": {"epsilon": 1}}


@pytest.mark.parametrize("limited", [False, True])
@pytest.mark.parametrize("name", COUNTED)
@settings(max_examples=25, deadline=None)
@given(left=tables, right=tables, cuts=st.lists(ticks, max_size=3).map(sorted))
def test_every_relation_that_counters_can_count(name, limited, left, right, cuts):
    """Counts are exact, however the events are cut; none leaves before its instant has come."""
    limits = COUNTED[name] if limited else {}
    count, first, found = EndpointCount(name, **limits), 0, []
    for last in [*cuts, 13]:
        out = count.push(part(left, first, last), part(right, first, last), until=last)
        assert (out.instants <= last).all()
        found += zip(out.ids.tolist(), out.counts.tolist(), strict=True)
        first = max(first, last + 1)
    out = count.close()
    found += zip(out.ids.tolist(), out.counts.tolist(), strict=True)
    holds = RELATIONS[name]
    assert sorted(found) == [(row, sum(holds(r, s, **limits) for s in right)) for row, r in enumerate(left)]


@settings(max_examples=40, deadline=None)
@given(left=tables, right=tables)
def test_unions_are_counted_part_by_part(left, right):
    count = EndpointCount("meets | met_by | intersects")
    out = [count.push(part(left, 0, 12), part(right, 0, 12), until=12), count.close()]
    holds = [RELATIONS[name] for name in ("meets", "met_by", "intersects")]
    expected = [(row, sum(any(one(r, s) for one in holds) for s in right)) for row, r in enumerate(left)]
    assert sorted(pair for p in out for pair in zip(p.ids.tolist(), p.counts.tolist(), strict=True)) == expected


@pytest.mark.parametrize("name", UNCOUNTED)
def test_what_counters_cannot_count_is_told(name):
    with pytest.raises(UsageError, match="cannot be counted by carried-over counters"):
        EndpointCount(name, **UNCOUNTED[name])


def test_counts_leave_before_the_end_where_that_is_certain():
    """At most two ticks apart: three ticks after its start, a row's count is final although it is open."""
    count = EndpointCount("iseql.start_preceding", delta=2)
    out = count.push(part([(0, 9)], 0, 5), part([(0, 1), (2, 8), (3, 4)], 0, 5), until=5)
    assert (out.ids.tolist(), out.counts.tolist(), out.instants.tolist()) == ([0], [2], [2])
    assert count.state_size == 0


def test_bad_events_do_not_count():
    count = EndpointCount()
    stray = Events.endpoints(np.array([4]), np.array([2]), np.array([False]))
    first = count.push(part([(0, 5)], 0, 5), stray, until=5)
    assert first.counts.tolist() == [0]
    assert [refused.verdicts.tolist() for refused in first.refused] == [[NEVER_STARTED]]
    assert first.used == 2
