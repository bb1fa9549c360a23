"""How rows are sent to tasks: to each slice that they touch, and to no other."""

from bisect import bisect_right
from collections import Counter
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timeloom as tl
from dealing import deal, deal_sides, with_cuts
from drawing import periods
from timeloom.engines.spark.exchange import writing
from timeloom.engines.spark.exchange.blocks import chunks, read_ipc, received
from timeloom.engines.spark.exchange.packed_rows import RIGHT, SideLayout, SideReader
from timeloom.engines.spark.exchange.readers import ShuffledBlocks
from timeloom.engines.spark.exchange.undecided import FirstCopies
from timeloom.engines.spark.exchange.writing import BlockWriter, MixedWriter
from timeloom.engines.spark.slicing.cuts import Cuts
from timeloom.engines.spark.slicing.join_parts import cover
from timeloom.engines.spark.slicing.slices import Slicing
from timeloom.engines.spark.slicing.tick_ranges import PartRange, tick_range
from timeloom.kernels.slicing.copies import END_HERE, FIRST, SOLE, START_HERE
from timeloom.model.period import Period
from timeloom.model.policy import Policy
from timeloom.model.ticks import FOREVER, MAX_TICK, MIN_TICK

TASKS = 3
SIDES = st.sampled_from(["left", "right"])
RELATIONS = ["intersects", "before", "meets", "during", "overlaps | met_by", "iseql.before"]
BOUNDS = st.lists(st.integers(1, 17), max_size=5, unique=True).map(sorted)
LAYOUTS = tuple(SideLayout(side, Period(), "p0", "p1", ()) for side in ("left", "right"))


def table_of(rows, keys=None):
    starts, ends = ([row[at] for row in rows] for at in (0, 1))
    columns = {"p0": pa.array(starts, pa.int64()), "p1": pa.array(ends, pa.int64())}
    return pa.table(columns | ({} if keys is None else {"key": pa.array(keys, pa.int64())}))


def dealt(side, rows, relation, bounds, policy=None):
    """What each task receives of one side."""
    none = table_of([])
    tables = (none, table_of(rows)) if side == "right" else (table_of(rows), none)
    return deal_sides(tables, LAYOUTS, cover(tl.relation(relation).boxes()), bounds, TASKS, policy)


def arrived(batches):
    """What arrives at each task: period, slice and bits of each row."""
    for task, batch in batches.items():
        for packed in ShuffledBlocks(pa.schema([])).read(iter([batch])):
            rows = zip(packed.table["p0"].to_pylist(), packed.table["p1"].to_pylist(), strict=True)
            for period, number, bits in zip(rows, packed.slices.tolist(), packed.bits.tolist(), strict=True):
                yield task, period, number, bits


@settings(max_examples=100)
@given(rows=periods().filter(len), bounds=BOUNDS, relation=st.sampled_from(RELATIONS), side=SIDES)
def test_rows_go_to_each_slice_that_they_touch(rows, bounds, relation, side):
    parts = cover(tl.relation(relation).boxes())
    starts, ends = (np.array([row[at] for row in rows], np.int64) for at in (0, 1))
    expected = Counter()
    for row, low, high in zip(rows, *tick_range(side, parts, starts, ends), strict=True):
        first, last = (bisect_right(bounds, tick) for tick in (low, high)) if low <= high else (0, 0)
        expected.update((row[:2], number) for number in range(first, last + 1))
    found = list(arrived(dealt(side, rows, relation, bounds)))
    cut = bool(bounds)
    assert Counter((period, number - cut) for _, period, number, _ in found) == expected
    visits = Counter(period for period, number in expected)
    indexed = {part.driver.by_end for part in parts if part.indexed_side == side}
    for task, period, number, bits in found:
        at = number - cut
        assert task == at % TASKS
        assert bool(bits & RIGHT) == (side == "right")
        assert bool(bits & SOLE) == (visits[period] == 1)
        if not bits & SOLE:
            for by_end, bit in ((False, START_HERE), (True, END_HERE)):
                assert by_end not in indexed or bool(bits & bit) == (bisect_right(bounds, period[by_end]) == at)
            assert bool(bits & FIRST) == (at == min(slot for other, slot in expected if other == period))
        else:
            assert bits & START_HERE
            assert bits & END_HERE


def test_only_buckets_with_boundaries_are_cut():
    rows, keys = [(1, 9), (1, 9), (4, 5)], [7, 8, 7]
    reader = SideReader(LAYOUTS[0], Policy(), PartRange("left", cover(tl.relation("intersects").boxes())))
    batches = deal([table_of(rows, keys)], [reader], {7 % TASKS: [5]}, Slicing(TASKS, 1, by_key=True), marked=True)
    expected = [(1, (1, 9), 1), (2, (1, 9), 2), (8 % 3, (1, 9), 0), (1, (4, 5), 1)]
    assert sorted(copy[:3] for copy in arrived(batches)) == sorted(expected)
    blocks = [block for batch in batches.values() for block in received([batch])]
    assert {(block.destination.slice, block.destination.since, block.destination.until) for block in blocks} == {
        (0, MIN_TICK, FOREVER),
        (1, MIN_TICK, 5),
        (2, 5, FOREVER),
    }


