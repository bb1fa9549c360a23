"""The sequenced verbs on Spark: time types, invalid rows, laziness, explanations and what is refused."""

from datetime import UTC, date, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.errors import PythonException
from pyspark.sql import functions as F

import timeloom as tl
from timeloom.engines.spark import coalesce as spark_coalesce
from timeloom.engines.spark import temporal_aggregate as spark_aggregate
from timeloom.engines.spark.cluster.readings import optimized
from timeloom.engines.spark.matching import inputs as join_inputs
from timeloom.engines.spark.slicing import slices as group_slices
from timeloom.model.measures import read_measures
from timeloom.model.policy import Policy
from timeloom.model.sequenced import AggregateRequest, CoalesceRequest

pytestmark = pytest.mark.spark

TICKS = [(0, 4), (2, 6), (2, None), (9, 12), (9, 12), (12, 15)]
INSTANTS = {
    "date": (lambda tick: date(2024, 3, 1) + timedelta(days=tick), pa.date32()),
    "zoned": (lambda tick: datetime(2024, 3, 9, 12, tzinfo=UTC) + timedelta(hours=tick), pa.timestamp("us", "UTC")),
    "unzoned": (lambda tick: datetime(2024, 3, 9, 12, 0, 0, 250) + timedelta(hours=tick), pa.timestamp("us")),
}


def plain(table):
    """Rows as text; zoned instants in one zone, whatever the session's is."""

    def value(part):
        return part.astimezone(UTC) if isinstance(part, datetime) and part.tzinfo else part

    return sorted(repr({name: value(part) for name, part in row.items()}) for row in table.to_pylist())


def stays(kind, open_end=None):
    make, arrow = INSTANTS[kind]
    ends = [open_end if end is None else make(end) for _, end in TICKS]
    return pa.table(
        {
            "start": pa.array([make(start) for start, _ in TICKS], arrow),
            "end": pa.array(ends, arrow),
            "room": pa.array(["a", "a", "b", "a", "b", None]),
            "since": pa.array([make(start) for start, _ in TICKS], arrow),
        }
    )


@pytest.mark.parametrize("kind", INSTANTS)
def test_time_types_and_open_ends(spark, kind):
    sentinel = INSTANTS[kind][0](400)
    period = tl.Period(closed="both", open_end=sentinel)
    rows = stays(kind, sentinel)
    written = {"date": "date", "zoned": "timestamp", "unzoned": "timestamp_ntz"}[kind]
    frame = spark.createDataFrame(rows, f"start {written}, end {written}, room string, since {written}").repartition(3)
    aggregates = {"n": "count", "first": ("since", "min"), "all": ("since", "collect")}
    request = AggregateRequest(read_measures(aggregates), ("room",), period, Policy())
    found = spark_aggregate.temporal_aggregate(frame, request, 7).toArrow()
    assert plain(found) == plain(tl.temporal_aggregate(rows, aggregates, by="room", period=period))
    lonely = tl.temporal_antijoin(frame, frame.where("room = 'b'"), period=period).toArrow()
    others = rows.filter(pc.equal(rows["room"], "b"))
    assert plain(lonely) == plain(tl.temporal_antijoin(rows, others, period=period))


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_a_group_that_most_rows_have_is_cut_by_time(spark, adaptive, monkeypatch):
    hot = pa.table({"start": [*range(300), 5], "end": [*range(2, 302), 900], "key": ["hot"] * 300 + ["cold"]})
    frame = spark.createDataFrame(hot).repartition(3)
    monkeypatch.setattr(group_slices, "WHOLE_BYTES", 0)
    before = spark.conf.get("spark.sql.adaptive.enabled")
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    try:
        found = tl.temporal_aggregate(frame, {"n": "count"}, by="key").toArrow()
        covered = tl.coalesce(frame, by="key").toArrow()
    finally:
        spark.conf.set("spark.sql.adaptive.enabled", before)
    assert plain(found) == plain(tl.temporal_aggregate(hot, {"n": "count"}, by="key"))
    assert plain(covered) == plain(tl.coalesce(hot, by="key"))


@pytest.fixture
def broken(spark):
    rows = pa.table({"start": [1, 5, None, 7], "end": [3, 2, 4, 7], "key": ["a", "b", "a", "a"]})
    return spark.createDataFrame(rows)


def test_invalid_rows_are_an_error_when_the_result_is_asked_for(broken):
    plan = tl.coalesce(broken)
    with pytest.raises(PythonException, match=r"the input table have no usable period.*'quarantine'"):
        plan.collect()
    with pytest.raises(PythonException, match=r"in one task of temporal_antijoin.*left table"):
        tl.temporal_antijoin(broken, broken.where("end > start"), on="key").collect()


def test_invalid_rows_are_quarantined_or_dropped(broken):
    result, rejected = tl.coalesce(broken, on_invalid="quarantine", empty="point")
    assert sorted(map(tuple, result.collect())) == [(1, 3, "a"), (7, 8, "a")]
    assert rejected.columns == ["start", "end", "key", "reason"]
    assert sorted(row["reason"] for row in rejected.collect()) == ["end is before start", "start is null"]
    kept = tl.temporal_aggregate(broken, {"n": "count"}, on_invalid="drop").collect()
    assert list(map(tuple, kept)) == [(1, 3, 1)]
    both = tl.temporal_join(broken, broken.where("end > start"), on="key", on_invalid="quarantine")
    assert [tuple(row) for row in both.result.collect()] == [(1, 3, "a")]
    assert sorted(row["side"] for row in both.rejected.collect()) == ["left"] * 3


