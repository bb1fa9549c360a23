"""How rows are sent to tasks: to each slice that they touch, and past a small side only if they may match."""

from bisect import bisect_right
from collections import Counter
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import timeloom as tl
from dealing import copies, deal
from drawing import periods
from timeloom.engines.spark.exchange import writing as sending
from timeloom.engines.spark.exchange.blocks import END_HOME, FIRST, RIGHT, SOLE, START_HOME, SideLayout
from timeloom.engines.spark.exchange.dispatch import unsealed
from timeloom.engines.spark.exchange.prefilter import Sieve, SmallSide
from timeloom.engines.spark.exchange.readers import ShuffledParcels
from timeloom.engines.spark.exchange.writing import Sealing
from timeloom.engines.spark.matching.tasks import FirstCopies
from timeloom.engines.spark.slicing.join_parts import cover
from timeloom.engines.spark.slicing.tick_ranges import reach
from timeloom.model.period import Period
from timeloom.model.policy import Policy
from timeloom.model.ticks import FOREVER, MAX_TICK, MIN_TICK

PARTITIONS = 3
SIDES = st.sampled_from(["left", "right"])
RELATIONS = ["intersects", "before", "meets", "during", "overlaps | met_by", "iseql.before"]
PRESENT = st.tuples(st.integers(-9, 99), st.integers(0, 9), st.integers(0, 30))
BOUNDS = st.lists(st.integers(1, 17), max_size=5, unique=True).map(sorted)
CELLS = st.sampled_from([1, 2, 2048]).map(lambda rows: patch.object(sending, "PARCEL_ROWS", rows))


def sealing(side, relation, *, homes=1, policy=None):
    layout = SideLayout(side, Period(), "p0", "p1", ())
    return Sealing(layout, cover(tl.relation(relation).boxes()), policy or Policy(), homes, PARTITIONS)


def batch(rows, keys=None):
    starts, ends = ([row[at] for row in rows] for at in (0, 1))
    columns = {"p0": pa.array(starts, pa.int64()), "p1": pa.array(ends, pa.int64())}
    columns |= {} if keys is None else {"key": pa.array(keys, pa.int64())}
    return pa.RecordBatch.from_pydict(columns)


def dealt(task, given, bounds, hot=None):
    """What each task receives of one side, and how it reads it."""
    sealed = list(task(iter([given])))
    sides = ([], sealed) if task.layout.name == "right" else (sealed, [])
    reader = ShuffledParcels(pa.schema([]), (task.layout, task.layout), task.pieces, task.policy)
    return deal(sides, bounds, PARTITIONS, hot), reader


def received(task, given, bounds, hot=None):
    """What arrives at each place: period, slice and bits of each row."""
    batches, reader = dealt(task, given, bounds, hot)
    for place, found in batches.items():
        for packed in reader.read(iter([found])):
            rows = zip(packed.table["p0"].to_pylist(), packed.table["p1"].to_pylist(), strict=True)
            for period, number, bits in zip(rows, packed.slices.tolist(), packed.bits.tolist(), strict=True):
                yield place, period, number, bits


@settings(max_examples=100)
@given(rows=periods().filter(len), bounds=BOUNDS, relation=st.sampled_from(RELATIONS), side=SIDES, cells=CELLS)
def test_rows_go_to_each_slice_that_they_touch(rows, bounds, relation, side, cells):
    task = sealing(side, relation)
    starts, ends = (np.array([row[at] for row in rows], np.int64) for at in (0, 1))
    expected = Counter()
    for row, low, high in zip(rows, *reach(side, task.pieces, starts, ends), strict=True):
        first, last = (bisect_right(bounds, tick) for tick in (low, high)) if low <= high else (0, 0)
        expected.update((row[:2], number) for number in range(first, last + 1))
    with cells:
        found = list(received(task, batch(rows), bounds))
    assert Counter((period, number) for _, period, number, _ in found) == expected
    visits = Counter(period for period, number in expected)
    driven = {piece.driver.by_end for piece in task.pieces if piece.driven == side}
    for place, period, number, bits in found:
        assert place == number % PARTITIONS
        assert bool(bits & RIGHT) == (side == "right")
        assert bool(bits & SOLE) == (visits[period] == 1)
        if not bits & SOLE:
            for by_end, bit in ((False, START_HOME), (True, END_HOME)):
                assert by_end not in driven or bool(bits & bit) == (bisect_right(bounds, period[by_end]) == number)
            assert bool(bits & FIRST) == (number == min(slot for other, slot in expected if other == period))
        else:
            assert bits & START_HOME
            assert bits & END_HOME


