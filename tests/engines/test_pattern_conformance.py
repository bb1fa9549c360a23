"""Patterns on both engines against brute force: chains, stars and circles, keys, open ends, limits, strange columns."""

from itertools import product

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timeloom as tl
from reference.relations import RELATIONS
from rows import FOREVER, assert_same, open_ended, table

SHAPES = [
    [("a", "b")],
    [("b", "a"), ("b", "c")],
    [("a", "b"), ("b", "c"), ("c", "a")],
    [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"), ("a", "c")],
]
ticks = st.integers(0, 9)
periods = st.tuples(ticks, ticks | st.just(FOREVER)).filter(lambda row: row[0] != row[1])
tables = st.lists(st.tuples(periods.map(lambda row: tuple(sorted(row))), st.sampled_from(["x", "y", None])), max_size=5)


def brute_force(rows, relations):
    """Positions of all matches; a null key equals nothing."""
    names = sorted(rows)
    for ids in product(*(range(len(rows[name])) for name in names)):
        chosen = {name: rows[name][at] for name, at in zip(names, ids, strict=True)}
        keys = {key for _, key in chosen.values()}
        pairs = [(RELATIONS[name], chosen[left][0], chosen[right][0]) for left, name, right in relations]
        if len(keys) == 1 and None not in keys and all(holds(r, s) for holds, r, s in pairs):
            yield ids


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_local_tables(data):
    shape = data.draw(st.sampled_from(SHAPES))
    names = sorted({name for pair in shape for name in pair})
    relations = [(left, data.draw(st.sampled_from(sorted(RELATIONS))), right) for left, right in shape]
    rows = {name: data.draw(tables) for name in names}
    given = {
        name: table(open_ended(row for row, _ in some), [key for _, key in some], "n") for name, some in rows.items()
    }
    found = tl.pattern(given, relations, on="key", columns=[f"{name}_n" for name in names])
    assert_same([tuple(row.values()) for row in found.to_pylist()], list(brute_force(rows, relations)))


WAYS = {"joins": "a join of its own", "keys": "once for all steps", "one task": "one task reads and takes them"}
"""How a pattern runs on Spark, and what is told of it."""


@pytest.mark.spark
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("relations", [SHAPES[1], SHAPES[2]], ids=["star", "circle"])
def test_spark_agrees_with_local_tables(spark, relations, way, monkeypatch):
    if way == "joins":
        monkeypatch.setattr("timeloom.engines.spark.matching.whole_pattern.KEYED_BYTES", 0)
    monkeypatch.setattr("timeloom.engines.spark.matching.whole_pattern.MOST", 7)
    kinds = ["overlaps | during | meets", tl.iseql.before(delta=6), "intersects | after"]
    wanted = [(left, kind, right) for (left, right), kind in zip(relations, kinds, strict=False)]
    spans = {"a": [(n % 7, n % 7 + 1 + n % 5) for n in range(20)], "b": [(n % 9, n % 9 + 3) for n in range(15)]}
    spans["c"] = [(n % 8, None) for n in range(4)] + [(n % 11, n % 11 + 2) for n in range(14)]
    local = {name: table(some, ["xyz"[n % 3] for n in range(len(some))], "of `it`") for name, some in spans.items()}
    frames = {name: spark.createDataFrame(some) for name, some in local.items()}
    if way != "one task":
        frames = {name: frame.repartition(3) for name, frame in frames.items()}
    found = tl.pattern(frames, wanted, on="key")
    expected = tl.pattern(local, wanted, on="key")
    assert expected.num_rows > 5
    assert_same(found, expected)
    told = tl.explain(tl.pattern, frames, wanted, on="key")
    assert told["begins with"] in spans
    assert WAYS[way] in str(told)
    some = ["c_of `it`", "key", "a_of `it`"]
    assert_same(tl.pattern(frames, wanted, on="key", columns=some), expected.select(some))


@pytest.mark.spark
def test_a_pattern_of_small_tables_is_one_task_that_judges_rows(spark):
    rows = {"a": table([(1, 9), (6, 2)], ["x", None], "n"), "b": table([(2, 3)], ["x"], "n")}
    frames = {name: spark.createDataFrame(some) for name, some in rows.items()}
    relations = [("a", "contains", "b")]
    with pytest.raises(Exception, match="in one task of pattern, 1 of 2 rows of the a table have no usable period"):
        tl.pattern(frames, relations, on="key").collect()
    found = tl.pattern(frames, relations, on="key", on_invalid="drop")
    assert [tuple(row) for row in found.collect()] == [("x", 1, 9, 0, 2, 3, 0)]
    days = {
        name: frame.selectExpr("timestamp_seconds(start) AS start", "timestamp_seconds(end) AS end", "n")
        for name, frame in frames.items()
    }
    held = tl.pattern(days, relations, columns=["b_n", "b_start"], on_invalid="drop")
    assert held.dtypes == [("b_n", "int"), ("b_start", "timestamp")]
    assert held.selectExpr("unix_seconds(b_start)").collect()[0][0] == 2


def test_other_periods_keys_and_kinds_of_tables():
    """Closed periods, names of columns of their own, keys of different types, and a table of another kind first."""
    shifts = pa.table({"room": [1, 2], "from": [0, 5], "to": [4, 9]}).to_pandas()
    calls = pa.table({"room": [1.0, 2.0], "start": [2, 10], "end": [3, 12]})
    periods = {"shift": tl.Period("from", "to", closed="both")}
    found = tl.pattern(
        {"shift": shifts, "call": calls}, [("shift", "contains | meets", "call")], on="room", periods=periods
    )
    assert type(found).__name__ == "DataFrame"
    assert found.to_dict("records") == [
        {"room": 1.0, "shift_from": 0, "shift_to": 4, "call_start": 2, "call_end": 3},
        {"room": 2.0, "shift_from": 5, "shift_to": 9, "call_start": 10, "call_end": 12},
    ]


@pytest.mark.spark
def test_keys_that_cannot_be_compared_are_refused_when_the_plan_is_made(spark):
    rows = spark.createDataFrame(table([(1, 9)], ["x"], "n"))
    for key in ("collate(key, 'UTF8_LCASE') AS key", "map(key, 1) AS key"):
        frame = rows.selectExpr("start", "end", key)
        with pytest.raises(tl.InvalidInputError, match="key"):
            tl.pattern({"a": frame, "b": frame}, [("a", "equals", "b")], on="key")