def test_several_tables(spark):
    rows = [pa.table({"start": [0, 4], "end": [3, 9], name: [1, 2]}) for name in ("a", "b", "c")]
    rows[1] = rows[1].slice(1)
    frames = [spark.createDataFrame(table) for table in rows]
    found = tl.temporal_join(frames, how="full").toArrow()
    assert plain(found) == plain(tl.temporal_join(rows, how="full"))


@pytest.mark.parametrize("whole", [0, 1 << 24])
def test_a_plan_grows_with_the_number_of_tables_and_no_faster(spark, monkeypatch, whole):
    monkeypatch.setattr(group_slices, "WHOLE_BYTES", whole)
    rows = spark.createDataFrame(pa.table({"start": [0, 4], "end": [3, 9], "key": ["a", "b"]}))
    for how in ("inner", "full"):
        monkeypatch.setattr(join_inputs, "broadcast_threshold", lambda _: -1)
        frames = [rows.withColumn(f"v{number}", F.lit(number)) for number in range(5)]
        plans = [optimized(tl.temporal_join(frames[:count], on="key", how=how)) for count in (3, 4, 5)]
        leaves = [plan.count("LocalRelation") + plan.count("LogicalRDD") for plan in plans]
        nodes = [len(plan.splitlines()) for plan in plans]
        assert leaves[2] - leaves[1] == leaves[1] - leaves[0] > 0
        assert nodes[2] - nodes[1] == nodes[1] - nodes[0]


def test_rejected_rows_of_several_tables(spark):
    rows = [pa.table({"start": [1, 5], "end": [4, 3], "x": values}) for values in ([1, 2], ["u", "v"], [1.5, 2.5])]
    frames = [spark.createDataFrame(table) for table in rows]
    rejected = tl.temporal_join(frames, on_invalid="quarantine").rejected.toArrow()
    expected = tl.temporal_join(rows, on_invalid="quarantine").rejected
    assert set(rejected.column_names) == set(expected.column_names)
    assert plain(rejected.select(expected.column_names)) == plain(expected)


def test_nothing_runs_before_an_action(spark, broken):
    tracker = spark.sparkContext.statusTracker()
    before = set(tracker.getJobIdsForGroup(None))
    tl.coalesce(broken)
    tl.gaps(broken, within=(0, 9))
    tl.temporal_aggregate(broken, {"n": "count", "own": ("start", lambda values: values.max())}, fill=True)
    tl.temporal_antijoin(broken, broken)
    tl.temporal_join(broken, broken, on="key", how="full")
    assert set(tracker.getJobIdsForGroup(None)) == before


def test_types_of_results(spark, broken):
    def spread(values) -> float:
        raise ValueError("not to be called before there are rows")

    kinds = {"n": "count", "total": ("start", "sum"), "mean": ("start", "avg"), "all": ("key", "collect")}
    plan = tl.temporal_aggregate(broken, {**kinds, "own": ("start", spread)}, by="key")
    described = plan.schema.simpleString()
    assert described == (
        "struct<key:string,start:bigint,end:bigint,n:bigint,total:bigint,mean:double,all:array<string>,own:double>"
    )


def test_what_is_refused(broken):
    with pytest.raises(tl.UsageError, match=r"there is no sum of 'key', which is string"):
        tl.temporal_aggregate(broken, {"total": ("key", "sum")})
    with pytest.raises(tl.InvalidInputError, match=r"no column 'kye'.*key"):
        tl.gaps(broken, by="kye")
    with pytest.raises(tl.UsageError, match=r"annotate what it returns"):
        tl.temporal_aggregate(broken, {"own": ("start", lambda values: {}[values[0]])})
    with pytest.raises(tl.InvalidInputError, match="cannot be compared for grouping"):
        tl.coalesce(broken.selectExpr("start", "end", "array(key) AS keys"))


def test_no_rows_and_a_window(spark):
    none = spark.createDataFrame([], "start bigint, end bigint, key string")
    assert [tuple(row) for row in tl.gaps(none, within=(2, 5)).collect()] == [(2, 5)]
    assert tl.gaps(none, by="key", within=(2, 5)).collect() == []
    filled = tl.temporal_aggregate(none, {"n": "count", "top": ("key", "max")}, fill=True, within=(2, 5))
    assert [tuple(row) for row in filled.collect()] == [(2, 5, 0, None)]


def test_names_of_the_users_do_not_matter(spark):
    rows = pa.table({"tag": [0, 2], "slice": [2, 5], "start": ["a", "a"], "c0": [1, 2], "key": [3, 3]})
    frame = spark.createDataFrame(rows)
    request = CoalesceRequest(("start", "key"), tl.Period("tag", "slice"), Policy())
    found = spark_coalesce.coalesce(frame, request, 2)
    assert found.columns == ["tag", "slice", "start", "key"]
    assert [tuple(row) for row in found.collect()] == [(0, 5, "a", 3)]


def test_explanations(broken):
    plan = tl.explain(tl.temporal_aggregate, broken, {"n": "count"}, by="key")
    assert (plan.engine, plan["strategy"], plan["slices"]) == ("spark", "keys", 1)
    assert "nothing is cut by time" in str(plan)
    assert tl.explain(tl.temporal_antijoin, broken, broken)["strategy"] == "one task"
    large = broken.crossJoin(broken.sparkSession.range(10**7).selectExpr("id AS number"))
    plan = tl.explain(tl.temporal_aggregate, large, {"n": "count"})
    assert (plan["strategy"], plan["slices"]) == ("slices", plan["partitions"])
    assert "sample taken inside the plan" in str(plan)
    plan = tl.explain(tl.temporal_join, broken, broken, how="full")
    assert (plan["strategy"], plan["tables"]) == ("one task", 2)
