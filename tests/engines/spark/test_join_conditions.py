"""What joins ask beyond their relation holds on Spark, for every kind of join, strategy and axis."""

from datetime import UTC, date, datetime, timedelta
from itertools import product
from typing import Any

import pyarrow as pa
import pytest

import timeloom as tl
from engines.agreement import assert_all_same, assert_calls_same, on_spark, random_rows

HOWS = ("inner", "left", "right", "full", "semi", "anti")
STRATEGIES = ("broadcast", "slices", "keys")

ASKED: list[dict[str, Any]] = [
    {"where": "number < number_right"},
    {"where": "price is null or number_right = 1"},
    {"where": "number = number_right", "relation": "before | meets"},
    {"min_overlap": 2},
    {"min_overlap": ("left", 0.5)},
    {"min_overlap": ("right", 0.3)},
    {"min_overlap": ("shorter", 1)},
    {"min_overlap": 3, "where": "number <= number_right"},
    {"max_gap": 2},
    {"window": (10, 20)},
    {"window": (10, None), "where": "cost < 0", "min_overlap": ("left", 0.5)},
]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_pairs_are_judged_in_tasks(spark, strategy):
    tables = random_rows(1), random_rows(2, rows=50)
    frames = [on_spark(spark, rows) for rows in tables]
    cases = []
    for (at, how), (number, asked) in product(enumerate(HOWS), enumerate(ASKED)):
        if (at + number + STRATEGIES.index(strategy)) % 3:
            continue
        named = ["id"] if how in ("semi", "anti") else ["id", "id_right"]
        call = {"how": how, "columns": named, **asked} | ({"on": "key"} if strategy == "keys" else {})
        cases.append((call, tl.join(*frames, strategy=strategy, **call), tl.join(*tables, **call)))
    assert_all_same(cases)


def axes():
    """Ticks as values of each axis, and a span of so many ticks."""
    yield pa.int32(), lambda tick: tick, lambda ticks: ticks
    yield pa.date32(), lambda tick: date(2024, 3, 30) + timedelta(tick), timedelta
    night = datetime(2024, 3, 10, 6, 59, 59, 999_990)
    for kind, zone in ((pa.timestamp("us"), None), (pa.timestamp("us", "UTC"), UTC)):
        begin = night.replace(tzinfo=zone)
        yield kind, lambda tick, begin=begin: begin + timedelta(microseconds=tick), lambda n: timedelta(microseconds=n)


def test_lengths_and_conditions_on_every_axis(spark):
    rows = random_rows(3, rows=25)
    for kind, value, span in axes():
        ends = [None if end is None else value(end) for end in rows["end"].to_pylist()]
        table = rows.select(["key", "number", "id"])
        table = table.append_column("start", pa.array([value(tick) for tick in rows["start"].to_pylist()], kind))
        table = table.append_column("end", pa.array(ends, kind))
        wanted = {"on": "key", "overlap": "length", "columns": ["id", "id_right", "overlap_length"]}
        calls = [
            {**wanted, "how": "full", "where": "start <= start_right", "min_overlap": span(2)},
            {**wanted, "how": "left", "max_gap": span(1), "where": "number is not null"},
            {**wanted, "how": "inner"},
        ]
        assert_calls_same(spark, tl.join, (table, table), calls)


def test_sequenced_joins_judge_pairs_too(spark):
    tables = random_rows(4, rows=30), random_rows(5, rows=30)
    frames = [on_spark(spark, rows) for rows in tables]
    cases = []
    for how, keyed, algorithm in product((*HOWS[:5], "anti"), (False, True), ("auto", "dip")):
        call = {"where": "number < number_right", "algorithm": algorithm} | ({"on": "key"} if keyed else {})
        call["columns"] = ["start", "end", "id"] + ([] if how in ("semi", "anti") else ["id_right"])
        verb = tl.temporal_antijoin if how == "anti" else tl.temporal_join
        call |= {} if how == "anti" else {"how": how}
        cases.append((call, verb(*frames, **call), verb(*tables, **call)))
    assert_all_same(cases)


def test_what_cannot_be_computed_is_refused_before_anything_runs(spark):
    frame = on_spark(spark, random_rows(1, rows=3))
    with pytest.raises(tl.UsageError, match="reads 'nobody', which the result does not have"):
        tl.join(frame, frame, where="nobody = 1")
    for verb in (tl.join, tl.temporal_join, tl.temporal_antijoin):
        with pytest.raises(tl.InvalidInputError, match="cannot be computed"):
            verb(frame, frame, where="id < key_right" if verb is tl.join else "id_right < key")
    with pytest.raises(tl.UsageError, match="the relation also holds for rows that share none"):
        tl.join(frame, frame, "before", window=(1, 2))
    plan = tl.explain(tl.join, frame, frame, where="id < id_right")
    assert plan.facts["judged by"] == "id < id_right"


def test_joins_of_other_columns_in_one_plan_stay_apart(spark):
    """Spark takes plans that differ in names only for one: rows of the small side would reach the wrong task."""
    tables = random_rows(1, rows=20), random_rows(2, rows=20)
    frames = [on_spark(spark, rows) for rows in tables]
    calls = [["number", "id_right"], ["price", "id_right"], ["cost", "id_right"], ["id", "id_right"]]
    for strategy in ("broadcast", "slices"):
        first, *others = (tl.join(*frames, strategy=strategy, columns=names).toDF("a", "b") for names in calls)
        together = first.select("b")
        for other in others:
            together = together.unionAll(other.select("b"))
        expected = tl.join(*tables, columns=["id_right"])["id_right"].to_pylist()
        assert sorted(together.toArrow()["b"].to_pylist()) == sorted(expected * len(calls))
