"""The streaming join on tables: types, ids, reasons, and the same pairs as the batch join."""

from datetime import UTC, date, datetime, timedelta
from functools import partial

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.relations import RELATIONS, join_pairs
from timeloom.errors import InvalidInputError, UsageError
from timeloom.streaming import StreamCoalesce, StreamCount, StreamJoin

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)

ticks = st.integers(0, 12)
periods = st.tuples(ticks, ticks).filter(lambda span: span[0] != span[1]).map(lambda span: tuple(sorted(span)))
tables = st.lists(periods, max_size=6)


def events(rows: list[tuple]) -> pa.Table:
    return pa.table({name: [row[at] for row in rows] for at, name in enumerate(("id", "time", "event"))})


def test_timestamps_and_durations():
    """Ten minutes apart at most; certain at the start of the second period."""
    join = StreamJoin("iseql.before", delta="10 minutes")
    later = NOON + timedelta(minutes=9)
    result = join.push(
        events([("a", NOON - timedelta(hours=1), "start"), ("a", NOON, "end")]),
        events([("x", later, "start"), ("y", NOON + timedelta(minutes=11), "start")]),
        until=NOON + timedelta(hours=1),
    )
    assert result.to_pylist() == [{"left_id": "a", "right_id": "x", "at": later}]
    assert result.schema.field("at").type == pa.timestamp("us", "UTC")


def test_dates_and_pandas():
    join = StreamJoin("meets", left="start", right="start")
    result = join.push(
        pd.DataFrame({"id": [1], "start": [date(2024, 1, 1)], "end": [date(2024, 1, 5)]}),
        pd.DataFrame({"id": [2], "start": [date(2024, 1, 5)], "end": [None]}),
        until=date(2024, 1, 5),
    )
    assert result.to_pylist() == [{"left_id": 1, "right_id": 2, "at": date(2024, 1, 5)}]


def test_left_join_pads_with_null():
    join = StreamJoin("during", how="left")
    first = join.push(events([(1, 0, True), (2, 3, True)]), events([(9, 2, True)]))
    assert first.to_pylist() == [{"left_id": 1, "right_id": None, "at": 0}]
    then = join.push(events([(2, 4, False), (3, 5, True)]), events([(9, 6, False)]), until=6)
    assert then.to_pylist() == [
        {"left_id": 2, "right_id": 9, "at": 4},
        {"left_id": 3, "right_id": None, "at": 6},
    ]


def test_single_rows_have_no_right_column():
    join = StreamJoin("equals", how="anti")
    join.push(events([(1, 0, "start")]), None, until=0)
    assert join.push(None, None, until=1).to_pylist() == []
    assert join.push(events([(1, 2, "end")]), None, until=2).to_pylist() == []
    assert StreamJoin("equals", how="anti").close().column_names == ["left_id", "at"]


def test_a_row_is_alone_as_soon_as_no_partner_can_come():
    """Nothing started at 0 on the right, so nothing can equal the left row from then on."""
    join = StreamJoin("equals", how="anti")
    assert join.push(events([(1, 0, "start")]), events([(5, 1, "start")]), until=1).to_pylist() == [
        {"left_id": 1, "at": 0}
    ]


def test_what_only_the_end_of_the_stream_decides_has_no_instant():
    join = StreamJoin("equals")
    join.push(events([(1, 0, "start")]), events([(2, 0, "start")]), until=5)
    assert join.close().to_pylist() == [{"left_id": 1, "right_id": 2, "at": None}]


def test_refused_events_are_kept_with_their_reason():
    join = StreamJoin()
    join.push(
        events([("a", 1, "start"), ("a", 2, "start"), ("b", 3, "end"), (None, 3, "end"), ("c", 3, "stop")]),
        events([("r", 1, "start")]),
        until=3,
    )
    join.push(events([("d", 2, "start"), ("e", 5, "start")]), None, until=4)
    assert join.tally == (8, 2, 1, 5)
    assert join.take_rejected().to_pylist() == [
        {"side": "left", "id": None, "time": "3", "reason": "has no time or no id"},
        {"side": "left", "id": "c", "time": "3", "reason": "is neither a start nor an end"},
        {"side": "left", "id": "a", "time": "2", "reason": "a row with this id is open already"},
        {"side": "left", "id": "b", "time": "3", "reason": "ends without having started"},
        {"side": "left", "id": "d", "time": "2", "reason": "late: its instant was complete"},
    ]
    assert join.take_rejected().num_rows == 0