def test_invalid_rows_go_to_the_first_slice_to_be_judged_there():
    rows = [(None, 9), (7, 3), (7, 7), (7, 8)]
    found = arrived(dealt("left", rows, "intersects", [5]))
    assert {copy[1]: copy[2] for copy in found} == {(None, 9): 1, (7, 3): 1, (7, 7): 1, (7, 8): 2}
    found = arrived(dealt("left", rows, "intersects", [5], Policy(empty="point")))
    assert {copy[1]: copy[2] for copy in found} == {(None, 9): 1, (7, 3): 1, (7, 7): 2, (7, 8): 2}


def test_rows_that_are_dropped_are_not_sent(caplog):
    found = arrived(dealt("left", [(None, 9), (7, 3), (7, 8)], "intersects", [5], Policy(on_invalid="drop")))
    assert [copy[1] for copy in found] == [(7, 8)]
    assert "dropped 2 of 3 rows of the left table" in caplog.text


def test_of_rows_with_several_copies_the_first_can_be_had():
    batches = dealt("left", [(1, 9), (1, 2), (3, None)], "intersects", [5])
    first = FirstCopies(ShuffledBlocks(pa.schema([])), LAYOUTS[0], Policy(), ("p1",))
    found = [row for batch in batches.values() for part in first(iter([batch])) for row in part.to_pylist()]
    assert found == [{"start": 1, "end": 9, "p1": 9}, {"start": 3, "end": FOREVER, "p1": None}]


@pytest.mark.parametrize("rows_per_batch", [1, 2, 1000])
def test_boundaries_reach_all_rows_of_a_partition(rows_per_batch):
    """They come with copies of the first row, whatever batches and chunks these and the others are in."""
    starts = np.arange(100)
    table = with_cuts(pa.table({"p0": starts, "p1": starts + 1}), Cuts({0: np.array([50])}).written())
    reader = SideReader(LAYOUTS[0], Policy(), PartRange("left", cover(tl.relation("intersects").boxes())))
    writer = BlockWriter(0, reader, Slicing(2, 1), marked=True)
    blocks = [row for batch in writer(iter(table.to_batches(rows_per_batch))) for row in batch.to_pylist()]
    assert [(row["task"], row["slice"]) for row in blocks] == [(0, 1), (1, 2)]
    assert [read_ipc(pa.scalar(row["block"]))["p0"].to_pylist() for row in blocks] == [[*range(50)], [*range(50, 100)]]


def test_boundaries_may_come_in_several_chunks(monkeypatch):
    monkeypatch.setattr(writing, "chunks", partial(chunks, size=1))
    starts = np.arange(6)
    table = with_cuts(pa.table({"p0": starts, "p1": starts + 1}), Cuts({0: np.array([2, 4])}).written())
    reader = SideReader(LAYOUTS[0], Policy(), PartRange("left", cover(tl.relation("intersects").boxes())))
    found = BlockWriter(0, reader, Slicing(3, 1))(iter(table.to_batches(1)))
    rows = [(block["slice"][0].as_py(), read_ipc(block["block"][0])["p0"].to_pylist()) for block in found]
    assert rows == [(1, [0]), (1, [1]), (2, [2]), (2, [3]), (3, [4]), (3, [5])]


def test_rows_of_several_sources_may_come_together():
    """Each leaves with its own columns, as if it had come alone."""
    rows = [table_of([(1, 9), (4, 6)], [7, 8]), table_of([(2, 3)], [7])]
    parts = cover(tl.relation("intersects").boxes())
    writers = [
        BlockWriter(number, SideReader(layout, Policy(), PartRange(layout.name, parts)), Slicing(TASKS, 1, by_key=True))
        for number, layout in enumerate(LAYOUTS)
    ]
    columns = (("key", "p0", "p1", "p2"), ("key", "p0", "p1"))
    rows[0] = rows[0].append_column("p2", pa.array(["x", "y"]))
    cuts = Cuts({7 % TASKS: np.array([5])}).written()
    mixed = pa.concat_tables(
        [table.append_column("source", pa.array([number] * table.num_rows)) for number, table in enumerate(rows)],
        promote_options="default",
    )
    apart = [
        block
        for writer, table in zip(writers, rows, strict=True)
        for block in writer(with_cuts(table, cuts).to_batches())
    ]
    together = MixedWriter(tuple(writers), columns)(iter(with_cuts(mixed, cuts).to_batches()))
    assert [block.to_pylist() for block in together] == [block.to_pylist() for block in apart]


def test_batches_are_put_together_until_they_are_large():
    table = pa.table({"n": np.arange(100)})
    none = pa.RecordBatch.from_pydict({"n": np.arange(0)})
    sizes = [chunk.num_rows for chunk in chunks(iter([none, *table.to_batches(10), none]), 240)]
    assert sizes == [30, 30, 30, 10]


def test_tick_ranges_stop_at_the_ends_of_the_axis():
    starts, ends = np.array([MIN_TICK, 5, MAX_TICK - 1]), np.array([MIN_TICK + 1, FOREVER, FOREVER])
    low, high = tick_range("left", cover(tl.relation("before").boxes()), starts, ends)
    assert low.tolist() == [MIN_TICK + 2, MAX_TICK, MAX_TICK]
    assert high.tolist() == [MAX_TICK] * 3
    _, high = tick_range("left", cover(tl.relation("iseql.before", delta=2**62).boxes()), starts, ends)
    assert high.tolist() == [MIN_TICK + 1 + 2**62, MAX_TICK, MAX_TICK]
