"""Plans on Spark are told without a job, whatever verb and algorithm are asked for."""

from typing import Any

import pytest

import timeloom as tl
from timeloom.operators.registry import verbs

pytestmark = pytest.mark.spark


def calls(one: Any, other: Any, history: Any) -> "list[tuple[Any, ...]]":
    """Calls of each verb that has a plan: the verb, its arguments, and its options."""
    return [
        *(
            (tl.join, one, other, {"algorithm": name})
            for name in ("auto", "forward_scan", "sweep", "range_tree", "skip")
        ),
        (tl.join, one, other, {"on": "key", "how": "full", "where": "key > 1"}),
        *((tl.temporal_join, one, other, {"algorithm": name, "how": "full"}) for name in ("auto", "sweep", "dip")),
        (tl.temporal_join, [one, other, one], {"on": "key"}),
        *((tl.temporal_antijoin, one, other, {"algorithm": name}) for name in ("cover", "dip")),
        *((tl.temporal_aggregate, one, {"n": "count"}, {"algorithm": name}) for name in ("sweep", "dip")),
        (tl.temporal_aggregate, one, {"n": "count"}, {"every": 4}),
        (tl.depth, one, {"by": "key"}),
        (tl.coalesce, one, {}),
        (tl.gaps, one, {"by": "key"}),
        *((tl.count_join, one, other, {"relation": name}) for name in ("intersects", "overlaps")),
        (tl.top_k, one, other, 2, {}),
        (tl.nearest, one, other, 2, {"on": "key"}),
        (tl.as_of, one, other, {"at": "start", "on": "key"}),
        (tl.sliding_windows, history, tl.Slide(1, 2), tl.Slide(1, 2), {"steps": 3}),
        (tl.stab, one, 3, {}),
        (tl.split, one, {"every": 4}),
        *((verb, one, {"by": "key"}) for verb in (tl.lanes, tl.check)),
        *((verb, one, other, {}) for verb in (tl.temporal_union, tl.temporal_intersect, tl.temporal_except)),
        (tl.pattern, {"a": one, "b": other}, [("a", "before", "b")], {"on": "key"}),
    ]


def test_no_verb_runs_a_job_to_be_explained(spark):
    one, other = (spark.range(9).selectExpr("id % 3 AS key", "id AS start", f"id + {long} AS end") for long in (2, 5))
    names = [f"{name} AS {axis}_{name}" for axis in ("sys", "app") for name in ("start", "end")]
    asked, context = calls(one, other, one.selectExpr(*names)), spark.sparkContext
    planned = {name for name, verb in verbs().items() if verb.explains} | {"pattern"}
    assert planned == {call[0].__name__ for call in asked}
    context.setJobGroup("explaining", "plans that nobody runs")
    try:
        for verb, *args, options in asked:
            plan = tl.explain(verb, *args, **options)
            assert plan.engine == "spark", verb
            wanted = options.get("algorithm", "auto")
            assert wanted in ("auto", plan.facts.get("algorithm")), (verb, options, plan)
        assert list(context.statusTracker().getJobIdsForGroup("explaining")) == []
    finally:
        context.setJobGroup("", "")
