"""Streaming objects as files: after a restart in the middle of anything the answers are the same."""

from datetime import date, timedelta
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from timeloom.errors import StorageError, UsageError
from timeloom.model.names import relation
from timeloom.streaming import EndpointCount, LiveForest, StreamJoin
from timeloom.streaming.intake import Events
from timeloom.streaming.keyed import Found, KeyedJoin
from timeloom.streaming.operator import EndpointJoin

ticks = st.integers(0, 12)
SCHEMA = pa.schema(
    [
        ("key", pa.dictionary(pa.int32(), pa.string())),
        ("id", pa.string()),
        ("time", pa.int64()),
        ("event", pa.bool_()),
        ("price", pa.list_(pa.int64())),
        ("size", pa.int64()),
    ]
)
batches = st.lists(
    st.tuples(
        *(
            st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), ticks, st.booleans(), ticks), max_size=5)
            for _ in range(2)
        ),
        st.one_of(st.none(), ticks, st.fixed_dictionaries({"left": ticks, "right": ticks})),
    ),
    min_size=1,
    max_size=5,
)
OPTIONS = (
    {"relation": "overlaps"},
    {"relation": "intersects", "on": "key", "columns": "*"},
    {"relation": "during | after", "on": "key", "how": "full", "where": "size < size_right", "columns": ["price"]},
    {"relation": "equals", "how": "semi", "where": "size > 3", "columns": ["size", "start"]},
    {"relation": "iseql.start_preceding", "how": "left", "delta": 3, "lateness": {"left": 2}},
    {"relation": "before", "on": "key", "how": "anti"},
)


def table(rows: list[tuple]) -> pa.Table:
    return pa.Table.from_pylist(
        [
            {"key": key, "id": row, "time": time, "event": event, "price": [size], "size": size}
            for key, row, time, event, size in rows
        ],
        SCHEMA,
    )


@settings(max_examples=60, deadline=None)
@given(given=batches, options=st.sampled_from(OPTIONS), cuts=st.sets(st.integers(0, 4)))
def test_a_restart_in_the_middle_of_anything_gives_the_same_answers(given, options, cuts, tmp_path_factory):
    """Ids that come again, ends without starts, late events: whatever comes, both joins say the same of it."""
    place = tmp_path_factory.getbasetemp() / "join.state"
    through, restarted = StreamJoin(**options), StreamJoin(**options)
    for number, (left, right, until) in enumerate(given):
        if number in cuts:
            restarted.save(place)
            restarted = StreamJoin.load(place)
        found = [join.push(table(left), table(right), until).to_pylist() for join in (through, restarted)]
        assert sorted(found[0], key=repr) == sorted(found[1], key=repr)
        assert through.tally == restarted.tally
        assert sum(through.tally[1:]) == through.tally.events
    restarted.save(place)
    restarted = StreamJoin.load(place)
    assert sorted(through.close().to_pylist(), key=repr) == sorted(restarted.close().to_pylist(), key=repr)
    assert through.take_rejected().equals(restarted.take_rejected())


def test_types_and_spans_survive(tmp_path):
    join = StreamJoin("iseql.before", delta="2 days", on=["k", "n"], columns=["note"], event_columns={"id": "row"})
    left = pa.table(
        {
            "row": [b"a"] * 2,
            "time": [date(2024, 1, 1), date(2024, 1, 2)],
            "event": [True, False],
            "k": [1.0, 1.0],
            "n": [None, None],
            "note": ["x", None],
        }
    ).set_column(4, "n", pa.array([timedelta(1)] * 2))
    join.push(left, None, until=date(2024, 1, 2))
    join.save(tmp_path / "join")
    again = StreamJoin.load(tmp_path / "join")
    right = pa.table({"row": [7], "time": [date(2024, 1, 4)], "event": [True], "k": [1], "n": [timedelta(1)]})
    found = again.push(None, right, until=date(2024, 1, 4))
    assert found.to_pylist() == [
        {"k": 1.0, "n": timedelta(1), "left_id": b"a", "right_id": 7, "at": date(2024, 1, 4), "note": "x"}
    ]
    assert found.equals(join.push(None, right, until=date(2024, 1, 4)))


def test_a_join_without_events_is_saved_as_well(tmp_path):
    StreamJoin("meets", how="full", overlap="length").save(tmp_path / "join")
    again = StreamJoin.load(tmp_path / "join")
    assert (again.how, again.wanted.overlap, again.relation.name) == ("full", "length", "meets")
    alone = again.push(table([("a", "x", 1, True, 1)]), table([("a", "y", 1, True, 1)]), until=1)
    assert alone["right_id"].to_pylist() == ["y"]


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("before", [False, True])
def test_keyed_joins_on_arrays(tmp_path, before, pooled):
    make = partial(EndpointJoin, relation("intersects"))
    join = KeyedJoin(make, pooled=before)
    one = Events.endpoints(np.array([1, 2]), np.array([0, 3]), np.array([True, True]))
    join.push((one, Events.none()), (np.array([4, 5]), np.empty(0, np.int64)), until=1)
    join.save(tmp_path / "keys")
    again = KeyedJoin.load(tmp_path / "keys", make, pooled=pooled)
    assert (again.keys, again.state_size, again.waiting) == (join.keys, 1, 1)
    other = Events.endpoints(np.array([9, 9]), np.array([2, 4]), np.array([True, True]))
    found = again.push((Events.none(), other), (np.empty(0, np.int64), np.array([4, 5])), until=5)
    assert np.transpose(Found.of(found))[:, [0, 1, 4]].tolist() == [[4, 1, 2], [5, 2, 4]]
    with pytest.raises(StorageError, match="the file has the state of another query"):
        KeyedJoin.load(tmp_path / "keys", partial(EndpointJoin, relation("meets")))


