"""Counts, aggregates and sessions of streams: the whole equals the verb of tables, each result at its first instant."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timeloom as tl
from flows import END, NEVER, Flow, arrivals, cuts, flows
from reference.finality import count_final_from, is_final, lineages, sessions
from reference.relations import RELATIONS
from rows import assert_same
from timeloom.streaming import StreamAggregate, StreamCoalesce, StreamCount

LATEST = 18
FUNCTIONS = ["count", "sum", "avg", "min", "max", "var", "first", "last", "count_distinct", "collect"]


def run(stream: Any, sides: list[Flow], untils: list[int], again=None) -> list[dict]:
    """Push everything; results must leave in the push in which they become final. The stream may be saved half-way."""
    found, before = [], -1
    for at, until in enumerate(untils):
        result = stream.push(*(side.table(at) for side in sides), until=until).to_pylist()
        assert all(before < row["at"] <= until for row in result)
        found += result
        before = until
        if again is not None and at == 0:
            stream = again(stream)
    rest = stream.close().to_pylist()
    assert all(row["at"] is None or row["at"] > before for row in rest)
    events, refused = sum(side.events for side in sides), sum(side.refused for side in sides)
    assert stream.tally == (events, events - refused, 0, refused)
    if again is None:
        assert stream.take_rejected().num_rows == refused
    assert stream.is_idle or all(rows is None or not len(rows.live.starts) for rows in stream.streams)
    return found + rest


def assert_first_instant(rows, arrival, wanted, results, at) -> None:
    """It was not certain before, and is from then on; what only the end of all time decides never is."""
    assert not is_final(rows, arrival, wanted, results, LATEST if at is None else at - 1)
    assert at is None or is_final(rows, arrival, wanted, results, at)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("states") / "state"


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_counts(data, place):
    name, arrival = data.draw(st.sampled_from(sorted(RELATIONS))), (data.draw(arrivals), data.draw(arrivals))
    untils = data.draw(cuts)
    left, right = (data.draw(flows(untils, kind)) for kind in arrival)
    options = {"on": "key", "aggregates": {"total": ("value", "sum")}}

    def fresh() -> StreamCount:
        return StreamCount(name, left=arrival[0], right=arrival[1], columns=["value"], **options)

    def again(stream: StreamCount) -> StreamCount:
        stream.save(place)
        restored = fresh()
        restored.resume(place)
        return restored

    found = run(fresh(), [left, right], untils, data.draw(st.sampled_from([None, again])))
    wanted = tl.count_join(left.whole(), right.whole(), name, **options)
    expected = [(row["id"], row["value"], row["count"], row["total"]) for row in wanted.to_pylist()]
    assert_same([(row["left_id"], row["value"], row["count"], row["total"]) for row in found], expected)
    for row in found:
        key, start, end = left.rows[row["left_id"]]
        others = [(s[1], s[2]) for s in right.rows.values() if s[0] == key]
        latest = count_final_from(RELATIONS[name], (start, end), others, arrival, LATEST)
        if latest <= LATEST:
            assert row["at"] == latest, row
        else:
            assert row["at"] is None or row["at"] > LATEST


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_aggregates(data, place):
    arrival, untils = data.draw(arrivals), data.draw(cuts)
    flow = data.draw(flows(untils, arrival, 4))
    aggregates = {"n": "count", **{name: ("value", name) for name in FUNCTIONS if name != "count"}}

    def again(stream: StreamAggregate) -> StreamAggregate:
        stream.save(place)
        restored = StreamAggregate(aggregates, by="key", arrives=arrival)
        restored.resume(place)
        return restored

    fresh = StreamAggregate(aggregates, by="key", arrives=arrival)
    found = run(fresh, [flow], untils, data.draw(st.sampled_from([None, again])))
    wanted = tl.temporal_aggregate(flow.whole(), aggregates, by="key")
    table = pa.Table.from_pylist(found, pa.schema([*wanted.schema, ("at", pa.int64())]))
    assert_same(_sorted_lists(table.drop_columns(["at"])), _sorted_lists(wanted))
    for row in found:
        rows = [(start, end) for key, start, end in flow.rows.values() if key == row["key"]]
        end = NEVER if row["end"] is None else row["end"]
        assert_first_instant(rows, arrival, (row["start"], end, row["n"]), lineages, row["at"])


def _sorted_lists(table: pa.Table) -> list[tuple]:
    """Lists of values of rows that start at once come in the order of arrival, which is not that of the table."""
    return [
        tuple(str(sorted(value)) if isinstance(value, list) else value for value in row.values())
        for row in table.drop_columns(["first", "last"]).to_pylist()
    ]


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_buckets(data):
    arrival, untils = data.draw(arrivals), data.draw(cuts)
    flow = data.draw(flows(untils, arrival).filter(lambda flow: all(row[2] < NEVER for row in flow.rows.values())))
    aggregates, every = {"n": "count", "busy": "covered", "mean": ("value", "time_avg")}, data.draw(st.integers(1, 4))
    found = run(StreamAggregate(aggregates, by="key", every=every, arrives=arrival), [flow], untils)
    wanted = tl.temporal_aggregate(flow.whole(), aggregates, by="key", every=every)
    assert_same([tuple(row.values())[:-1] for row in found], [tuple(row.values()) for row in wanted.to_pylist()])
    assert all(row["at"] == row["end"] - 1 for row in found)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_sessions(data, place):
    arrival, untils, gap = data.draw(arrivals), data.draw(cuts), data.draw(st.none() | st.integers(0, 3))
    flow = data.draw(flows(untils, arrival, 4))

    def again(stream: StreamCoalesce) -> StreamCoalesce:
        stream.save(place)
        restored = StreamCoalesce(by="key", max_gap=gap, arrives=arrival)
        restored.resume(place)
        return restored

    fresh = StreamCoalesce(by="key", max_gap=gap, arrives=arrival)
    found = run(fresh, [flow], untils, data.draw(st.sampled_from([None, again])))
    wanted = tl.coalesce(flow.whole(), by="key", max_gap=gap)
    assert_same([tuple(row.values())[:-1] for row in found], [tuple(row.values()) for row in wanted.to_pylist()])
    for row in found:
        rows = [(start, end) for key, start, end in flow.rows.values() if key == row["key"]]
        end = NEVER if row["end"] is None else row["end"]
        assert_first_instant(rows, arrival, (row["start"], end), lambda some: sessions(some, gap or 0), row["at"])


def test_the_last_instant_is_after_all_events():
    assert END > LATEST


def test_columns_without_values_take_the_type_they_had():
    """End events carry no values; a batch of them alone has a column without a type."""
    load = StreamAggregate({"total": ("mw", "sum")})
    load.push(pa.table({"id": [1], "time": [0], "event": ["start"], "mw": [40]}))
    ended = pa.table({"id": [1], "time": [6], "event": ["end"], "mw": pa.nulls(1)})
    found = [*load.push(ended).to_pylist(), *load.close().to_pylist()]
    assert [(row["start"], row["end"], row["total"]) for row in found] == [(0, 6, 40)]
    with pytest.raises(tl.InvalidInputError, match="keep one type"):
        load.push(pa.table({"id": [2], "time": [7], "event": ["start"], "mw": ["x"]}))
