"""Results of a task leave it in pages: what it holds at once does not grow with the number of pairs."""

import tracemalloc

import numpy as np
import pyarrow as pa
import pytest

import timeloom as tl
from dealing import deal_sides
from timeloom.engines.spark.exchange.packed_rows import SideLayout
from timeloom.engines.spark.exchange.readers import ShuffledBlocks
from timeloom.engines.spark.matching import tasks
from timeloom.engines.spark.matching.pair_columns import PairColumns
from timeloom.engines.spark.matching.runs import RunTask
from timeloom.engines.spark.matching.tasks import JoinTask, Matcher, batch_rows
from timeloom.engines.spark.slicing.join_parts import cover
from timeloom.model.naming import OutputColumn
from timeloom.model.period import Period
from timeloom.model.policy import Policy
from timeloom.model.ticks import Axis

SCHEMA = pa.schema([("p0", pa.int64()), ("p1", pa.int64()), ("p2", pa.int64())])
LAYOUTS = tuple(SideLayout(side, Period(), "p0", "p1", ()) for side in ("left", "right"))
KEYED = tuple(SideLayout(side, Period(), "p0", "p1", ("p2",)) for side in ("left", "right"))
ROWS = 2000
"""Of each side; all of them match each other."""

HELD = 20 << 20
"""So many bytes a task may hold: pages of a few million, and sorted columns of the rows. All pairs would be 64 MB."""


def task_of(algorithm, layouts, relation="intersects"):
    """A matcher, and the blocks of rows that all share their time."""
    at = np.arange(ROWS)
    table = pa.table([pa.array(at), pa.array(at + 2 * ROWS), pa.array(np.zeros(ROWS, np.int64))], SCHEMA.names)
    table = table.append_column("key", pa.array(np.zeros(ROWS, np.int64)))
    parts = cover(tl.relation(relation).boxes())
    batches = list(deal_sides([table, table], layouts, parts, [], 1).values())
    return Matcher(ShuffledBlocks(SCHEMA), *layouts, parts, Policy(), algorithm), batches


def pages_of(task, batches):
    """How many rows each page of a task has, and the most bytes that NumPy and Python held meanwhile."""
    next(task(iter(batches)))  # what is loaded and compiled then stays, and does not count
    tracemalloc.start()
    sizes = [page.num_rows for page in task(iter(batches))]
    held = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return sizes, held


@pytest.mark.parametrize("how", ["inner", "full"])
@pytest.mark.parametrize("layouts", [LAYOUTS, KEYED], ids=["no keys", "keys"])
@pytest.mark.parametrize("algorithm", ["forward_scan", "sweep", "range_tree", "skip"])
def test_pairs_leave_a_task_in_pages_whatever_the_algorithm(algorithm, layouts, how):
    columns = (OutputColumn("r", "left", "r"), OutputColumn("s", "right", "", "s"))
    matcher, batches = task_of(algorithm, layouts)
    join = JoinTask(matcher, how, columns, PairColumns(({"r": 0}, {"s": 0}), None, Axis.INTEGER))
    most = batch_rows(next(matcher.held(iter(batches))))
    sizes, held = pages_of(join, batches)
    assert sum(sizes) == ROWS * ROWS
    assert max(sizes) <= most < ROWS * ROWS / 10
    assert held < HELD


def test_runs_leave_a_task_in_pages():
    matcher, batches = task_of("auto", LAYOUTS)
    runs = RunTask(matcher, (("left", 0), ("right", 0)))
    pairs = [int(np.asarray(page.column("counts").flatten()).sum()) for page in runs(iter(batches))]
    assert sum(pairs) == ROWS * ROWS
    assert max(pairs) < 16 * 2**15
    assert pages_of(runs, batches)[1] < HELD


@pytest.mark.parametrize("how", ["inner", "full"])
@pytest.mark.parametrize("layouts", [LAYOUTS, KEYED], ids=["no keys", "keys"])
def test_pairs_leave_a_task_that_calls_no_kernel_in_pages(layouts, how, monkeypatch):
    monkeypatch.setattr(tasks, "compiler_loaded", lambda: False)
    columns = (OutputColumn("r", "left", "r"), OutputColumn("s", "right", "", "s"))
    matcher, batches = task_of("auto", layouts)
    join = JoinTask(matcher, how, columns, PairColumns(({"r": 0}, {"s": 0}), None, Axis.INTEGER))
    most = batch_rows(next(matcher.held(iter(batches))))
    sizes, held = pages_of(join, batches)
    assert sum(sizes) == ROWS * ROWS
    assert max(sizes) <= most < ROWS * ROWS / 10
    assert held < HELD
