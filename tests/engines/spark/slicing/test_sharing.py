"""Slices that several tasks share: every pair meets once, whatever the grid; rows are dealt by what they say."""

from collections import Counter
from datetime import date

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeloom.engines.spark.exchange.routing import Dealing, RowTicks, routed
from timeloom.engines.spark.slicing.boundaries import COPIES
from timeloom.engines.spark.slicing.cuts import Cuts
from timeloom.engines.spark.slicing.sharing import Grid, content, mixed
from timeloom.engines.spark.slicing.slices import Slicing

ROWS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4)), min_size=1, max_size=15)
GRIDS = st.dictionaries(st.integers(0, 2), st.tuples(st.integers(1, 3), st.integers(1, 3)), min_size=1, max_size=3)


def received(rows, source, cuts, slicing):
    """The rows of a side in each part of a slice."""
    low, length = (np.array([row[at] for row in rows], np.int64) for at in range(2))
    ticks = RowTicks(low, low + length + 1, low, low + length)
    found = routed(len(rows), None, ticks, cuts, slicing, Dealing(source, mixed))
    assert len(found.edges) == len(found.destinations) + 1
    return {
        (at.task, at.slice, at.since): found.rows[found.edges[number] : found.edges[number + 1]].tolist()
        for number, at in enumerate(found.destinations)
    }


@given(ROWS, ROWS, GRIDS, st.sampled_from([1, 3, 20]))
def test_rows_that_share_a_slice_meet_once_in_it(left, right, grids, tasks):
    slicing, bounds = Slicing(tasks, 1, shares=True), {0: np.array([3, 6])}
    shared = Cuts(bounds, {0: {at: Grid(*grid) for at, grid in grids.items()}})
    met = []
    for cuts in (Cuts(bounds), Cuts.read(shared.written())):
        sides = [received(rows, source, cuts, slicing) for source, rows in enumerate((left, right))]
        assert all(len(set(side)) == len(side) for side in sides)
        met.append(
            Counter(
                (at[2], mine, theirs)
                for at, rows in sides[0].items()
                for mine in rows
                for theirs in sides[1].get(at, [])
            )
        )
    assert met[0] == met[1]


def test_tasks_share_a_tick_that_weighs_as_much_as_many_slices():
    draw, count = np.random.default_rng(1), 20_000
    low = np.where(draw.random(count) < 0.3, 5000, draw.integers(0, 10_000, count))
    sources, ones = np.arange(count) % 2, np.ones(count)
    keys = np.zeros(count, np.int64)
    bounds, grids, _ = Slicing(100, 2, False, 1, shares=True).chosen(low, low, keys, ones, sources)
    ((at, grid),) = grids[0].items()
    assert at == np.searchsorted(bounds[0], 5000, side="right")
    assert 60 < grid.tasks <= 100
    assert 0.5 < grid.left / grid.right < 2
    assert 1 + 0.15 * (grid.left + grid.right - 2) <= COPIES
    assert Slicing(100, 2, False, 1).chosen(low, low, keys, ones, sources).grids == {}
    assert (
        Slicing(100, 2, False, 1, shares=True).chosen(np.arange(count), np.arange(count), keys, ones, sources).grids
        == {}
    )


def test_one_side_alone_is_dealt_without_copies():
    low = np.full(1000, 7)
    _, grids, _ = Slicing(8, 1, False, 1, shares=True).chosen(low, low, low * 0, np.ones(1000), low * 0)
    assert grids == {0: {0: Grid(8, 1)}}


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1, 2, None, 3], pa.int32()),
        pa.array([1.5, -0.25, None, float("inf")]),
        pa.array(["a", "b", None, ""]),
        pa.array([b"a", b"b", None, b""]),
        pa.array([date(2020, 1, day) for day in (1, 2, 3, 4)]),
        pa.array([1, 2, 3, 4], pa.timestamp("us", "UTC")),
    ],
    ids=lambda values: str(values.type),
)
def test_rows_are_dealt_by_what_they_say_wherever_they_stand(values):
    rows = pa.table({"same": [7] * 4, "value": values})
    numbers = content(rows)
    assert len(set(numbers.tolist())) == 4
    order = pa.array([2, 0, 3, 1])
    assert content(rows.take(order)).tolist() == numbers[[2, 0, 3, 1]].tolist()


def test_values_that_are_not_read_count_for_nothing():
    rows = pa.table({"list": pa.array([[1], [2]]), "flag": [True, False], "none": pa.nulls(2)})
    assert len(set(content(rows).tolist())) == 1
