"""The join on Spark returns the rows of the join on local tables, for every kind of call."""

import random
from datetime import UTC, date, datetime, timedelta
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

import timeloom as tl

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


def table(seed, rows=60, keys=("a", "b", "c", None), latest=40):
    """Rows with ties, nested and long periods, open ends and null keys."""
    draw = random.Random(seed)
    starts = [draw.randrange(latest) for _ in range(rows)]
    ends = [start + draw.choice([1, 1, 2, 3, 5, 8, 30]) for start in starts]
    return pa.table(
        {
            "start": pa.array(starts, pa.int64()),
            "end": pa.array([None if draw.random() < 0.05 else end for end in ends], pa.int64()),
            "key": pa.array([draw.choice(keys) for _ in range(rows)], pa.string()),
            "number": pa.array([draw.choice([1, 2, None]) for _ in range(rows)], pa.int32()),
            "id": pa.array(range(rows), pa.int64()),
        }
    )


def on_spark(spark, rows):
    return spark.createDataFrame(rows, from_arrow_schema(rows.schema, prefer_timestamp_ntz=True))


def plain(value):
    """A value as text that does not depend on the zone in which an instant is shown."""
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    return str(value.astimezone(UTC)) if isinstance(value, datetime) and value.tzinfo else repr(value)


def assert_same(spark, left, right, calls):
    """Compare each call with the local engine; calls with results of one schema run as one Spark action."""
    frames = on_spark(spark, left), on_spark(spark, right)
    by_schema = {}
    for call in calls:
        plan = tl.join(*frames, **call)
        by_schema.setdefault(plan.schema.simpleString(), []).append((call, plan))
    for together in by_schema.values():
        numbered = [
            plan.select(F.lit(number).alias("call"), F.struct("*").alias("row"))
            for number, (_, plan) in enumerate(together)
        ]
        found = reduce(lambda a, b: a.unionAll(b), numbered).toArrow()
        for number, (call, _) in enumerate(together):
            expected = tl.join(left, right, **call).to_pylist()
            mine = found.filter(pc.equal(found["call"], number))["row"].to_pylist()
            assert sorted(map(str, map(plain, mine))) == sorted(map(str, map(plain, expected))), call


@pytest.fixture
def static(spark):
    """Plans that are not changed while they run."""
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    yield
    spark.conf.set("spark.sql.adaptive.enabled", "true")


@pytest.mark.parametrize("part", range(4))
def test_every_relation(spark, part):
    calls = [
        {"relation": relation, "strategy": "slices", "columns": ["id", "id_right"]} for relation in RELATIONS[part::4]
    ]
    assert_same(spark, table(1), table(2, rows=45), calls)


def test_relations_within_keys(spark):
    calls = [
        {"relation": relation, "strategy": "keys", "on": "key", "columns": ["id", "id_right"]}
        for relation in RELATIONS[2::5]
    ]
    assert_same(spark, table(1), table(2, rows=45), calls)


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("strategy", ["slices", "keys", "broadcast"])
def test_every_kind_of_join(spark, strategy, how):
    call = {"relation": "overlaps | during", "how": how, "on": "key", "strategy": strategy}
    assert_same(spark, table(3), table(4, rows=30), [call])


@pytest.mark.usefixtures("static")
@pytest.mark.parametrize("strategy", ["slices", "broadcast"])
@pytest.mark.parametrize("how", ["full", "semi"])
def test_joins_without_adaptive_execution(spark, strategy, how):
    assert_same(spark, table(3), table(4, rows=30), [{"how": how, "strategy": strategy}])


@pytest.mark.parametrize("how", ["inner", "full"])
def test_a_hot_key_and_several_keys_of_different_types(spark, how):
    left = table(5, rows=150, keys=["hot"] * 9 + ["cold"])
    right = table(6, rows=120, keys=["hot"] * 9 + ["cold"])
    right = right.set_column(3, "number", right["number"].cast(pa.int64()))
    calls = [
        {"on": "key", "how": how, "strategy": "keys", "columns": ["id", "key", "id_right"]},
        {"on": ["key", "number"], "how": how, "strategy": "keys", "columns": ["id", "number", "id_right"]},
    ]
    assert_same(spark, left, right, calls)


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
    assert_same(spark, retimed(table(7), kind, sentinel), retimed(table(8, rows=30), kind, sentinel), calls)


@pytest.mark.usefixtures("searched")
def test_relations_searched_in_sql(spark):
    exact = [
        *("intersects", "before", tl.iseql.before(delta=4), tl.iseql.start_preceding(delta=3)),
        *(tl.iseql.end_following(epsilon=2), tl.iseql.start_preceding, tl.Relation(start_end=(-3, 3))),
    ]
    frames = on_spark(spark, table(1)), on_spark(spark, table(2))
    for relation in exact:
        assert "in SQL" in str(tl.explain(tl.join, *frames, relation, strategy="broadcast"))
    calls = [{"relation": relation, "strategy": "broadcast", "columns": ["id", "id_right"]} for relation in exact]
    assert_same(spark, table(1), table(2, rows=45), calls)
    assert_same(spark, table(1, rows=20), table(2, rows=90), calls)


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
    assert_same(spark, retimed(table(7), kind, sentinel), retimed(table(8, rows=30), kind, sentinel), calls)


@pytest.mark.usefixtures("searched", "static")
def test_search_without_adaptive_execution_and_rows(spark):
    some, none = table(9, rows=20), table(9, rows=0)
    for left, right in ((some, some), (some, none), (none, some)):
        assert_same(spark, left, right, [{"strategy": "broadcast", "columns": ["id"]}])


def test_empty_inputs(spark):
    some, none = table(9, rows=20), table(9, rows=0)
    for strategy in ("slices", "broadcast"):
        calls = [{"how": how, "strategy": strategy, "columns": ["id"]} for how in ("inner", "full")]
        for left, right in ((some, none), (none, some)):
            assert_same(spark, left, right, calls)
