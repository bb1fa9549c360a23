"""Keys, names and faults of streams on tables: the same meaning as in the join of tables, and nothing silent."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timeloom as tl
from reference.certainty import NEVER
from reference.relations import RELATIONS
from timeloom.errors import InvalidInputError, UsageError
from timeloom.streaming import EndpointJoin, KeyedJoin, LiveForest, StreamJoin
from timeloom.streaming.deciding import ARRIVALS
from timeloom.streaming.emitted import HOWS
from timeloom.streaming.intake import Events

LAST = 12
ticks = st.integers(0, LAST)
closed = st.tuples(ticks, ticks).filter(lambda span: span[0] != span[1]).map(lambda span: tuple(sorted(span)))
periods = closed | ticks.map(lambda start: (start, NEVER))
KEYS = (0.0, -0.0, 1.0, float("nan"), None)
rows = st.lists(st.tuples(st.sampled_from(KEYS), periods), max_size=6)
NAN = float("nan")


def whole(table: list, kind: pa.DataType) -> pa.Table:
    ends = [None if end == NEVER else end for _, (_, end) in table]
    return pa.table(
        {
            "k": pa.array([key for key, _ in table], kind),
            "id": pa.array(range(len(table)), pa.int64()),
            "start": pa.array([start for _, (start, _) in table], pa.int64()),
            "end": pa.array(ends, pa.int64()),
        }
    )


def delivered(table: list, arrival: str, kind: pa.DataType, first: int, last: int) -> pa.Table:
    """What a side delivers at the instants first..last; rows known only at an end that never comes, at once."""
    if arrival != "events":
        known = [first <= (span[0] if arrival == "start" else min(span[1], LAST)) <= last for _, span in table]
        return whole(table, kind).filter(pa.array(known, pa.bool_()))
    found = [
        (key, row, time, starting)
        for row, (key, span) in enumerate(table)
        for time, starting in zip(span, (True, False), strict=True)
        if first <= time <= last
    ]
    columns = [list(column) for column in zip(*found, strict=True)] or [[], [], [], []]
    schema = pa.schema([("k", kind), ("id", pa.int64()), ("time", pa.int64()), ("event", pa.bool_())])
    return pa.table([pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)], schema)


def joined(left: pa.Table, right: pa.Table, name: str, how: str) -> list[tuple]:
    """The join of the rows that have a key; adding zero leaves one zero of the two."""
    with_keys = (table.filter(table["k"].is_valid()) for table in (left, right))
    keyed = [table.set_column(0, "k", pc.add(table["k"], 0.0)) for table in with_keys]
    found = tl.join(*keyed, name, on="k", how=how)
    partners = [None] * len(found) if how in ("semi", "anti") else found["id_right"].to_pylist()
    return sorted(zip(found["id"].to_pylist(), partners, strict=True), key=repr)


@pytest.mark.parametrize("how", HOWS)
@settings(max_examples=40, deadline=None)
@given(
    name=st.sampled_from([*sorted(RELATIONS), "during | after", "starts | equals | started_by"]),
    left=rows,
    right=rows,
    cuts=st.lists(st.integers(0, LAST - 1), max_size=3).map(sorted),
    both=st.tuples(st.sampled_from(ARRIVALS), st.sampled_from(ARRIVALS)),
)
def test_the_whole_stream_equals_the_join_of_the_tables(how, name, left, right, cuts, both):
    """Zeros of either sign are one key, NaN equals itself, a null equals nothing and is refused by name."""
    join, first, found = StreamJoin(name, on="k", how=how, left=both[0], right=both[1]), 0, []
    kinds, keyless = (pa.float64(), pa.float64()), 0
    for last in [*cuts, LAST]:
        parts = [delivered(*side, first, last) for side in zip((left, right), both, kinds, strict=True)]
        keyless += sum(part["k"].null_count for part in parts)
        found += join.push(*parts, until=last).to_pylist()
        first = max(first, last + 1)
    found += join.close().to_pylist()
    assert join.take_rejected()["reason"].to_pylist() == ["has no key"] * keyless
    given = sum(len(delivered(*side, 0, LAST)) for side in zip((left, right), both, kinds, strict=True))
    assert join.tally == (given, given - keyless, 0, keyless)
    pairs = sorted(((row["left_id"], row.get("right_id")) for row in found), key=repr)
    assert pairs == joined(whole(left, kinds[0]), whole(right, kinds[1]), name, how)
    for row in found:
        key = left[row["left_id"]][0] if row["left_id"] is not None else right[row["right_id"]][0]
        assert row["k"] == key or (row["k"] != row["k"] and key != key)


def events(kind: pa.DataType, *values) -> pa.Table:
    return pa.table(
        {
            "k": pa.array(values, kind),
            "id": pa.array(range(len(values)), pa.int64()),
            "time": pa.array([1] * len(values), pa.int64()),
            "event": pa.array([True] * len(values), pa.bool_()),
        }
    )


NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
EQUAL = {
    "widths": ((pa.int8(), 1), (pa.uint64(), 1)),
    "numbers": ((pa.int32(), 1), (pa.float64(), 1.0)),
    "scales": ((pa.decimal128(5, 2), Decimal("1.50")), (pa.decimal128(9, 4), Decimal("1.5000"))),
    "text": ((pa.string(), "a"), (pa.large_string(), "a")),
    "views": ((pa.string_view(), "a"), (pa.string(), "a")),
    "dictionaries": ((pa.dictionary(pa.int8(), pa.string()), "a"), (pa.string(), "a")),
    "bytes": ((pa.binary(), b"a"), (pa.binary(1), b"a")),
    "units": ((pa.timestamp("s"), datetime(2024, 5, 1)), (pa.timestamp("ns"), datetime(2024, 5, 1))),
    "zones": ((pa.timestamp("us", "UTC"), NOON), (pa.timestamp("us", "Europe/Berlin"), NOON)),
    "dates": ((pa.date32(), date(2024, 1, 1)), (pa.date64(), date(2024, 1, 1))),
    "durations": ((pa.duration("s"), timedelta(1)), (pa.duration("us"), timedelta(1))),
    "booleans": ((pa.bool_(), True), (pa.bool_(), True)),
}


@pytest.mark.parametrize("case", EQUAL)
def test_equal_values_are_one_key_in_the_type_of_the_left_side(case):
    (left, value), (right, other) = EQUAL[case]
    for first in (True, False):
        join = StreamJoin("intersects", on="k")
        sides = (events(left, value), events(right, other))
        if not first:
            join.push(None, sides[1].slice(0, 0), until=0)
        found = join.push(*sides, until=1)
        assert found.schema.field("k").type == left
        assert found.num_rows == 1
        assert found["k"].to_pylist() == [value]


@pytest.mark.parametrize("case", ["widths", "numbers", "scales", "text", "dictionaries", "units", "dates"])
def test_keys_of_the_right_side_alone_are_in_the_type_of_both(case):
    (left, value), (right, other) = EQUAL[case]
    whole = tl.join(
        pa.table({"k": pa.array([value], left), "start": [0], "end": [9]}),
        pa.table({"k": pa.array([other], right), "start": [0], "end": [9]}),
        on="k",
        how="full",
    )
    join = StreamJoin("after", on="k", how="full")
    found = pa.concat_tables([join.push(events(left, value), events(right, other), until=1), join.close()])
    assert found.schema.field("k").type == whole.schema.field("k").type
    assert found["k"].to_pylist() == whole["k"].to_pylist() * 2
    assert [(row["left_id"], row["right_id"]) for row in found.to_pylist()] == [(0, None), (None, 0)]


def test_keys_that_the_type_of_both_cannot_hold_are_refused():
    join = StreamJoin(on="k", how="full")
    join.push(events(pa.float64(), 1.5), None, until=0)
    with pytest.raises(InvalidInputError, match="not all of its values fit into double"):
        join.push(None, events(pa.int64(), 2**53 + 1), until=1)
    assert join.tally == (1, 0, 1, 0)


@pytest.mark.parametrize(
    ("left", "right"), [(pa.int64(), pa.string()), (pa.bool_(), pa.int64()), (pa.date32(), pa.timestamp("us"))]
)
def test_keys_that_cannot_be_equal_are_refused(left, right):
    with pytest.raises(InvalidInputError, match="cannot be equal; cast one"):
        StreamJoin(on="k").push(events(left), events(right))


def test_types_that_are_no_keys_or_ids_are_refused_by_name():
    nested = pa.list_(pa.int64())
    with pytest.raises(InvalidInputError, match="the key column 'k' of the left table is list"):
        StreamJoin(on="k").push(events(nested, [1]))
    with pytest.raises(InvalidInputError, match="the ids of the left side is list"):
        StreamJoin().push(events(nested, [1]).drop_columns("id").rename_columns(["id", "time", "event"]))
    join = StreamJoin(on="k")
    join.push(events(pa.int64(), 1))
    with pytest.raises(InvalidInputError, match="'k' of the left side were int64 and are string now"):
        join.push(events(pa.string(), "a"))


NAMES = ("a.b", "a`b", "*", "", " ", "side", "number", "starting", "end", "verdict", "key", "clock", "__all", "start")


@pytest.mark.parametrize("name", NAMES)
def test_keys_and_columns_of_any_name(name):
    table = events(pa.int64(), 7).rename_columns([name, "id", "time", "event"])
    found = StreamJoin(on=name).push(table, table, until=1).to_pylist()
    assert found == [{name: 7, "left_id": 0, "right_id": 0, "at": 1}]
    for role in ("id", "time", "event"):
        renamed = table.drop_columns(name).rename_columns({role: name})
        assert StreamJoin(columns={role: name}).push(renamed, renamed, until=1).num_rows == 1


def test_names_that_the_result_has_are_refused():
    for name in ("left_id", "right_id", "at", "reason"):
        with pytest.raises(UsageError, match=f"more than one column named '{name}'"):
            StreamJoin(on=name)
    with pytest.raises(UsageError, match="names 'k' twice"):
        StreamJoin(on=["k", "k"])
    with pytest.raises(UsageError, match="columns= names 'began', which is no column of a stream"):
        StreamJoin(columns={"began": "start"})


def test_ids_of_any_number():
    table = pa.table({"id": pa.array([2**64 - 1], pa.uint64()), "time": [1], "event": [True]})
    assert StreamJoin().push(table, table, until=1)["left_id"].to_pylist() == [2**64 - 1]


def test_the_ends_of_the_axis_are_refused_by_name():
    times = [-(2**63), 2**63 - 1, 5]
    table = pa.table({"id": [1, 2, 3], "time": times, "event": [True] * 3})
    join = StreamJoin()
    assert join.push(table, table, until=5).num_rows == 1
    assert join.take_rejected()["reason"].to_pylist() == ["lies at an end of the axis"] * 4
    with pytest.raises(UsageError, match="is the end of the axis, where no instant is"):
        join.push(None, None, until=2**63 - 1)
    far = pa.table({"id": [1], "time": pa.array([2**62], pa.timestamp("s")), "event": [True]})
    assert LiveForest().push(far) == 1
    spans = pa.table({"id": [1, 2, 3, 4], "start": [3, 4, -(2**63), 1], "end": [3, 2, 5, 2**63 - 1]})
    whole = StreamJoin(left="start", right="end")
    whole.push(spans, spans, until=9)
    reasons = [(row["side"], row["id"], row["reason"]) for row in whole.take_rejected().to_pylist()]
    assert sorted(reasons) == [
        ("left", "1", "starts and ends at the same instant"),
        ("left", "2", "ends before it starts"),
        ("left", "3", "lies at an end of the axis"),
        ("right", "1", "starts and ends at the same instant"),
        ("right", "2", "ends before it starts"),
        ("right", "3", "lies at an end of the axis"),
    ]
    assert whole.close().num_rows == 1


def test_a_push_that_fails_takes_nothing():
    join = StreamJoin()
    good, stray = events(pa.int64(), 1), events(pa.int64(), 1).set_column(1, "id", pa.array([None], pa.int64()))
    with pytest.raises(InvalidInputError, match="no column 'time'"):
        join.push(pa.concat_tables([good, stray]), good.drop_columns("time"))
    assert (join.take_rejected().num_rows, join.state_size, join.type) == (0, 0, None)


def test_a_late_event_is_refused_at_once():
    join = StreamJoin()
    join.push(events(pa.int64(), 1), None, until=5)
    join.push(events(pa.int64(), 1), None)
    assert join.take_rejected()["reason"].to_pylist() == ["late: its instant was complete"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((1, None), "events=1 is of type int; events takes a tuple of 2"),
        (((1, 2), None), "events takes a tuple of 2"),
        (((Events.none(), Events.none()), 3), "keys=3 is of type int; keys takes a tuple of 2 or None"),
        ((), "push: missing a required argument: 'events'"),
    ],
)
def test_a_keyed_join_says_what_it_takes(arguments, words):
    with pytest.raises(UsageError, match=words):
        KeyedJoin(partial(EndpointJoin, tl.allen.during)).push(*arguments)
