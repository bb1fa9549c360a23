"""How rows are sent to tasks: to each slice that they touch, and past a small side only if they may match."""

from bisect import bisect_right
from collections import Counter

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import timeloom as tl
from drawing import periods
from timeloom.engines.spark.cuts import packed
from timeloom.engines.spark.parcels import END_HOME, FIRST, RIGHT, SOLE, START_HOME, SideLayout
from timeloom.engines.spark.pieces import cover
from timeloom.engines.spark.reach import reach
from timeloom.engines.spark.readers import ShuffledParcels
from timeloom.engines.spark.sending import Sealing, Sender
from timeloom.engines.spark.sequenced_dispatch import unsealed
from timeloom.engines.spark.sieve import Sieve
from timeloom.engines.spark.tasks import FirstCopies
from timeloom.model.period import Period
from timeloom.model.policy import Policy
from timeloom.model.ticks import FOREVER, MAX_TICK, MIN_TICK

PARTITIONS = 3
SIDES = st.sampled_from(["left", "right"])
RELATIONS = ["intersects", "before", "meets", "during", "overlaps | met_by", "iseql.before"]
PRESENT = st.tuples(st.integers(-9, 99), st.integers(0, 9), st.integers(0, 30))
BOUNDS = st.lists(st.integers(1, 17), max_size=5, unique=True).map(sorted)


def sender(side, relation, *, by_key=False, policy=None):
    layout = SideLayout(side, Period(), "p0", "p1", ())
    return Sender(layout, cover(tl.relation(relation).boxes()), policy or Policy(), PARTITIONS, by_key)


def batch(rows, bounds, hot=(), keys=None):
    starts, ends = ([row[at] for row in rows] for at in (0, 1))
    cuts = [packed([np.array(part, np.int64) for part in (bounds, hot)])] + [None] * (len(rows) - 1)
    columns = {"p0": pa.array(starts, pa.int64()), "p1": pa.array(ends, pa.int64())}
    columns |= {} if keys is None else {"key": pa.array(keys, pa.int64())}
    return pa.RecordBatch.from_pydict(columns | {"cuts": cuts})


def received(batches):
    """What arrives at each place: period, slice and bits of each row."""
    for found in batches:
        for row in found.to_pylist():
            table = unsealed(pa.scalar(row["parcel"], pa.binary()))
            for copy in table.to_pylist():
                yield row["place"], (copy["p0"], copy["p1"]), copy["slice"], copy["bits"]


@settings(max_examples=100)
@given(
    rows=periods().filter(len),
    bounds=BOUNDS,
    relation=st.sampled_from(RELATIONS),
    side=SIDES,
)
def test_rows_go_to_each_slice_that_they_touch(rows, bounds, relation, side):
    task = sender(side, relation)
    starts, ends = (np.array([row[at] for row in rows], np.int64) for at in (0, 1))
    expected = Counter()
    for row, low, high in zip(rows, *reach(side, task.pieces, starts, ends), strict=True):
        first, last = (bisect_right(bounds, tick) for tick in (low, high)) if low <= high else (0, 0)
        expected.update((row[:2], number) for number in range(first, last + 1))
    found = list(received(Sealing(task)(iter([batch(rows, bounds)]))))
    assert Counter((period, number) for _, period, number, _ in found) == expected
    visits = Counter(period for period, number in expected)
    for place, period, number, bits in found:
        assert place == number % PARTITIONS
        assert bool(bits & RIGHT) == (side == "right")
        assert bool(bits & SOLE) == (visits[period] == 1)
        if not bits & SOLE:
            assert bool(bits & START_HOME) == (bisect_right(bounds, period[0]) == number)
            assert bool(bits & END_HOME) == (bisect_right(bounds, period[1]) == number)
            assert bool(bits & FIRST) == (number == min(slot for other, slot in expected if other == period))
        else:
            assert bits & START_HOME
            assert bits & END_HOME


