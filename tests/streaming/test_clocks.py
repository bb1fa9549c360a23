"""Each side of a stream has a clock of its own: one that runs ahead does not make the other one late."""

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.relations import RELATIONS, join_pairs
from timeloom.errors import UsageError
from timeloom.streaming import StreamJoin

LATE = "late: its instant was complete"
ticks = st.integers(0, 12)
spans = st.lists(
    st.tuples(ticks, ticks).filter(lambda span: span[0] != span[1]).map(lambda span: tuple(sorted(span))), max_size=6
)


def events(*rows: tuple) -> pa.Table:
    schema = pa.schema([("id", pa.int64()), ("time", pa.int64()), ("event", pa.string())])
    return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)


def refused(join: StreamJoin) -> list[tuple]:
    assert sum(join.tally[1:]) == join.tally.events
    return [(row["side"], row["id"], row["reason"]) for row in join.take_rejected().to_pylist()]


@pytest.mark.parametrize("on", [None, "key"])
def test_a_side_that_runs_ahead_makes_only_itself_late(on):
    def keyed(table: pa.Table) -> pa.Table:
        return table if on is None else table.append_column("key", pa.array(["k"] * len(table)))

    join = StreamJoin("iseql.start_preceding", on=on)
    left = keyed(events((1, 0, "start"), (2, 9, "start")))
    assert join.push(left, keyed(events((7, 1, "start"))), until={"left": 10, "right": 3}).num_rows == 1
    assert join.tally == (3, 2, 1, 0)
    late = keyed(events((3, 5, "start"), (4, 11, "start")))
    found = join.push(late, keyed(events((8, 5, "start"))), until={"right": 8})
    assert [(row["left_id"], row["right_id"], row["at"]) for row in found.to_pylist()] == [(1, 8, 5)]
    assert refused(join) == [("left", "3", LATE)]
    found = join.push(None, keyed(events((9, 8, "start"), (6, 9, "start"))), until={"left": 12, "right": 12})
    assert sorted((row["left_id"], row["right_id"]) for row in found.to_pylist()) == [(1, 6), (2, 6)]
    assert refused(join) == [("right", "9", LATE)]


def test_a_late_event_before_any_instant_is_complete_on_both_sides():
    join = StreamJoin()
    join.push(events((1, 5, "start")), None, until={"left": 5})
    join.push(events((2, 3, "start")), None, until={"left": 5})
    join.push(None, events((7, 1, "start")), until={"right": 9})
    assert refused(join) == [("left", "2", LATE)]
    assert join.tally == (3, 2, 0, 1)


def test_lateness_gives_each_side_its_clock():
    join = StreamJoin("iseql.start_preceding", lateness={"left": 2, "right": 0})
    assert join.push(events((1, 0, "start"), (2, 9, "start")), events((7, 1, "start"))).num_rows == 0
    found = join.push(events((3, 7, "start"), (4, 6, "start")), events((8, 5, "start")))
    assert found["right_id"].to_pylist() == [7]
    assert refused(join) == [("left", "4", LATE)]
    assert join.push(None, None, until=9)["right_id"].to_pylist() == [8]


def test_lateness_is_a_span_of_time():
    noon = datetime(2024, 5, 1, 12, tzinfo=UTC)
    join = StreamJoin(lateness="5 minutes")
    table = pa.table({"id": [1, 2], "time": [noon, noon - timedelta(minutes=5)], "event": [True, True]})
    join.push(table, table)
    late = pa.table({"id": [3], "time": [noon - timedelta(minutes=5, microseconds=1)], "event": [True]})
    join.push(late, table.slice(1).set_column(0, "id", pa.array([9])))
    assert refused(join) == [("left", "3", LATE)]


def test_sides_that_are_none_are_refused():
    with pytest.raises(UsageError, match="until= names 'lefty', which is no side. Did you mean 'left'"):
        StreamJoin().push(events((1, 1, "start")), until={"lefty": 3})
    with pytest.raises(UsageError, match="lateness= names 'lefty', which is no side"):
        StreamJoin(lateness={"lefty": 3})
    with pytest.raises(UsageError, match="lateness=-1 is below zero"):
        StreamJoin(lateness=-1)


@settings(max_examples=40, deadline=None)
@given(
    left=spans,
    right=spans,
    cuts=st.lists(st.tuples(ticks, ticks), min_size=1, max_size=4),
    name=st.sampled_from(sorted(RELATIONS)),
)
def test_sides_at_their_own_pace_give_the_same_pairs(left, right, cuts, name):
    """Each side is pushed up to instants of its own, complete up to there; nothing is late."""
    join, clocks, found = StreamJoin(name), [-1, -1], []
    for cut in [*cuts, (12, 12)]:
        parts = [
            [
                (row, time, event)
                for row, span in enumerate(side)
                for time, event in zip(span, ("start", "end"), strict=True)
                if clock < time <= last
            ]
            for side, clock, last in zip((left, right), clocks, cut, strict=True)
        ]
        clocks = [max(clock, last) for clock, last in zip(clocks, cut, strict=True)]
        until = dict(zip(("left", "right"), clocks, strict=True))
        result = join.push(events(*parts[0]), events(*parts[1]), until=until)
        assert all(at <= min(clocks) for at in result["at"].to_pylist())
        found += result.to_pylist()
    found += join.close().to_pylist()
    assert sorted((row["left_id"], row["right_id"]) for row in found) == join_pairs(left, right, RELATIONS[name])
    assert join.tally == (2 * len(left) + 2 * len(right),) * 2 + (0, 0)