def test_ids_of_rows_that_are_gone_are_forgotten():
    join = StreamJoin("overlaps")
    for step in range(0, 60_000, 10):
        left = [(f"l{step}", step, "start"), (f"l{step}", step + 5, "end")]
        join.push(events(left), events([(f"r{step}", step + 2, "start"), (f"r{step}", step + 8, "end")]))
        if step == 30_000:
            halfway = len(join.names[0]._values)
    assert len(join.names[0]._values) <= max(halfway, 1100)


@settings(max_examples=30, deadline=None)
@given(
    left=st.lists(st.tuples(st.sampled_from("ab"), periods), max_size=6),
    right=st.lists(st.tuples(st.sampled_from("ab"), periods), max_size=6),
    cuts=st.lists(ticks, max_size=3).map(sorted),
    how=st.sampled_from(["inner", "left", "anti"]),
)
def test_keys(left, right, cuts, how):
    """The same as one join for each key; ids may be used by several keys."""
    join, first, found = StreamJoin("overlaps", on="key", how=how), 0, []
    schema = pa.schema([("key", pa.string()), ("id", pa.int64()), ("time", pa.int64()), ("event", pa.bool_())])

    def part(table, last):
        rows = [
            {"key": key, "id": row, "time": time, "event": kind}
            for row, (key, span) in enumerate(table)
            for time, kind in zip(span, (True, False), strict=True)
            if first <= time <= last
        ]
        return pa.Table.from_pylist(rows, schema)

    for last in [*cuts, 12]:
        found += join.push(part(left, last), part(right, last), until=last).to_pylist()
        first = max(first, last + 1)
    found += join.close().to_pylist()
    pairs = [
        (i, j)
        for i, (a, r) in enumerate(left)
        for j, (b, s) in enumerate(right)
        if a == b and RELATIONS["overlaps"](r, s)
    ]
    alone = [(i, None) for i in range(len(left)) if i not in dict(pairs)]
    expected = (pairs if how != "anti" else []) + (alone if how != "inner" else [])
    assert sorted(((row["left_id"], row.get("right_id")) for row in found), key=repr) == sorted(expected, key=repr)
    assert all(row["key"] == left[row["left_id"]][0] for row in found)
    assert (join.state_size, join.take_rejected().num_rows) == (0, 0)
    assert join.tally == (2 * len(left) + 2 * len(right),) * 2 + (0, 0)


def test_a_missing_key_equals_nothing():
    join = StreamJoin("intersects", on=["a", "b"])
    table = pa.table({"a": [1, 1], "b": ["x", None], "id": [1, 2], "time": [0, 0], "event": [True, True]})
    assert join.push(table, table, until=0).to_pylist() == [{"a": 1, "b": "x", "left_id": 1, "right_id": 1, "at": 0}]
    assert join.take_rejected().column("reason").to_pylist() == ["has no key"] * 2


def test_an_instant_is_complete_for_all_keys():
    join = StreamJoin(on="key")
    one = pa.table({"key": ["a"], "id": [1], "time": [5], "event": [True]})
    join.push(one, None, until=5)
    join.push(pa.table({"key": ["b"], "id": [1], "time": [4], "event": [True]}), None, until=6)
    assert join.take_rejected().column("reason").to_pylist() == ["late: its instant was complete"]


def test_wrong_tables():
    with pytest.raises(InvalidInputError, match="time"):
        StreamJoin().push(pa.table({"id": [1], "event": ["start"]}))
    with pytest.raises(InvalidInputError, match="expected 'start' and 'end'"):
        StreamJoin().push(pa.table({"id": [1], "time": [1], "event": [1]}))
    join = StreamJoin()
    join.push(events([(1, 1, "start")]))
    with pytest.raises(InvalidInputError, match="were int64 and are string now"):
        join.push(events([("a", 2, "start")]))
    with pytest.raises(InvalidInputError, match="do not share a time axis"):
        join.push(None, events([(1, date(2024, 1, 1), "start")]))
    with pytest.raises(UsageError, match="how='sideways' is unknown"):
        StreamJoin(how="sideways")


