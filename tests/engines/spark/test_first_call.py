"""What makes a first call slow, by counts: calls to the JVM, tasks and shuffles, what tasks import too early."""

import io
import re
import subprocess
import sys
from contextlib import redirect_stdout

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from benchmarks.spark_counters import JvmCalls
from pyspark import cloudpickle

import timeloom as tl
from timeloom.operators.registry import verbs

ROWS = pa.table({"key": [1, 2] * 50, "price": range(100), "start": range(100), "end": range(5, 105)})

WITH_NULLS = ROWS.set_column(3, "end", pa.array([*range(5, 104), None])).append_column(
    "text", pa.array(["a", None, "b", "c"] * 25)
)
"""The same with an open end, and nulls in a column that is compared by value."""

PERIODS = {"sys_period": ("start", "end"), "app_period": ("start", "end")}


def windows(table, **options):
    """Ten steps of windows."""
    return tl.sliding_windows(table, tl.Slide(1, 2), tl.Slide(1, 2), steps=9, **PERIODS, **options)


CALLS = {
    "join": (lambda left, right: tl.join(left, right, columns=["price", "price_right"]), 110),
    "join on a key": (lambda left, right: tl.join(left, right, on="key", columns=["price", "price_right"]), 105),
    "left join": (lambda left, right: tl.join(left, right, how="left"), 105),
    "join in slices": (lambda left, right: tl.join(left, right, strategy="slices"), 370),
    "temporal_join": (lambda left, right: tl.temporal_join(left, right, on="key"), 105),
    "outer temporal_join": (lambda left, right: tl.temporal_join(left, right, on="key", how="left"), 150),
    "temporal_antijoin": (tl.temporal_antijoin, 140),
    "count_join": (tl.count_join, 110),
    "temporal_aggregate": (lambda left, right: tl.temporal_aggregate(left, {"n": "count"}, by="key"), 65),
    "coalesce": (lambda left, right: tl.coalesce(left, by="key"), 65),
    "gaps": (lambda left, right: tl.gaps(left), 65),
    "as_of": (lambda left, right: tl.as_of(left, right, at="start", on="key"), 115),
    "nearest": (lambda left, right: tl.nearest(left, right, 2), 115),
    "lanes": (lambda left, right: tl.lanes(left, by="key"), 85),
    "check": (lambda left, right: tl.check(left, by="key"), 70),
    "sessions": (lambda left, right: tl.coalesce(left, by="key", max_gap=3), 85),
    "depth": (lambda left, right: tl.depth(left, by="key"), 65),
    "top_k": (lambda left, right: tl.top_k(left, right, 3), 275),
    "temporal_union": (tl.temporal_union, 150),
    "temporal_intersect": (tl.temporal_intersect, 150),
    "temporal_except": (lambda left, right: tl.temporal_except(left, right, all=True), 150),
    "pattern": (
        lambda left, right: tl.pattern(
            {"a": left, "b": right, "c": right}, [("a", "meets", "b"), ("b", "meets", "c")], on="key"
        ),
        200,
    ),
    "sliding_windows of sums": (lambda left, right: windows(left, select={"n": ("price", "sum")}), 430),
    "sliding_windows": (lambda left, right: windows(left), 60),
    "split": (lambda left, right: tl.split(left, at=[7, 20]), 60),
    "split at many": (lambda left, right: tl.split(left, at=range(99)), 70),
    "stab": (lambda left, right: tl.stab(left, at=5), 25),
    "stab at many": (lambda left, right: tl.stab(left, at=range(99)), 60),
}
"""Calls, and how many round trips to the JVM their plans may take: about what they take, not what would be nice."""

BY_SPARK = ("stab", "split", "sliding_windows")
"""Calls that need no Python."""

SPREAD = ("join in slices", "sliding_windows of sums", "top_k", *BY_SPARK)

IN_ONE_TASK = [name for name in CALLS if name not in SPREAD]

WITH_TASKS = [name for name in CALLS if name not in BY_SPARK]

SAMPLING = """
import sys
import pyarrow as pa
from timeloom.engines.spark.exchange.packed_rows import SideLayout
from timeloom.engines.spark.exchange.prefilter import SmallSide
from timeloom.engines.spark.slicing.cuts import CutTask
from timeloom.engines.spark.slicing.join_parts import cover
from timeloom.engines.spark.slicing.slices import Slicing
from timeloom.engines.spark.slicing.tick_ranges import PartRange
from timeloom.model.names import relation
from timeloom.model.period import Period
from timeloom.model.policy import Policy
from timeloom.model.ticks import Axis

parts = cover(relation("intersects").boxes(Axis.INTEGER))
sample = {"source": [0, 1], "start": [1, 2], "end": [4, 5], "key": [0, 0], "rank": [1, 2]}
task = CutTask(Slicing(2, 2), (PartRange("left", parts), PartRange("right", parts)))
assert list(task(iter([pa.RecordBatch.from_pydict(sample)])))
small = SmallSide(SideLayout("right", Period("p0", "p1"), "p0", "p1", ()), parts, Policy())
assert list(small(iter([pa.RecordBatch.from_pydict({"p0": [1, 2], "p1": [3, 4]})])))
print(sorted({"numba", "llvmlite", "pyspark.sql.connect"} & set(sys.modules)))
"""