def test_only_hot_homes_are_cut():
    rows, keys = [(1, 9), (1, 9), (4, 5)], [7, 8, 7]
    found = received(sealing("left", "intersects", homes=3), batch(rows, keys), [5], [7 % 3])
    expected = [((7 + 0) % 3, (1, 9), 0), ((7 + 1) % 3, (1, 9), 1), (8 % 3, (1, 9), 0), (7 % 3, (4, 5), 0)]
    assert sorted(copy[:3] for copy in found) == sorted(expected)


def test_invalid_rows_go_to_the_first_slice_to_be_judged_there():
    rows = [(None, 9), (7, 3), (7, 7), (7, 8)]
    found = received(sealing("left", "intersects"), batch(rows), [5])
    assert {copy[1]: copy[2] for copy in found} == {(None, 9): 0, (7, 3): 0, (7, 7): 0, (7, 8): 1}
    found = received(sealing("left", "intersects", policy=Policy(empty="point")), batch(rows), [5])
    assert {copy[1]: copy[2] for copy in found} == {(None, 9): 0, (7, 3): 0, (7, 7): 1, (7, 8): 1}


def test_of_rows_with_several_copies_the_first_can_be_had():
    task = sealing("left", "intersects")
    batches, reader = dealt(task, batch([(1, 9), (1, 2), (3, None)]), [5])
    first = FirstCopies(reader, task.layout, Policy(), ("p1",))
    found = [row for received in batches.values() for part in first(iter([received])) for row in part.to_pylist()]
    assert found == [{"start": 1, "end": 9, "p1": 9}, {"start": 3, "end": FOREVER, "p1": None}]


def test_parcels_are_hardly_longer_than_their_rows():
    rng = np.random.default_rng(1)
    starts, lengths = (
        rng.integers(0, 10**6, 10**5),
        rng.choice([10, 1000, 10**5, 10**6], 10**5, p=[0.9, 0.09, 0.009, 0.001]),
    )
    task = replace(sealing("left", "intersects"), slices=16)
    given = pa.RecordBatch.from_pydict({"p0": starts, "p1": starts + lengths})
    parcels = [row for sealed in task(iter([given])) for row in sealed.to_pylist()]
    assert len(parcels) <= 2 * 128
    bounds = np.quantile(starts, np.arange(1, 16) / 16).astype(np.int64)
    needed = (
        np.searchsorted(bounds, starts + lengths - 1, "right") - np.searchsorted(bounds, starts, "right") + 1
    ).sum()
    sent = sum(
        unsealed(pa.scalar(parcel["parcel"], pa.binary())).num_rows
        * len(list(copies(parcel | {"is_right": False}, bounds.tolist(), 16)))
        for parcel in parcels
    )
    assert needed <= sent <= 1.5 * needed


def test_homes_with_few_rows_get_few_parcels():
    keys = np.concatenate([np.zeros(50_000, np.int64), np.arange(1, 65)])
    given = pa.RecordBatch.from_pydict({"p0": np.arange(keys.size), "p1": np.arange(keys.size) + 5, "key": keys})
    parcels = [
        row
        for sealed in replace(sealing("left", "intersects"), homes=65, slices=65)(iter([given]))
        for row in sealed.to_pylist()
    ]
    count = Counter(parcel["home"] for parcel in parcels)
    assert 8 <= count.pop(0) <= 64
    assert set(count.values()) == {1}


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


def test_a_small_side_that_is_nearly_everywhere_has_no_sieve():
    layout = SideLayout("right", Period(), "p0", "p1", ())
    task = SmallSide(layout, cover(tl.relation("intersects").boxes()), Policy())
    rows = np.arange(100)
    for length, sieved in ((1, True), (90, False)):
        given = pa.RecordBatch.from_pydict({"p0": rows * 100, "p1": rows * 100 + length})
        (row,) = (row for made in task(iter([given])) for row in made.to_pylist())
        assert (len(row["before"]) > 0) == sieved
        assert unsealed(pa.scalar(row["stream"][0], pa.binary())).num_rows == 100


def test_a_sieve_spans_the_whole_axis():
    starts = np.array([MIN_TICK, 0, MAX_TICK - 1])
    sieve = Sieve.of(starts, starts, np.full(3, MAX_TICK))
    assert sieve.before[-1] == sieve.before.size - 1