@settings(max_examples=40, deadline=None)
@given(name=st.sampled_from(sorted(RELATIONS)), left=tables, right=tables, cut=ticks)
def test_equals_the_batch_join(name, left, right, cut):
    join = StreamJoin(name, columns={"id": "row"})

    def part(rows: list[tuple[int, int]], first: int, last: int) -> pa.Table:
        found = [
            (f"row {number}", time, kind)
            for number, span in enumerate(rows)
            for time, kind in zip(span, ("start", "end"), strict=True)
            if first <= time <= last
        ]
        schema = pa.schema([("row", pa.string()), ("time", pa.int64()), ("event", pa.string())])
        columns = [list(column) for column in zip(*found, strict=True)] or [[], [], []]
        return pa.table(columns, schema=schema)

    results = [
        join.push(part(left, 0, cut), part(right, 0, cut)),
        join.push(part(left, cut + 1, 12), part(right, cut + 1, 12), until=12),
        join.close(),
    ]
    pairs = [(int(row["left_id"][4:]), int(row["right_id"][4:])) for table in results for row in table.to_pylist()]
    assert sorted(pairs) == join_pairs(left, right, RELATIONS[name])
    assert join.take_rejected().num_rows == 0


def test_instants_between_and_beyond_the_values_of_a_column():
    """A row of seconds that nobody has met is alone one microsecond before its end; a delta leads out of eight bits."""
    seconds = pa.timestamp("s")
    row = pa.table({"id": [1], "start": pa.array([0], seconds), "end": pa.array([8], seconds)})
    join = StreamJoin("intersects", how="anti", left="start")
    alone = join.push(row, None, until=datetime(1970, 1, 1, 0, 0, 9))
    assert alone["at"].to_pylist() == [datetime(1970, 1, 1, 0, 0, 7, 999999)]
    assert alone["at"].type == join.close()["at"].type == pa.timestamp("us")
    small = pa.table({"id": [1], "start": pa.array([1], pa.uint8()), "end": pa.array([254], pa.uint8())})
    alone = StreamJoin("iseql.before", how="anti", left="start", delta=5).push(small, None, until=300)
    assert (alone["at"].to_pylist(), alone["at"].type) == ([259], pa.int64())


def test_times_keep_their_type_and_a_refused_table_changes_nothing():
    join, micro = StreamJoin("intersects"), pa.timestamp("us")
    at = partial(pa.array, type=pa.timestamp("s"))
    join.push(pa.table({"id": [1], "time": at([3]), "event": [True]}), None, until=datetime(1970, 1, 1, 0, 0, 4))
    before = join.tally
    finer = pa.table({"id": [1], "time": pa.array([9_000_001], micro), "event": [False]})
    with pytest.raises(InvalidInputError, match=r"were timestamp\[s\] and are timestamp\[us\] now; keep one type"):
        join.push(finer, None)
    assert join.tally == before
    right = pa.table({"id": [7, 8], "time": pa.array([5_000_001, 1], micro), "event": [True, True]})
    pairs = join.push(None, right, until=datetime(1970, 1, 1, 0, 0, 6))
    assert pairs["at"].to_pylist() == [datetime(1970, 1, 1, 0, 0, 5, 1)]
    assert join.take_rejected()["time"].to_pylist() == ["1970-01-01 00:00:00.000001"]


def test_a_promise_before_any_table_is_refused():
    """What an instant is, no table has told yet: later events could not be held to the promise."""
    for stream, frames in ((StreamJoin("during"), 2), (StreamCount("during"), 2), (StreamCoalesce(), 1)):
        assert stream.push(*[None] * frames).num_rows == 0
        with pytest.raises(UsageError, match="until=5 comes before any table"):
            stream.push(*[None] * frames, until=5)
        stream.push(*[events([(1, 7, "start")]).slice(0, 0)] * frames, until=5)
        stream.push(*[events([(1, 3, "start")])] * frames, until=6)
        assert stream.tally.refused == frames
