"""The join on Spark returns the rows of the join on local tables, for every kind of call."""

from datetime import UTC, date, datetime, timedelta

import pyarrow as pa
import pytest

import timeloom as tl
from engines.agreement import assert_calls_same, on_spark, random_rows

pytestmark = pytest.mark.spark

RELATIONS = [
    *("before", "meets", "overlaps", "starts", "during", "finishes", "equals"),
    *("after", "met_by", "overlapped_by", "started_by", "contains", "finished_by"),
    *("intersects", "meets | met_by", "before | after | during", "starts | finishes | equals", "overlaps | meets"),
    tl.iseql.start_preceding(delta=3),
    tl.iseql.end_following(epsilon=2),
    tl.iseql.before(delta=4),
    tl.iseql.left_overlap(delta=3, epsilon=3),
    tl.iseql.during(delta=5, epsilon=2),
    ~tl.iseql.during(delta=5, epsilon=2),
    tl.iseql.start_preceding,
    tl.Relation(start_start=(-2, 2), end_end=(-1, 3)),
    tl.Relation(start_end=(-3, 3)) | tl.allen.during,
    tl.Relation(end_start=(2**62, None)),
    tl.Relation(start_start=(1, 0)),
]


HOWS = ["inner", "left", "right", "full", "semi", "anti"]


@pytest.mark.parametrize("part", range(4))
def test_every_relation(spark, part):
    calls = [
        {"relation": relation, "strategy": "slices", "columns": ["id", "id_right"]} for relation in RELATIONS[part::4]
    ]
    assert_calls_same(spark, tl.join, (random_rows(1), random_rows(2, rows=45)), calls)


def test_relations_within_keys(spark):
    calls = [
        {"relation": relation, "strategy": "keys", "on": "key", "columns": ["id", "id_right"]}
        for relation in RELATIONS[2::5]
    ]
    assert_calls_same(spark, tl.join, (random_rows(1), random_rows(2, rows=45)), calls)


@pytest.mark.parametrize("strategy", ["slices", "keys", "broadcast"])
def test_every_kind_of_join(spark, strategy):
    calls = [{"relation": "overlaps | during", "how": how, "on": "key", "strategy": strategy} for how in HOWS]
    assert_calls_same(spark, tl.join, (random_rows(3), random_rows(4, rows=30)), calls)


@pytest.mark.usefixtures("static")
def test_joins_without_adaptive_execution(spark):
    calls = [{"how": how, "strategy": strategy} for how in ("full", "semi") for strategy in ("slices", "broadcast")]
    assert_calls_same(spark, tl.join, (random_rows(3), random_rows(4, rows=30)), calls)


@pytest.mark.parametrize("how", ["inner", "full"])
def test_a_hot_key_and_several_keys_of_different_types(spark, how):
    left = random_rows(5, rows=150, keys=["hot"] * 9 + ["cold"])
    right = random_rows(6, rows=120, keys=["hot"] * 9 + ["cold"])
    right = right.set_column(3, "number", right["number"].cast(pa.int64()))
    calls = [
        {"on": "key", "how": how, "strategy": "keys", "columns": ["id", "key", "id_right"]},
        {"on": ["key", "number"], "how": how, "strategy": "keys", "columns": ["id", "number", "id_right"]},
    ]
    assert_calls_same(spark, tl.join, (left, right), calls)


INSTANTS = {
    "small": lambda tick: tick,
    "date": lambda tick: date(2024, 3, 1) + timedelta(days=tick),
    "zoned": lambda tick: datetime(2024, 3, 9, 12, tzinfo=UTC) + timedelta(hours=tick),
    "unzoned": lambda tick: datetime(2024, 3, 9, 12, 0, 0, 250) + timedelta(hours=tick),
}
TYPES = {"small": pa.int16(), "date": pa.date32(), "zoned": pa.timestamp("us", "UTC"), "unzoned": pa.timestamp("us")}


def retimed(rows, kind, sentinel):
    """The same table with its ticks in another type, and its open ends null or the sentinel."""
    for position, name in enumerate(("start", "end")):
        instants = [sentinel if tick is None else INSTANTS[kind](tick) for tick in rows[name].to_pylist()]
        rows = rows.set_column(position, name, pa.array(instants, TYPES[kind]))
    return rows


@pytest.mark.parametrize("kind", TYPES)
def test_every_time_type_closedness_and_open_end(spark, kind):
    sentinel = INSTANTS[kind](400)
    calls = [
        {"period": tl.Period("start", "end", closed=closed, open_end=sentinel), "overlap": True, "how": how}
        for closed, how in (("left", "inner"), ("both", "full"))
    ]
    calls = [{**call, "empty": "point", "strategy": "slices", "relation": "intersects | meets"} for call in calls]
    tables = [retimed(random_rows(seed, rows), kind, sentinel) for seed, rows in ((7, 60), (8, 30))]
    assert_calls_same(spark, tl.join, tables, calls)


@pytest.mark.usefixtures("searched")
def test_relations_searched_in_sql(spark):
    exact = [
        *("intersects", "before", tl.iseql.before(delta=4), tl.iseql.start_preceding(delta=3)),
        *(tl.iseql.end_following(epsilon=2), tl.iseql.start_preceding, tl.Relation(start_end=(-3, 3))),
    ]
    frames = on_spark(spark, random_rows(1)), on_spark(spark, random_rows(2))
    for relation in exact:
        assert "in SQL" in str(tl.explain(tl.join, *frames, relation, strategy="broadcast"))
    calls = [{"relation": relation, "strategy": "broadcast", "columns": ["id", "id_right"]} for relation in exact]
    assert_calls_same(spark, tl.join, (random_rows(1), random_rows(2, rows=45)), calls)
    assert_calls_same(spark, tl.join, (random_rows(1, rows=20), random_rows(2, rows=90)), calls)


@pytest.mark.usefixtures("searched")
@pytest.mark.parametrize("kind", TYPES)
def test_every_time_type_searched_in_sql(spark, kind):
    sentinel = INSTANTS[kind](400)
    calls = [
        {
            "period": tl.Period("start", "end", closed=closed, open_end=sentinel),
            "strategy": "broadcast",
            "empty": "point",
        }
        for closed in ("left", "both", "right")
    ]
    tables = [retimed(random_rows(seed, rows), kind, sentinel) for seed, rows in ((7, 60), (8, 30))]
    assert_calls_same(spark, tl.join, tables, calls)


@pytest.mark.usefixtures("searched", "static")
def test_search_without_adaptive_execution_and_rows(spark):
    some, none = random_rows(9, rows=20), random_rows(9, rows=0)
    for left, right in ((some, some), (some, none), (none, some)):
        assert_calls_same(spark, tl.join, (left, right), [{"strategy": "broadcast", "columns": ["id"]}])


def test_empty_inputs(spark):
    some, none = random_rows(9, rows=20), random_rows(9, rows=0)
    for strategy in ("slices", "broadcast"):
        calls = [{"how": how, "strategy": strategy, "columns": ["id"]} for how in ("inner", "full")]
        for left, right in ((some, none), (none, some)):
            assert_calls_same(spark, tl.join, (left, right), calls)
