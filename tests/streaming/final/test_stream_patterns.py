"""Patterns over streams: the matches of the batch verb and of brute force, each at its first certain instant."""

from itertools import product

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timeloom as tl
from flows import arrivals, cuts, flows
from reference.certainty import NEVER, certain_from
from reference.relations import RELATIONS
from timeloom.streaming import StreamPattern

SHAPES = [
    [("a", "b"), ("b", "c")],
    [("a", "b"), ("a", "c")],
    [("a", "b"), ("b", "c"), ("c", "a")],
    [("a", "b"), ("b", "c"), ("c", "d")],
]


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_matches_and_their_instants(data, tmp_path_factory):
    untils, shape = data.draw(cuts), data.draw(st.sampled_from(SHAPES))
    names = sorted({name for pair in shape for name in pair})
    relations = [(left, data.draw(st.sampled_from(sorted(RELATIONS))), right) for left, right in shape]
    arrives = {name: data.draw(arrivals) for name in names}
    sides = {name: data.draw(flows(untils, arrives[name], 4)) for name in names}
    columns, place = [f"{name}_value" for name in names], tmp_path_factory.getbasetemp() / "pattern"

    def fresh() -> StreamPattern:
        return StreamPattern(names, relations, on="key", arrives=arrives, columns=columns)

    stream, found, before = fresh(), [], -1
    for push, until in enumerate(untils):
        result = stream.push({name: sides[name].table(push) for name in names}, until=until).to_pylist()
        assert all(before < row["at"] <= until for row in result)
        found, before = found + result, until
        if push == 0 and data.draw(st.booleans()):
            stream.save(place)
            stream = fresh()
            stream.resume(place)
    found += stream.close().to_pylist()
    assert stream.state_size == 0
    events, refused = sum(flow.events for flow in sides.values()), sum(flow.refused for flow in sides.values())
    assert stream.tally == (events, events - refused, 0, refused)

    expected = {}
    for ids in product(*(sides[name].rows for name in names)):
        rows = {name: sides[name].rows[number] for name, number in zip(names, ids, strict=True)}
        pairs = [(RELATIONS[relation], left, right) for left, relation, right in relations]
        if len({row[0] for row in rows.values()}) == 1 and all(
            holds(rows[left][1:], rows[right][1:]) for holds, left, right in pairs
        ):
            instants = [
                certain_from(holds, rows[left][1:], rows[right][1:], 8, (arrives[left], arrives[right]), 40)
                for holds, left, right in pairs
            ]
            expected[ids] = None if max(instants) == NEVER else max(instants)
    assert {tuple(row[f"{name}_id"] for name in names): row["at"] for row in found} == expected
    assert len(found) == len(expected)
    batch = tl.pattern({name: sides[name].whole() for name in names}, relations, on="key")
    assert sorted(tuple(row[f"{name}_id"] for name in names) for row in batch.to_pylist()) == sorted(expected)


def test_rows_leave_the_state_when_no_match_can_need_them():
    """A chain of meetings: each row is needed until its neighbours have come, or cannot come any more."""
    chain = StreamPattern(["a", "b", "c"], [("a", "meets", "b"), ("b", "meets", "c")], arrives="start")

    def row(number, start, end):
        return {"id": [number], "start": [start], "end": [end]}

    chain.push({"a": pa.table(row(1, 0, 4))}, until=3)
    assert chain.state_size == 1
    chain.push({"b": pa.table(row(2, 4, 9))}, until=5)
    assert chain.state_size == 2
    assert chain.push({"c": pa.table(row(3, 9, 12))}, until=9).to_pylist() == [
        {"a_id": 1, "b_id": 2, "c_id": 3, "at": 9}
    ]
    assert chain.state_size == 0
    chain.push({"a": pa.table(row(4, 20, 30))}, until=30)
    assert chain.state_size == 0, "no b began when it ended"


PAIR = {"a": pa.table({"id": [1], "start": [0], "end": [4]}), "b": pa.table({"id": [1], "start": [4], "end": [5]})}
MISUSED = [
    ({}, {"relations": []}, r"relations=.* says nothing; give a list of triples"),
    ({}, {"relations": [("a", "meets")]}, "is no relation between two tables; give triples"),
    ({}, {"relations": [("a", "meets", "c")]}, "a relation speaks of 'c', which is no table"),
    ({}, {"relations": [("a", "meets", "a")]}, "holds a table against itself"),
    ({}, {"relations": [("a", "near", "b")]}, "near"),
    ({"c": PAIR["a"]}, {}, "no relation leads from 'a' to 'c'"),
    ({}, {"relations": [("a", "meets", "b"), ("b", "meets", "a")]}, "can never be in .*the pattern has no match"),
    ({}, {"columns": ["c_id"]}, "columns= asks for 'c_id'"),
    ({}, {"on": "room"}, "has no column 'room'"),
]


@pytest.mark.parametrize(("more", "options", "words"), MISUSED)
@pytest.mark.parametrize("verb", [tl.pattern, tl.stream_pattern])
def test_patterns_that_cannot_be(verb, more, options, words):
    given = {"relations": [("a", "meets", "b")], **options}
    if verb is tl.stream_pattern:
        given["arrives"] = "start"
    with pytest.raises(tl.TimeloomError, match=words):
        verb({**PAIR, **more}, **given)


def test_relations_between_the_same_tables_hold_together():
    both = [("a", "before | meets", "b"), ("b", "after | met_by", "a"), ("a", tl.Relation(start_end=(0, 0)), "b")]
    assert tl.pattern(PAIR, both).to_pylist() == [
        {"a_id": 1, "a_start": 0, "a_end": 4, "b_id": 1, "b_start": 4, "b_end": 5}
    ]
    told = tl.explain(tl.pattern, PAIR, both)
    assert (told["begins with"], told["step 1"].endswith(" b")) == ("a", True)
