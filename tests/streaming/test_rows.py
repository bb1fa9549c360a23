"""Streaming joins carry columns: the same rows as a join of whole tables, however the events are cut."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.relations import RELATIONS
from timeloom.errors import InvalidInputError, UsageError
from timeloom.streaming import StreamJoin

ticks = st.integers(0, 12)
rows = st.lists(
    st.tuples(ticks, ticks, st.one_of(st.none(), st.integers(0, 3)), st.sampled_from("ab"))
    .filter(lambda row: row[0] != row[1])
    .map(lambda row: (*sorted(row[:2]), *row[2:])),
    max_size=6,
)
SCHEMA = pa.schema(
    [("key", pa.string()), ("id", pa.int64()), ("time", pa.int64()), ("event", pa.bool_()), ("price", pa.int64())]
)


def events(table: list[tuple], first: int, last: int) -> pa.Table:
    """Starts with their prices; ends, which have none."""
    found = [
        {"key": key, "id": row, "time": time, "event": is_start, "price": price if is_start else None}
        for row, (start, end, price, key) in enumerate(table)
        for time, is_start in ((start, True), (end, False))
        if first <= time <= last
    ]
    return pa.Table.from_pylist(found, SCHEMA)


def streamed(join: StreamJoin, left: list[tuple], right: list[tuple], cuts: list[int]) -> list[dict]:
    found, first = [], 0
    for last in [*cuts, 12]:
        found += join.push(events(left, first, last), events(right, first, last), until=last).to_pylist()
        first = max(first, last + 1)
    found += join.close().to_pylist()
    assert join.tally == (2 * len(left) + 2 * len(right),) * 2 + (0, 0)
    assert join.state_size == 0
    return found


def expected(left: list[tuple], right: list[tuple], name: str, how: str, holds) -> list[tuple]:
    pairs = [
        (i, j)
        for i, r in enumerate(left)
        for j, s in enumerate(right)
        if r[3] == s[3] and RELATIONS[name](r[:2], s[:2]) and holds(r[2], s[2])
    ]
    lefts, rights = {i for i, _ in pairs}, {j for _, j in pairs}
    if how == "semi":
        return [(i, left[i][2], left[i][3]) for i in lefts]
    if how == "anti":
        return [(i, left[i][2], left[i][3]) for i in range(len(left)) if i not in lefts]
    found = [(i, left[i][2], left[i][3], j, right[j][2]) for i, j in pairs]
    if how in ("left", "full"):
        found += [(i, left[i][2], left[i][3], None, None) for i in range(len(left)) if i not in lefts]
    if how in ("right", "full"):
        found += [(None, None, right[j][3], j, right[j][2]) for j in range(len(right)) if j not in rights]
    return found


def prices(found: list[dict]) -> list[tuple]:
    names = ("left_id", "price", "key", "right_id", "price_right")
    return sorted((tuple(row[name] for name in names if name in row) for row in found), key=repr)


@settings(max_examples=60, deadline=None)
@given(
    left=rows,
    right=rows,
    cuts=st.lists(ticks, max_size=3).map(sorted),
    how=st.sampled_from(["inner", "left", "right", "full", "semi", "anti"]),
    name=st.sampled_from(["overlaps", "intersects", "during", "before", "equals"]),
    where=st.booleans(),
)
def test_the_rows_of_the_batch_join(left, right, cuts, how, name, where):
    join = StreamJoin(name, on="key", how=how, columns="*", where="price < PRICE_right" if where else None)
    found = streamed(join, left, right, cuts)
    holds = (lambda a, b: a is not None and b is not None and a < b) if where else lambda a, b: True
    assert prices(found) == sorted(expected(left, right, name, how, holds), key=repr)
    assert len(join._carried[0]) <= 1024


@settings(max_examples=30, deadline=None)
@given(left=rows, right=rows, cuts=st.lists(ticks, max_size=3).map(sorted), name=st.sampled_from(sorted(RELATIONS)))
def test_periods_and_overlaps_do_not_depend_on_the_cuts(left, right, cuts, name):
    """Only what is known at the deciding instant is told: an end that has not come is null."""
    columns = ["start", "end", "end_right", "overlap_start", "overlap_end"]
    found = streamed(StreamJoin(name, on="key", columns=columns, overlap=True), left, right, cuts)
    for row in found:
        (r0, r1, *_), (s0, s1, *_) = left[row["left_id"]], right[row["right_id"]]
        at = 99 if row["at"] is None else row["at"]
        known = [end if end <= at else None for end in (r1, s1)]
        assert [row["start"], row["end"], row["end_right"]] == [r0, *known]
        first, last = max(r0, s0), min(end for end in (*known, 100) if end is not None)
        shared = (first, None if last == 100 else last) if first < last else (None, None)
        assert (row["overlap_start"], row["overlap_end"]) == shared


def one(**columns) -> pa.Table:
    return pa.table({name: [value] for name, value in columns.items()})


def test_an_end_fills_in_what_its_start_did_not_have():
    join = StreamJoin("overlaps", columns="*")
    join.push(one(id=1, time=0, event="start", gate="B", delay=pa.scalar(None, pa.int64())), None, until=1)
    join.push(None, one(id=7, time=2, event="start", note="x"), until=3)
    found = join.push(one(id=1, time=4, event="end", gate="C", delay=12), None, until=4)
    assert found.to_pylist() == [{"left_id": 1, "right_id": 7, "at": 4, "gate": "B", "delay": 12, "note": "x"}]


def test_an_end_that_has_not_come_fills_in_nothing():
    join, nothing = StreamJoin("intersects", columns=["delay"]), pa.scalar(None, pa.int64())
    table = pa.concat_tables(
        [one(id=1, time=0, event="start", delay=nothing), one(id=1, time=4, event="end", delay=12)]
    )
    found = join.push(table, one(id=7, time=2, event="start"), until=9)
    assert found.to_pylist() == [{"left_id": 1, "right_id": 7, "at": 2, "delay": None}]


def test_whole_rows_know_their_ends():
    join = StreamJoin("intersects", left="start", right="start", columns=["end", "overlap_length"], overlap="length")
    found = join.push(one(id=1, start=0, end=9), one(id=2, start=3, end=5), until=3)
    assert found.to_pylist() == [{"left_id": 1, "right_id": 2, "at": 3, "end": 9, "overlap_length": 2}]


def test_only_what_is_asked_for_is_kept():
    join = StreamJoin(columns=["gate_right"], where="size > 3")
    table = one(id=1, time=0, event="start", gate="B", size=4, note="long")
    assert join.push(table, None, until=0).column_names == ["left_id", "right_id", "at", "gate_right"]
    assert set(join._carried[0].columns) == {"size"}
    bare = one(id=1, time=0, event="start")
    with pytest.raises(UsageError, match="where= reads 'size', which the result does not have"):
        StreamJoin(where="size > 3").push(bare, bare)
    other = StreamJoin(columns=["gate_right"])
    found = other.push(table, table, until=0)
    assert found.to_pylist() == [{"left_id": 1, "right_id": 1, "at": 0, "gate_right": "B"}]
    assert [set(carried.columns) for carried in other._carried] == [set(), {"gate"}]


def test_ids_alone_are_the_default():
    table = one(id=1, time=0, event="start", gate="B", at=3)
    for options in ({}, {"columns": []}, {"columns": "right_id"}, {"where": "gate = 'B'"}):
        assert StreamJoin(**options).push(table, table, until=0).column_names == ["left_id", "right_id", "at"]
    assert StreamJoin(overlap=True).push(table, table, until=0).column_names[3:] == ["overlap_start", "overlap_end"]
    assert StreamJoin(columns=["*"]).push(table.rename_columns({"gate": "*"}), table, until=0)["*"].to_pylist() == ["B"]


def test_suffixes():
    table = one(id=1, time=0, event="start", gate="B")
    found = StreamJoin(columns="*", suffixes=("_l", "_r")).push(table, table, until=0)
    assert found.to_pylist() == [{"left_id": 1, "right_id": 1, "at": 0, "gate_l": "B", "gate_r": "B"}]


def test_what_cannot_be_carried_is_refused():
    table = one(id=1, time=0, event="start", gate="B")
    with pytest.raises(UsageError, match="columns= asks for 'gait', which the result does not have. Did you mean"):
        StreamJoin(columns=["gait"]).push(table, table)
    with pytest.raises(UsageError, match="more than one column named 'at'; choose other suffixes"):
        StreamJoin(columns="*").push(one(id=1, time=0, event="start", at=3))
    with pytest.raises(UsageError, match="overlap=True needs pairs of rows"):
        StreamJoin(how="semi", overlap=True)
    with pytest.raises(UsageError, match="is a mapping beside event_columns="):
        StreamJoin(columns={"id": "row"}, event_columns={"id": "row"})
    join = StreamJoin(columns="*")
    join.push(table, None, until=0)
    with pytest.raises(InvalidInputError, match="column 'gate' of the left side was string and is int64 now"):
        join.push(one(id=2, time=1, event="start", gate=3))
    with pytest.raises(InvalidInputError, match="has a column 'size' that its first table did not have"):
        join.push(one(id=2, time=1, event="start", gate="B", size=3))
    with pytest.raises(InvalidInputError, match="no column 'gate'"):
        join.push(one(id=2, time=1, event="start"))
    assert join.tally == (1, 1, 0, 0)


def test_columns_of_rows_that_are_gone_are_forgotten():
    join = StreamJoin("overlaps", columns=["size"], where="size = size_right")
    for step in range(0, 30_000, 10):
        left = pa.table({"id": [1, 1], "time": [step, step + 5], "event": [True, False], "size": [step, None]})
        right = pa.table({"id": [1, 1], "time": [step + 2, step + 8], "event": [True, False], "size": [step, None]})
        assert join.push(left, right, until=step + 9)["size"].to_pylist() == [step]
    assert max(len(carried) for carried in join._carried) <= 1100
