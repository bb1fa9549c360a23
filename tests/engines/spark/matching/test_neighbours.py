"""Neighbours of rows whose keys are cut by time are those of the local engine, also beyond the edges of slices."""

from contextlib import nullcontext
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

import timeloom as tl
from engines.agreement import assert_all_same, on_spark, random_rows
from timeloom.engines.spark.as_of import as_of
from timeloom.engines.spark.nearest import nearest
from timeloom.model.naming import Keys
from timeloom.model.neighbours import AsOfRequest, NearestRequest
from timeloom.model.period import Period
from timeloom.model.policy import Policy


def sides(columns=("start", "key", "number", "id")):
    """Rows in the order of their values, which Spark puts them into, with instants that few rows have."""
    found = []
    for seed, rows in ((1, 50), (2, 25)):
        drawn = random_rows(seed, rows=rows, latest=200).select(list(columns))
        found.append(drawn.sort_by([(name, "ascending") for name in columns]))
    return found


@pytest.mark.parametrize("keyed", [False, True])
def test_neighbours_beyond_the_edges_are_found(spark, keyed):
    left, right = sides()
    frames = [on_spark(spark, rows).repartition(3) for rows in (left, right)]
    keys = Keys.of("key" if keyed else None)
    wanted, cases = ("id", "id_right"), []
    for direction, exact, tolerance in product(("backward", "forward", "nearest"), (True, False), (None, 9)):
        options = {"direction": direction, "allow_exact": exact, "tolerance": tolerance, "columns": wanted}
        at = Period("start")
        request = AsOfRequest(keys, at, at, Policy("error"), **options)
        expected = tl.as_of(left, right, at="start", on="key" if keyed else None, **options)
        cases.append((options, as_of(*frames, request, slices=4), expected))
    assert_all_same(cases)


def test_one_side_without_rows_and_rows_that_are_dropped(spark):
    left, right = sides()
    holes = right.slice(0, 5).set_column(0, "start", pa.array([1, None, 3, None, 150], pa.int64()))
    at = Period("start")
    request = AsOfRequest(Keys.of("key"), at, at, Policy("drop"), columns=("id", "id_right"))
    for other in (right.slice(0, 0), holes):
        frames = on_spark(spark, left), on_spark(spark, other)
        with pytest.warns(tl.DroppedRowsWarning) if other is holes else nullcontext():
            expected = tl.as_of(left, other, at="start", on="key", on_invalid="drop", columns=["id", "id_right"])
        assert_all_same([("as_of", as_of(*frames, request, slices=3), expected)])


@pytest.mark.parametrize("keyed", [False, True])
def test_nearest_rows_of_keys_that_are_cut(spark, keyed):
    left, right = sides(("start", "end", "key", "id"))
    frames = [on_spark(spark, rows).repartition(3) for rows in (left, right)]
    keys, wanted, cases = Keys.of("key" if keyed else None), ("id", "id_right", "distance"), []
    for direction, ties in product(("both", "backward", "forward"), ("first", "all")):
        options = {"direction": direction, "ties": ties, "how": "left", "columns": wanted}
        request = NearestRequest(keys, Period(), Period(), Policy("error"), k=2, **options)
        expected = tl.nearest(left, right, 2, on="key" if keyed else None, **options)
        cases.append((options, nearest(*frames, request, slices=3), expected))
    assert_all_same(cases)


def nested_rows(columns, count=30):
    """Rows of few instants and two keys, level in time, that differ in nested columns alone, and then by their ids."""
    draw = np.random.default_rng(7)
    lists = [None, [], [1], [1, None], [None], [2, 1]]
    structs = [None, {"a": 1, "b": "x"}, {"a": 1, "b": None}, {"a": None, "b": "x"}]
    maps = [None, [], [("a", 1)], [("a", 2)], [("a", 1), ("b", 0)]]
    found = {
        "at": draw.integers(0, 6, count),
        "key": draw.integers(0, 2, count),
        "list": pa.array([lists[at] for at in draw.integers(0, len(lists), count)], pa.list_(pa.int64())),
        "struct": pa.array([structs[at] for at in draw.integers(0, len(structs), count)]),
        "map": pa.array([maps[at] for at in draw.integers(0, len(maps), count)], pa.map_(pa.string(), pa.int64())),
        "id": np.arange(count),
    }
    return pa.table(found).select(columns)


def test_rows_level_in_time_are_told_apart_by_nested_values(spark):
    left = pa.table({"at": list(range(7)) * 2, "key": [0] * 7 + [1] * 7})
    wanted, at, cases = ("at", "key", "id"), Period("at"), []
    for columns in (["at", "key", "list", "id"], ["struct", "at", "key", "id"], ["at", "map", "list", "key", "id"]):
        right = nested_rows(columns)
        frames = [on_spark(spark, rows).repartition(3) for rows in (left, right)]
        request = AsOfRequest(Keys.of("key"), at, at, Policy("error"), columns=wanted)
        cases.append((columns, as_of(*frames, request, slices=3), tl.as_of(left, right, on="key", columns=wanted)))
        near = NearestRequest(Keys.of("key"), at, at, Policy("error"), k=2, columns=wanted)
        expected = tl.nearest(left, right, 2, on="key", period="at", columns=wanted)
        cases.append((columns, nearest(*frames, near, slices=3), expected))
    assert_all_same(cases)
