"""What a broadcast side lets pass: rows of the other side that may match, and no more than it must."""

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import timeloom as tl
from timeloom.engines.spark.exchange.blocks import read_ipc
from timeloom.engines.spark.exchange.packed_rows import SideLayout
from timeloom.engines.spark.exchange.prefilter import Prefilter, SmallSide
from timeloom.engines.spark.slicing.join_parts import cover
from timeloom.model.period import Period
from timeloom.model.policy import Policy
from timeloom.model.ticks import MAX_TICK, MIN_TICK


@settings(max_examples=100)
@given(
    st.lists(st.tuples(st.integers(-9, 99), st.integers(0, 9), st.integers(0, 30)), min_size=1, max_size=6), st.data()
)
def test_a_prefilter_keeps_whatever_may_match(rows, data):
    starts = np.array([start for start, _, _ in rows], np.int64)
    low, high = starts - np.array([back for _, back, _ in rows]), starts + np.array([ahead for *_, ahead in rows])
    prefilter = Prefilter.of(starts, low, high)
    first = data.draw(st.integers(-200, 200))
    last = first + data.draw(st.integers(0, 20))
    cells = [
        (int(np.clip(tick, prefilter.base, prefilter.top)) - prefilter.base) >> prefilter.shift
        for tick in (first, last)
    ]
    passes = prefilter.before[cells[1] + 1] > prefilter.before[cells[0]]
    assert passes or not ((low <= last) & (high >= first)).any()


def test_a_prefilter_of_many_cells_is_fine():
    starts = np.arange(0, 10**6, 1000)
    prefilter = Prefilter.of(starts, starts, starts + 10)
    assert prefilter.before.size > 10_000
    assert prefilter.before[-1] < 0.06 * prefilter.before.size


def test_a_small_side_that_is_nearly_everywhere_has_no_prefilter():
    layout = SideLayout("right", Period(), "p0", "p1", ())
    task = SmallSide(layout, cover(tl.relation("intersects").boxes()), Policy())
    rows = np.arange(100)
    for length, prefiltered in ((1, True), (90, False)):
        given = pa.RecordBatch.from_pydict({"p0": rows * 100, "p1": rows * 100 + length})
        (row,) = (row for made in task(iter([given])) for row in made.to_pylist())
        assert (len(row["before"]) > 0) == prefiltered
        assert read_ipc(pa.scalar(row["stream"][0], pa.binary())).num_rows == 100


def test_a_prefilter_spans_the_whole_axis():
    starts = np.array([MIN_TICK, 0, MAX_TICK - 1])
    prefilter = Prefilter.of(starts, starts, np.full(3, MAX_TICK))
    assert prefilter.before[-1] == prefilter.before.size - 1