UNNEEDED = {"pandas", "sqlglot"}
"""What tasks of plain calls never need, and what takes a fresh worker as long to load as the compiler."""

AS_A_WORKER = f"""
import pickle, sys
from pathlib import Path
import pyarrow as pa
for file in sorted(Path(sys.argv[1]).glob("*.task")):
    rows = pa.ipc.open_stream(file.with_suffix(".arrow")).read_all()
    list(pickle.loads(file.read_bytes())(iter(rows.to_batches())))
    print(file.stem, sorted({UNNEEDED} & set(sys.modules)))
"""

WAITING = """
import sys
from timeloom.engines.spark.cluster.workers import Prompt

def rows():
    print("numba" in sys.modules)
    yield from ()

for kernels in (False, True):
    list(Prompt(lambda batches: batches, kernels)(rows()))
"""

AS_A_DRIVER = """
import sys
from pathlib import Path
from benchmarks.spark_session import session
from tests.engines.spark.test_first_call import CALLS, ROWS, stored
spark = session(sys.argv[1])
sides = stored(spark, Path(sys.argv[1]), ROWS)
for call, _ in CALLS.values():
    call(*sides)
print(sorted({"numba", "llvmlite"} & set(sys.modules)))
spark.stop()
"""


@pytest.fixture(scope="module")
def sides(spark, tmp_path_factory):
    """Two small tables whose size Spark knows."""
    return stored(spark, tmp_path_factory.mktemp("tables"), ROWS)


def stored(spark, folder, rows):
    """Two tables of these rows as files."""
    for name in ("left", "right"):
        pq.write_table(rows, folder / f"{name}.parquet")
    return tuple(spark.read.parquet(str(folder / f"{name}.parquet")) for name in ("left", "right"))


@pytest.mark.parametrize("name", CALLS)
def test_plans_take_few_calls_to_the_jvm(name, sides):
    call, most = CALLS[name]
    call(*sides)
    with JvmCalls() as calls:
        call(*sides)
    assert calls.count <= most


@pytest.mark.parametrize("name", IN_ONE_TASK)
def test_one_task_takes_small_tables_and_nothing_is_shuffled(name, sides):
    text = io.StringIO()
    with redirect_stdout(text):
        CALLS[name][0](*sides).explain()
    plan = text.getvalue()
    assert (plan.count("Exchange"), plan.count("MapInArrow")) == (0, 1), plan


def test_plans_and_so_the_ui_call_tasks_by_name(sides):
    text = io.StringIO()
    with redirect_stdout(text):
        CALLS["join"][0](*sides).explain()
        CALLS["join in slices"][0](*sides).explain()
    assert {"timeloom_RunTask", "timeloom_CutTask", "timeloom_BlockWriter"} <= set(
        re.findall(r"timeloom_\w+", text.getvalue())
    )


def test_tasks_that_choose_cuts_or_gather_a_small_side_do_without_the_compiler():
    done = subprocess.run([sys.executable, "-c", SAMPLING], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_plans_are_made_without_the_compiler(tmp_path):
    command = [sys.executable, "-c", AS_A_DRIVER, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_workers_load_the_compiler_before_their_first_rows_come():
    done = subprocess.run([sys.executable, "-c", WAITING], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


def test_tasks_load_what_they_need_only(spark, tmp_path, monkeypatch):
    sides, sent = stored(spark, tmp_path, WITH_NULLS), []

    def remembered(frame, task, schema):
        sent.append((frame, task))
        return asked(frame, task, schema)

    asked = type(sides[0]).mapInArrow
    monkeypatch.setattr(type(sides[0]), "mapInArrow", remembered)
    for name in WITH_TASKS:
        CALLS[name][0](*sides)
        frame, task = sent.pop()
        rows = frame.toArrow()
        with pa.ipc.new_stream(tmp_path / f"{name}.arrow", rows.schema) as stream:
            stream.write_table(rows)
        (tmp_path / f"{name}.task").write_bytes(cloudpickle.dumps(task))
    command = [sys.executable, "-c", AS_A_WORKER, str(tmp_path)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert sorted(told) == sorted(f"{name} []" for name in WITH_TASKS)


def test_every_verb_is_here():
    assert {name.split(" of ")[0] for name in CALLS} >= {*verbs(), "pattern"}


@pytest.mark.parametrize("name", BY_SPARK)
def test_what_spark_can_do_itself_takes_no_python(name, sides):
    text = io.StringIO()
    with redirect_stdout(text):
        CALLS[name][0](*sides).explain()
    assert "MapInArrow" not in text.getvalue()
