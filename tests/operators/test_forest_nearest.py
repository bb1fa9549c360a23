"""`nearest` beside a stab-forest: the rows of the ordinary way, found without reading all events."""

from datetime import date, timedelta
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timeloom as tl
from timeloom.engines.indexes import nearest as through_index
from timeloom.engines.indexes.rows import IndexRows
from timeloom.kernels.stab_forest.rectangle import search_many

PERIODS = st.lists(st.tuples(st.integers(0, 14), st.integers(1, 6)).map(lambda row: (row[0], sum(row))), max_size=9)
CALLS = list(product(("both", "backward", "forward"), ("first", "all"), ("inner", "left"), (None, 0, 2)))


def few(rows, kind=pa.int64(), value=lambda tick: tick):  # noqa: B008
    columns = [pa.array([value(row[at]) for row in rows], kind) for at in (0, 1)]
    return pa.table([*columns, pa.array(range(len(rows)), pa.int64())], ["start", "end", "row"])


@settings(max_examples=60)
@given(PERIODS, PERIODS.filter(bool), st.integers(1, 4), st.sampled_from(CALLS))
def test_the_rows_of_a_table(left, right, k, call):
    direction, ties, how, furthest = call
    right = sorted(right) if k % 2 else right
    forest = tl.StabForest.build(*(np.array([row[at] for row in right], np.int64) for at in (0, 1)))
    options = {"direction": direction, "ties": ties, "how": how, "max_distance": furthest}
    found = tl.nearest(few(left), forest, k, **options)
    expected = tl.nearest(few(left), forest.table(), k, **options)
    assert found.schema == expected.schema
    assert found.to_pylist() == expected.to_pylist()


def test_dates_late_ends_and_columns():
    def day(tick):
        return date(2024, 1, 1) + timedelta(tick)

    forest = tl.StabForest()
    handles = [forest.begin(day(tick)) for tick in (0, 3, 3, 9)]
    for handle, tick in zip(handles[::-1], (10, 8, 4, 30), strict=True):
        forest.finish(handle, day(tick))
    left = few([(5, 6), (40, 41)], pa.date32(), day)
    found = tl.nearest(left, forest, 2, columns=["row", "id", "distance"])
    assert found.to_pylist() == tl.nearest(left, forest.table(), 2, columns=["row", "id", "distance"]).to_pylist()
    with pytest.raises(tl.InvalidInputError, match="date"):
        tl.nearest(few([(1, 2)]), forest)


def test_only_what_is_near_is_touched(monkeypatch):
    """However many events there are, as many are met."""
    met = []

    def counted(*arguments):
        found = search_many(*arguments)
        met.append(found[2])
        return found

    def all_of_them(rows):
        raise AssertionError("all events are read")

    monkeypatch.setattr(through_index, "search_many", counted)
    monkeypatch.setattr(IndexRows, "periods", property(all_of_them))
    monkeypatch.setattr(IndexRows, "ticks", property(all_of_them))
    steps = []
    for events in (1 << 12, 1 << 16):
        met.clear()
        starts = np.arange(events, dtype=np.int64) * 10
        forest = tl.StabForest.build(starts, starts + 3)
        left = few([(20_005, 20_006), (404, 405)])
        assert tl.nearest(left, forest, 3).num_rows == 6
        assert tl.explain(tl.nearest, left, forest, 3).facts["algorithm"] == "index"
        steps.append(sum(met))
    assert steps[0] == steps[1] < 500


@settings(max_examples=60)
@given(PERIODS.filter(bool), PERIODS, st.integers(1, 3), st.sampled_from(CALLS), st.booleans())
def test_neighbours_of_events(events, others, k, call, both):
    direction, ties, how, furthest = call
    forest = tl.StabForest.build(*(np.array([row[at] for row in events], np.int64) for at in (0, 1)))
    right = tl.StabForest.build(few(others)) if both and others else few(others)
    options = {"direction": direction, "ties": ties, "how": how, "max_distance": furthest}
    found = tl.nearest(forest, right, k, **options)
    expected = tl.nearest(forest.table(), pa.table(right), k, **options)
    assert found.schema == expected.schema
    assert found.to_pylist() == expected.to_pylist()


def test_events_beyond_the_distance_are_not_read(monkeypatch):
    def day(tick):
        return date(2024, 1, 1) + timedelta(tick)

    forest = tl.StabForest.build([day(tick) for tick in range(0, 900, 9)], [day(tick + 2) for tick in range(0, 900, 9)])
    right, options = few([(40, 41), (700, 703)], pa.date32(), day), {"max_distance": timedelta(10)}
    expected = tl.nearest(forest.table(), right, 1, **options)
    monkeypatch.setattr(tl.StabForest, "__arrow_c_stream__", lambda *_: pytest.fail("all events are read"))
    assert tl.nearest(forest, right, 1, **options).to_pylist() == expected.to_pylist()
    plan = tl.explain(tl.nearest, forest, right, 1, **options)
    assert (plan["algorithm"], plan["left rows"], plan["right rows"]) == ("index", 100, 2)
    with pytest.raises(tl.InvalidInputError, match="axis"):
        tl.nearest(forest, few([(1, 2)]), 1, max_distance=3)


def test_the_reason_is_told_where_an_index_is_read_as_a_table():
    forest, right = tl.StabForest.build([1, 5], [3, 9]), few([(4, 5)])
    for options, words in (
        ({}, "the result has every event"),
        ({"max_distance": 3, "how": "left"}, "the result has every event"),
        ({"max_distance": 3, "on_invalid": "quarantine"}, "quarantine was asked for"),
        ({"max_distance": 3, "left_on": "id", "right_on": "row"}, "keys were asked for"),
    ):
        plan = tl.explain(tl.nearest, forest, right, **options)
        assert plan["algorithm"] == "walk"
        assert any(words in why for why in plan.why), plan
