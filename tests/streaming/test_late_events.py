"""Events that come too late are refused, and change nothing of what is told about others."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reference.relations import RELATIONS
from timeloom.kernels.streaming.arrival import TOO_LATE
from timeloom.model.names import relation
from timeloom.streaming.deciding import ARRIVALS, AT_END, EVENTS
from timeloom.streaming.emitted import HOWS
from timeloom.streaming.intake import Events
from timeloom.streaming.operator import EndpointJoin

LAST = 14
UNIONS = ("iseql.end_following | met_by", "starts | equals | started_by", "before | during | equals")
ticks = st.integers(0, 12)
tables = st.lists(
    st.tuples(ticks, ticks).filter(lambda span: span[0] != span[1]).map(lambda span: tuple(sorted(span))), max_size=5
)


def batch(table: list[tuple[int, int]], arrival: str, first: int, last: int) -> Events:
    """What a side delivers after one instant, up to another."""
    if arrival == EVENTS:
        points = [(time, row, at == 0) for row, span in enumerate(table) for at, time in enumerate(span)]
        known = sorted(point for point in points if first < point[0] <= last)
        times, ids, starting = (np.array([point[at] for point in known], np.int64) for at in range(3))
        return Events.endpoints(ids, times, starting.astype(np.bool_))
    rows = [(row, span) for row, span in enumerate(table) if first < span[arrival == AT_END] <= last]
    starts, ends = (np.array([span[at] for _, span in rows], np.int64) for at in range(2))
    return Events.rows(np.array([row for row, _ in rows], np.int64), starts, ends)


def late_ones(arrival: str, instants: list[int]) -> Events:
    """Starts, or whole rows, that were to come at these instants."""
    times, ids = np.array(instants, np.int64), np.arange(len(instants)) + 100
    if arrival == EVENTS:
        return Events.endpoints(ids, times, np.ones(ids.size, np.bool_))
    return Events.rows(ids, times - (arrival == AT_END), times + (arrival != AT_END))


def told(join: EndpointJoin, left: list, right: list, cuts: list[int], late: list[int]) -> list:
    """All that comes out, push by push; late events are given with each but the first."""
    found, first, sides = [], -1, join.intake.sides
    for last in [*sorted(cuts), LAST]:
        batches = [batch(table, side.arrival, first, last) for table, side in zip((left, right), sides, strict=True)]
        instants = [instant for instant in late if instant <= first]
        some = [late_ones(side.arrival, instants) for side in sides]
        out = join.push(*(more.and_then(own) for own, more in zip(batches, some, strict=True)), until=last)
        verdicts = [verdict for refused in out.refused for verdict in refused.verdicts.tolist()]
        assert verdicts == [TOO_LATE] * 2 * len(instants)
        found.append([sorted(zip(*(column.tolist() for column in some), strict=True)) for some in (out[:3], out[3:6])])
        first = max(first, last)
    out = join.close()
    return [*found, sorted(np.stack(out[:3]).T.tolist()), sorted(np.stack(out[3:6]).T.tolist())]


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from([*RELATIONS, *UNIONS]),
    st.sampled_from(HOWS),
    st.tuples(st.sampled_from(ARRIVALS), st.sampled_from(ARRIVALS)),
    tables,
    tables,
    st.lists(ticks, max_size=4),
    st.lists(ticks, min_size=1, max_size=3),
)
@example(UNIONS[0], "inner", (EVENTS, "start"), [(8, 13), (11, 13)], [(10, 11)], [10], [2])
def test_late_events_change_nothing(name, how, arrivals, left, right, cuts, late):
    options = {"how": how, "left": arrivals[0], "right": arrivals[1]}
    alone, beside = (EndpointJoin(relation(name), **options) for _ in range(2))
    assert told(beside, left, right, cuts, late) == told(alone, left, right, cuts, [])


@pytest.mark.parametrize("late", [[2], [10], []])
def test_a_pair_is_told_once_if_a_late_event_comes_in_between(late):
    join = EndpointJoin(relation(UNIONS[0]), right="start")
    pairs, *_ = zip(*told(join, [(8, 13), (11, 13)], [(10, 11)], [10], late)[:-2], strict=True)
    assert pairs == ([(0, 0, 10)], [(1, 0, 11)])
