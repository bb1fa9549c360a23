"""Spark's plans, and so its UI, call our tasks by names of ours, whatever the verb."""

import io
from contextlib import redirect_stdout
from functools import partial

import pyarrow as pa
import pytest

import timeloom as tl
from timeloom.engines.spark.cluster.workers import InTurn, plan_name
from timeloom.operators.registry import verbs

ROWS = pa.table({"key": [1, 2], "start": [1, 2], "end": [4, 5]})
PERIODS = {"sys_period": ("start", "end"), "app_period": ("start", "end")}

CALLS = {
    "join": (lambda a, b: tl.join(a, b, strategy="slices", columns=["key"]), "RunTask"),
    "outer join": (lambda a, b: tl.join(a, b, how="full", strategy="slices"), "JoinTask"),
    "count_join": (lambda a, b: tl.count_join(a, b, strategy="slices"), "CountTask"),
    "temporal_join": (lambda a, b: tl.temporal_join(a, b, how="full"), "Chain"),
    "temporal_antijoin": (tl.temporal_antijoin, "Chain"),
    "temporal_aggregate": (lambda a, b: tl.temporal_aggregate(a, {"n": "count"}), ""),
    "coalesce": (lambda a, b: tl.coalesce(a), "EdgeTask"),
    "sessions": (lambda a, b: tl.coalesce(a, max_gap=1), "Sessions"),
    "gaps": (lambda a, b: tl.gaps(a), "EdgeTask"),
    "stab": (lambda a, b: tl.stab(a, at=range(99)), "StabTask"),
    "as_of": (lambda a, b: tl.as_of(a, b, at="start"), "NeighbourTask"),
    "nearest": (tl.nearest, "NeighbourTask"),
    "split": (lambda a, b: tl.split(a, every=2, on_invalid="drop"), "split"),
    "lanes": (lambda a, b: tl.lanes(a), "lanes"),
    "check": (lambda a, b: tl.check(a), "faults_of"),
    "depth": (lambda a, b: tl.depth(a), ""),
    "top_k": (lambda a, b: tl.top_k(a, b, 2, strategy="slices"), "CountTask"),
    "temporal_union": (tl.temporal_union, "Combining"),
    "temporal_intersect": (tl.temporal_intersect, "Combining"),
    "temporal_except": (tl.temporal_except, "Combining"),
    "pattern": (lambda a, b: tl.pattern({"a": a, "b": b}, [("a", "meets", "b")]), "PatternTask"),
    "sliding_windows": (
        lambda a, b: tl.sliding_windows(
            a, tl.Slide(1, 2), tl.Slide(1, 2), steps=2, select={"n": ("key", "sum")}, **PERIODS
        ),
        "partials",
    ),
}


FORMS = {"outer join", "sessions"}
"""Calls of verbs under names of their own."""


def test_every_verb_is_here():
    assert set(CALLS) - FORMS == {*verbs(), "pattern"}


@pytest.mark.spark
@pytest.mark.parametrize("name", CALLS)
def test_a_plan_names_our_tasks(name, spark):
    call, task = CALLS[name]
    text = io.StringIO()
    with redirect_stdout(text):
        call(spark.createDataFrame(ROWS), spark.createDataFrame(ROWS)).explain()
    assert f"timeloom_{task}" in text.getvalue()


def test_what_is_put_around_a_task_has_its_name():
    def _counted(rows):
        return rows

    assert plan_name(InTurn(print, partial(_counted, 1))) == "timeloom_counted"