def test_damaged_and_foreign_files_are_refused(tmp_path):
    join = StreamJoin("overlaps", columns="*")
    join.push(table([("a", "x", 1, True, 1)]), None, until=3)
    join.save(tmp_path / "join")
    content = (tmp_path / "join").read_bytes()
    for at in range(0, len(content), 97):
        (tmp_path / "bad").write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        with pytest.raises(StorageError):
            StreamJoin.load(tmp_path / "bad")
    with pytest.raises(StorageError, match="does not exist"):
        StreamJoin.load(tmp_path / "nothing")
    with pytest.raises(StorageError, match="holds 'stream-join', expected 'keyed-stream-join'"):
        KeyedJoin.load(tmp_path / "join", partial(EndpointJoin, relation("overlaps")))


@settings(max_examples=30, deadline=None)
@given(given=batches, cuts=st.sets(st.integers(0, 4)), name=st.sampled_from(["intersects", "before", "meets | met_by"]))
def test_counts_go_on_after_a_restart(given, cuts, name, tmp_path_factory):
    place = tmp_path_factory.getbasetemp() / "count.state"

    def events(rows: list[tuple]) -> Events:
        ids, times = (np.array([ord(row[1]) for row in rows], np.int64), np.array([row[2] for row in rows], np.int64))
        return Events.endpoints(ids, times, np.array([row[3] for row in rows], np.bool_))

    def told(counted) -> tuple:
        refused = [(side, some.ids.tolist(), verdicts.tolist()) for side, some, verdicts in counted.refused]
        return counted.ids.tolist(), counted.counts.tolist(), counted.instants.tolist(), refused, counted.used

    through, restarted = EndpointCount(name), EndpointCount(name)
    for number, (left, right, until) in enumerate(given):
        if number in cuts:
            restarted.save(place)
            restarted = EndpointCount.load(place)
        until = tuple(until.values()) if isinstance(until, dict) else until
        found = [told(count.push(events(left), events(right), until)) for count in (through, restarted)]
        assert found[0] == found[1]
    assert told(through.close()) == told(restarted.close())


@settings(max_examples=30, deadline=None)
@given(given=batches, cuts=st.sets(st.integers(0, 4)))
@example(given=[([("a", "x", 1, True, 0), ("a", "x", 2, False, 0), ("a", "y", 0, True, 0)], [], None)], cuts=set())
def test_live_indexes_go_on_after_a_restart(given, cuts, tmp_path_factory):
    place = tmp_path_factory.getbasetemp() / "live.state"
    through, restarted, last = LiveForest(), LiveForest(), -1
    for number, (rows, _, until) in enumerate(given):
        until = max(last, until if isinstance(until, int) else 6)
        if number in cuts:
            restarted.save(place)
            restarted = LiveForest.load(place)
        assert through.push(table(rows), until) == restarted.push(table(rows), until)
        for at in range(until + 1):
            assert through.active(at).to_pylist() == restarted.active(at).to_pylist()
        last = until
    through.forget(before=last)
    through.save(place)
    again = LiveForest.load(place)
    assert again.active().to_pylist() == restarted.active().to_pylist()


def test_keys_before_1970_go_on(tmp_path):
    """Instants before the beginning of the axis are as good as others; keys have never been at work before them."""
    join = StreamJoin("overlaps", on="key", how="full")
    rows = [("a", "x", -20, True, 1), ("b", "y", -19, True, 1)]
    join.push(table(rows), table(rows[:1]), until=-15)
    join.save(tmp_path / "join")
    again = StreamJoin.load(tmp_path / "join")
    ends = table([("a", "x", -10, False, 1)])
    found = [each.push(ends, None, until=-9).to_pylist() for each in (join, again)]
    assert found[0] == found[1]


def test_numbers_of_keys(tmp_path):
    """Keys that share a sweep are numbered densely; others may have any number, also in a file."""
    make, many = partial(EndpointJoin, relation("intersects")), np.array([1 << 40])
    one, none = Events.endpoints(np.array([1]), np.array([0]), np.array([True])), np.empty(0, np.int64)
    join = KeyedJoin(make)
    join.push((one, Events.none()), (many, none), until=1)
    join.save(tmp_path / "keys")
    assert KeyedJoin.load(tmp_path / "keys", make).keys == {1 << 40}
    for pooled, numbers in ((True, many), (False, np.array([-1]))):
        with pytest.raises(UsageError, match="keys have numbers from .* number them one after the other"):
            KeyedJoin(make, pooled=pooled).push((one, Events.none()), (numbers, none), until=1)
    with pytest.raises(StorageError, match="its keys have numbers from 67,108,864 on"):
        KeyedJoin(make, pooled=True).restore(join.snapshot())
