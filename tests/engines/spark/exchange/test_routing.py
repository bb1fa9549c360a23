"""Where rows go: the same as by hand."""

from bisect import bisect_right
from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from timeloom.engines.spark.exchange.blocks import Destination
from timeloom.engines.spark.exchange.routing import RowTicks, routed
from timeloom.engines.spark.slicing.cuts import Cuts
from timeloom.engines.spark.slicing.slices import Slicing
from timeloom.model.ticks import FOREVER, MIN_TICK

ROWS = st.lists(st.tuples(st.integers(-3, 25), st.integers(-1, 9), st.integers(-9, 9)), min_size=1, max_size=30)
BOUNDS = st.lists(st.integers(0, 22), max_size=4).map(sorted)
CUTS = st.dictionaries(st.integers(-4, 4), BOUNDS, max_size=4)
FIRSTS = st.dictionaries(st.integers(-4, 4), st.integers(0, 9))


def by_hand(rows, cuts, firsts, slicing):
    """The destinations of each row."""
    for number, (low, length, key) in enumerate(rows):
        bucket = key if slicing.groups else key % slicing.slices
        bounds, home = cuts.get(bucket), bucket % slicing.tasks
        if bounds is None:
            yield number, Destination(home)
            continue
        first, last = (bisect_right(bounds, low), bisect_right(bounds, low + length)) if length >= 0 else (0, 0)
        home = firsts.get(bucket, bucket)
        edges = [MIN_TICK, *bounds, FOREVER]
        for at in range(first, last + 1):
            yield number, Destination((home + at) % slicing.tasks, at + 1, edges[at], edges[at + 1])


@settings(max_examples=150)
@given(ROWS, CUTS, FIRSTS, st.sampled_from([1, 3, 5]), st.booleans())
def test_rows_go_where_their_buckets_are_cut(rows, cuts, firsts, tasks, groups):
    slicing = Slicing(4, 1, True, partitions=tasks, groups=groups)
    low, length, keys = (np.array([row[at] for row in rows], np.int64) for at in range(3))
    ticks = RowTicks(low, low + length + 1, low, low + length)
    made = Cuts({bucket: np.array(bounds, np.int64) for bucket, bounds in cuts.items()}, firsts=firsts)
    found = routed(len(rows), keys, ticks, Cuts.read(made.written()), slicing)
    assert len(found.edges) == len(found.destinations) + 1
    copies = [
        (int(row), destination)
        for at, destination in enumerate(found.destinations)
        for row in found.rows[found.edges[at] : found.edges[at + 1]]
    ]
    assert Counter(copies) == Counter(by_hand(rows, cuts, firsts, slicing))


def test_without_keys_all_rows_are_in_one_bucket():
    ticks = RowTicks(*(np.array(column) for column in ([1, 6], [3, 9], [1, 6], [2, 8])))
    found = routed(2, None, ticks, Cuts({0: np.array([2])}), Slicing(2, 1))
    assert found.rows.tolist() == [0, 0, 1]
    assert found.edges == [0, 1, 3]
    whole = routed(2, None, None, Cuts({}), Slicing(1, 1))
    assert (whole.rows.tolist(), whole.destinations) == ([0, 1], [Destination(0)])