def test_only_hot_keys_are_cut():
    rows, keys = [(1, 9), (1, 9), (4, 5)], [7, 8, 7]
    found = received(Sealing(sender("left", "intersects", by_key=True))(iter([batch(rows, [5], [7], keys)])))
    expected = [((7 + 0) % 3, (1, 9), 0), ((7 + 1) % 3, (1, 9), 1), (8 % 3, (1, 9), 0), (7 % 3, (4, 5), 0)]
    assert sorted(copy[:3] for copy in found) == sorted(expected)


def test_invalid_rows_go_to_the_first_slice_to_be_judged_there():
    rows = [(None, 9), (7, 3), (7, 7), (7, 8)]
    found = received(Sealing(sender("left", "intersects"))(iter([batch(rows, [5])])))
    assert {copy[1]: copy[2] for copy in found} == {(None, 9): 0, (7, 3): 0, (7, 7): 0, (7, 8): 1}
    points = sender("left", "intersects", policy=Policy(empty="point"))
    found = received(Sealing(points)(iter([batch(rows, [5])])))
    assert {copy[1]: copy[2] for copy in found} == {(None, 9): 0, (7, 3): 0, (7, 7): 1, (7, 8): 1}


def test_of_rows_with_several_copies_the_first_can_be_had():
    rows = [(1, 9), (1, 2), (3, None)]
    task = sender("left", "intersects")
    sealed = list(Sealing(task)(iter([batch(rows, [5])])))
    first = FirstCopies(ShuffledParcels(pa.schema([])), task.layout, Policy(), ("p1",))
    found = [row for parcel in sealed for part in first(iter([parcel])) for row in part.to_pylist()]
    assert found == [{"start": 1, "end": 9, "p1": 9}, {"start": 3, "end": FOREVER, "p1": None}]


def test_reach_stops_at_the_ends_of_the_axis():
    starts, ends = np.array([MIN_TICK, 5, MAX_TICK - 1]), np.array([MIN_TICK + 1, FOREVER, FOREVER])
    low, high = reach("left", cover(tl.relation("before").boxes()), starts, ends)
    assert low.tolist() == [MIN_TICK + 2, MAX_TICK, MAX_TICK]
    assert high.tolist() == [MAX_TICK] * 3
    _, high = reach("left", cover(tl.relation("iseql.before", delta=2**62).boxes()), starts, ends)
    assert high.tolist() == [MIN_TICK + 1 + 2**62, MAX_TICK, MAX_TICK]


@settings(max_examples=100)
@given(
    st.lists(st.tuples(st.integers(-9, 99), st.integers(0, 9), st.integers(0, 30)), min_size=1, max_size=6), st.data()
)
def test_a_sieve_keeps_whatever_may_match(rows, data):
    starts = np.array([start for start, _, _ in rows], np.int64)
    low, high = starts - np.array([back for _, back, _ in rows]), starts + np.array([ahead for *_, ahead in rows])
    sieve = Sieve.of(starts, low, high)
    first = data.draw(st.integers(-200, 200))
    last = first + data.draw(st.integers(0, 20))
    cells = [(int(np.clip(tick, sieve.base, sieve.top)) - sieve.base) >> sieve.shift for tick in (first, last)]
    passes = sieve.before[cells[1] + 1] > sieve.before[cells[0]]
    assert passes or not ((low <= last) & (high >= first)).any()


def test_a_sieve_of_many_cells_is_fine():
    starts = np.arange(0, 10**6, 1000)
    sieve = Sieve.of(starts, starts, starts + 10)
    assert sieve.before.size > 10_000
    assert sieve.before[-1] < 0.06 * sieve.before.size


def test_a_sieve_spans_the_whole_axis():
    starts = np.array([MIN_TICK, 0, MAX_TICK - 1])
    sieve = Sieve.of(starts, starts, np.full(3, MAX_TICK))
    assert sieve.before[-1] == sieve.before.size - 1
