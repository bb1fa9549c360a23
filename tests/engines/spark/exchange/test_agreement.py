"""Tasks that have all rows agree where to cut, and each keeps what it would have been sent."""

import random
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timeloom as tl
from drawing import periods
from timeloom.engines.spark.exchange import agreement
from timeloom.engines.spark.exchange.agreement import Agreement, CommonWriter, agreed_cuts
from timeloom.engines.spark.exchange.blocks import received
from timeloom.engines.spark.exchange.packed_rows import SideLayout, SideReader
from timeloom.engines.spark.exchange.routing import RowTicks
from timeloom.engines.spark.exchange.writing import BITS, BlockWriter
from timeloom.engines.spark.slicing.join_parts import cover
from timeloom.engines.spark.slicing.slices import Slicing
from timeloom.engines.spark.slicing.tick_ranges import PartRange
from timeloom.model.period import Period
from timeloom.model.policy import Policy

SIDES = ("left", "right")
TASKS = st.integers(2, 4)


def reader(side, relation):
    layout = SideLayout(side, Period(), "p0", "p1", ())
    return SideReader(layout, Policy(), PartRange(side, cover(tl.relation(relation).boxes())))


def table_of(rows):
    starts, ends = ([row[at] for row in rows] for at in (0, 1))
    return pa.table({"p0": pa.array(starts, pa.int64()), "p1": pa.array(ends, pa.int64())})


def said(blocks):
    """What blocks say, in whatever order: source, task, slice and its edges, period and bits of each row."""
    found = Counter()
    for block in blocks:
        bits = block.rows[BITS].to_pylist() if BITS in block.rows.column_names else [None] * block.rows.num_rows
        rows = zip(block.rows["p0"].to_pylist(), block.rows["p1"].to_pylist(), bits, strict=True)
        found.update((block.source, block.destination, *row) for row in rows)
    return found


def kept(sides, relation, slicing, seed):
    """What the tasks keep of the rows of both sides, whose parts arrive in some order."""
    draw = random.Random(seed)
    sent = {task: [] for task in range(slicing.tasks)}
    for source, (side, rows) in enumerate(zip(SIDES, sides, strict=True)):
        shuffled = draw.sample(rows, len(rows))
        half = draw.randint(0, len(rows))
        for part in (shuffled[:half], shuffled[half:]):
            for row in CommonWriter(source, reader(side, relation), slicing.tasks)(table_of(part).to_batches()):
                sent[row["task"][0].as_py()].append(row)
    writers = tuple(BlockWriter(at, reader(side, relation), slicing, True, False) for at, side in enumerate(SIDES))
    for rows in sent.values():
        arriving = draw.sample(rows, len(rows))
        yield from received(Agreement(writers)(iter(arriving)))


@settings(max_examples=150)
@given(
    left=periods(),
    right=periods(),
    relation=st.sampled_from(["intersects", "before", "during", "overlaps | met_by", "iseql.before"]),
    tasks=TASKS,
    looked_at=st.sampled_from([1, 3, 1 << 13]),
    seed=st.integers(0, 2**32),
)
def test_tasks_keep_what_they_would_have_been_sent(left, right, relation, tasks, looked_at, seed):
    slicing = Slicing(tasks, tasks, agreed=True)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(agreement, "LOOKED_AT", looked_at)
        sources = [
            reader(side, relation).ticks(table_of(rows)) for side, rows in zip(SIDES, (left, right), strict=True)
        ]
        cuts = agreed_cuts(slicing, [(ticks, None) for ticks in sources if ticks.low.size])
        found = said(kept((left, right), relation, slicing, seed))
    expected = []
    for source, (side, rows) in enumerate(zip(SIDES, (left, right), strict=True)):
        expected += received(BlockWriter(source, reader(side, relation), slicing, True).written(table_of(rows), cuts))
    assert found == said(expected)


@given(
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12), st.integers(-2, 2)), min_size=1, max_size=40),
    TASKS,
    st.sampled_from([1, 4, 1 << 13]),
    st.booleans(),
    st.integers(0, 2**32),
)
def test_the_order_of_rows_changes_no_cut(rows, tasks, looked_at, by_key, seed):
    def cuts_of(some):
        start, length, keys = (np.array(column, np.int64) for column in zip(*some, strict=True))
        ticks = RowTicks(start, start + length, start, start + length)
        return agreed_cuts(
            Slicing(tasks, 1, by_key=by_key, rows_per_slice=1, agreed=True, least_seen=1), [(ticks, keys)]
        )

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(agreement, "LOOKED_AT", looked_at)
        shuffled = random.Random(seed).sample(rows, len(rows))
        assert cuts_of(rows).written() == cuts_of(shuffled).written()


def test_many_rows_are_cut_evenly_by_few_of_them():
    draw = np.random.default_rng(5)
    starts = np.concatenate([draw.integers(0, 1000, 50_000), draw.integers(0, 10**6, 50_000)])
    ends = starts + draw.integers(1, 10, starts.size)
    ticks = RowTicks(starts, ends, starts, ends - 1)
    (bounds,) = agreed_cuts(Slicing(4, 4, agreed=True), [(ticks, None)]).bounds.values()
    (alike,) = agreed_cuts(
        Slicing(4, 4, agreed=True), [(ticks.take(np.zeros(90_000, np.int32)), None)]
    ).bounds.values() or [()]
    assert bounds.size == 3
    assert len(alike) == 0
    present = np.searchsorted(np.sort(starts), bounds)
    assert (np.diff([0, *present, starts.size]) > 5_000).all()
