"""Sliding windows on Spark return what they return on local tables, and nothing runs before it is asked for."""

import io
import random
from contextlib import redirect_stdout
from datetime import UTC, date, datetime, timedelta

import pyarrow as pa
import pytest

import timeloom as tl
from timeloom.engines.spark.counting.totals import parts_of, total
from timeloom.engines.spark.windows import plan as engine
from timeloom.engines.windows.history import read_history
from timeloom.engines.windows.slides import lay_out
from timeloom.model.policy import Policy
from timeloom.model.sliding_windows import WindowRequest, read_select

pytestmark = pytest.mark.spark

WINDOWS = {"sys": tl.Slide(3, 4, 1), "app": tl.Slide(2, 3, 1), "ratio": (1, 2), "steps": 12}


def history(rows=120, seed=5):
    draw = random.Random(seed)
    columns = {name: [] for name in ("sys_start", "sys_end", "app_start", "app_end", "v", "w")}
    for _ in range(rows):
        sys, app = draw.randrange(12), draw.randrange(12)
        columns["sys_start"].append(sys)
        columns["sys_end"].append(draw.choice([None, sys, sys + 1, sys + 4]))
        columns["app_start"].append(app)
        columns["app_end"].append(draw.choice([None, app + 1, app + 3, app + 6]))
        columns["v"].append(draw.choice([None, 1, 2, 5, -3]))
        columns["w"].append(draw.choice([None, 0.5, 1.25, -2.0]))
    table = {name: pa.array(values, pa.float64() if name == "w" else pa.int64()) for name, values in columns.items()}
    return pa.table(table | {"id": pa.array(range(rows), pa.int64())})


def on_spark(spark, table):
    return spark.createDataFrame(table).repartition(4)


def spread(values):
    return float(values.max() - values.min())


SELECT = {
    "n": "count",
    "known": ("v", "count"),
    "sum": ("v", "sum"),
    "mean": ("v", "avg"),
    "low": ("w", "min"),
    "high": ("v", "max"),
    "total": ("w", "sum"),
    "kinds": ("v", "count_distinct"),
    "noise": ("w", "var"),
    "top": ("v", "top", 3),
    "spread": ("v", spread),
}


def test_aggregates_equal_the_local_engine(spark):
    table = history()
    call = WINDOWS | {"meaning": "visible", "select": SELECT, "bounds": True}
    found = tl.sliding_windows(on_spark(spark, table), **call)
    expected = tl.sliding_windows(table, **call)
    assert found.columns == expected.column_names
    for mine, theirs in zip(found.toArrow().to_pylist(), expected.to_pylist(), strict=True):
        assert mine == theirs


def test_deltas_and_rows_equal_the_local_engine(spark):
    table = history()
    for option in ("deltas", "rows"):
        found = tl.sliding_windows(on_spark(spark, table), **WINDOWS, **{option: True})
        expected = tl.sliding_windows(table, **WINDOWS, **{option: True})
        assert found.columns == expected.column_names
        assert sorted(map(repr, found.toArrow().to_pylist())) == sorted(map(repr, expected.to_pylist()))


@pytest.fixture(params=["in SQL", "by tasks"])
def counting(request, monkeypatch):
    """Both ways in which steps are counted."""
    if request.param == "by tasks":
        monkeypatch.setattr("timeloom.engines.spark.columns.step_counts.FEW", 0)
    return request.param


def plan_of(frame):
    text = io.StringIO()
    with redirect_stdout(text):
        frame.explain()
    return text.getvalue()


@pytest.mark.parametrize("meaning", ["snapshot", "visible", "began", ("began", "visible"), ("visible", "snapshot")])
def test_counts_of_few_steps_need_no_python(spark, meaning):
    table, call = (
        history(seed=11),
        WINDOWS | {"meaning": meaning, "select": {"n": "count", "known of `v`": ("v", "count")}},
    )
    found = tl.sliding_windows(on_spark(spark, table), **call)
    assert "MapInArrow" not in plan_of(found)
    assert "none goes to Python" in str(tl.explain(tl.sliding_windows, on_spark(spark, table), **call))
    assert found.toArrow().to_pylist() == tl.sliding_windows(table, **call).to_pylist()
    for other in ({"steps": 30}, {"select": {"n": ("v", "sum")}}, {"bounds": True}, {"on_invalid": "drop"}):
        assert "MapInArrow" in plan_of(tl.sliding_windows(on_spark(spark, table), **call | other)), other


def test_counts_at_the_ends_of_the_axis(spark, counting):
    low, high = -(2**63), 2**63 - 1
    ends = [(low, low + 2), (low, None), (0, high), (high - 1, high), (high - 2, None), (5, 5)]
    sides = {"sys": ends, "app": ends[::-1]}
    columns = {
        f"{side}_{name}": pa.array([row[at] for row in rows])
        for side, rows in sides.items()
        for at, name in enumerate(("start", "end"))
    }
    for first, pace in ((low, 2**61), (high, -(2**61)), (low, 1), (high - 6, 1)):
        call = {"sys": tl.Slide(first, 3, pace), "app": tl.Slide(first, 2, pace), "steps": 9, "meaning": "visible"}
        found = tl.sliding_windows(spark.createDataFrame(pa.table(columns)), **call).toArrow()
        assert found.to_pylist() == tl.sliding_windows(pa.table(columns), **call).to_pylist(), (first, pace)


@pytest.mark.usefixtures("counting")
def test_backward_windows_and_no_rows(spark):
    empty = history().slice(0, 0)
    call = WINDOWS | {"sys": tl.Slide(9, 4, -1), "app": tl.Slide(8, 3, -2)}
    found = tl.sliding_windows(on_spark(spark, empty), **call).toArrow()
    assert found.to_pylist() == [{"step": step, "n": 0} for step in range(13)]
    table = history(seed=8)
    for meaning in ("snapshot", "began"):
        found = tl.sliding_windows(on_spark(spark, table), **call, meaning=meaning).toArrow()
        assert found.to_pylist() == tl.sliding_windows(table, **call, meaning=meaning).to_pylist()


@pytest.mark.parametrize("bounds", [True, False])
def test_dates_and_timestamps(spark, bounds):
    table = history()
    kinds = {"sys": (datetime(2020, 3, 8, tzinfo=UTC), timedelta(hours=1), pa.timestamp("us", "UTC"))}
    kinds["app"] = (date(2020, 1, 1), timedelta(days=1), pa.date32())
    for name in ("sys_start", "sys_end", "app_start", "app_end"):
        first, unit, kind = kinds[name[:3]]
        instants = [None if count is None else first + count * unit for count in table[name].to_pylist()]
        table = table.set_column(table.column_names.index(name), name, pa.array(instants, kind))
    call = {
        "sys": tl.Slide(datetime(2020, 3, 8, 3, tzinfo=UTC), "4 hours", "1 hour"),
        "app": tl.Slide(date(2020, 1, 2), "3 days", "1 day"),
        "steps": 6,
    }
    found = tl.sliding_windows(on_spark(spark, table), **call, bounds=bounds).toArrow()
    assert found.to_pylist() == tl.sliding_windows(table, **call, bounds=bounds).to_pylist()


def test_sql_on_spark(spark):
    table = history()
    query = """select app_last, count(*) as n, sum(v * 2) as double, max(w) - min(w) as width
               from t [SYS, START 3, RANGE 4, SLIDE 1] [APP, START 2, RANGE 3, SLIDE 1] [RATIO 1:2] STEPS 12
               where v is not null and id % 2 = 0 having count(*) > 3 order by n desc, step limit 5"""
    found = tl.sql(query, t=on_spark(spark, table)).toArrow()
    assert found.to_pylist() == tl.sql(query, t=table).to_pylist()
    brackets = "[SYS, START 3, RANGE 4, SLIDE 1] [APP, START 2, RANGE 3, SLIDE 1]"
    grouped = f"select v, count(*) as n from t {brackets} STEPS 3 group by v"
    found = tl.sql(grouped, t=on_spark(spark, table)).toArrow().to_pylist()
    assert sorted(map(repr, found)) == sorted(map(repr, tl.sql(grouped, t=table).to_pylist()))


def test_ordinary_sql_on_spark(spark):
    table = history()
    query = """select distinct v, case when v > 1 then 'big' else 'small' end as size
               from t where w > 0 order by v nulls last limit 3"""
    assert tl.sql(query, t=on_spark(spark, table)).toArrow().to_pylist() == tl.sql(query, t=table).to_pylist()


@pytest.mark.usefixtures("counting")
def test_nothing_runs_before_it_is_asked_for(spark):
    broken = history().set_column(1, "sys_end", pa.array([-1] * 120, pa.int64()))
    frame = tl.sliding_windows(on_spark(spark, broken), **WINDOWS)
    with pytest.raises(Exception, match="sys_end is before sys_start"):
        frame.collect()


@pytest.mark.usefixtures("counting")
def test_invalid_rows_are_set_aside(spark):
    table = history()
    bad = table.slice(0, 2).set_column(1, "sys_end", pa.array([-1, -1], pa.int64()))
    both = on_spark(spark, pa.concat_tables([table, bad]))
    result, rejected = tl.sliding_windows(both, **WINDOWS, on_invalid="quarantine")
    assert result.toArrow().to_pylist() == tl.sliding_windows(table, **WINDOWS).to_pylist()
    assert [row["reason"] for row in rejected.collect()] == ["sys_end is before sys_start"] * 2


def test_bad_calls_use_the_same_words(spark):
    frame = on_spark(spark, history())
    with pytest.raises(tl.InvalidInputError, match="no column 'x'"):
        tl.sliding_windows(frame, **WINDOWS, select={"n": ("x", "sum")})
    with pytest.raises(tl.UsageError, match="have no order"):
        tl.sliding_windows(frame, **WINDOWS, select={"n": ("v", "first")})
    assert tl.explain(tl.sliding_windows, frame, **WINDOWS)["steps"] == 12


def test_parts_of_one_partition_are_put_together_as_one(spark, monkeypatch):
    nan = float("nan")
    values = [1.0, nan, None, -2.0, nan, 3.0, None, 0.5]
    times = {"sys_start": [0] * 8, "sys_end": pa.nulls(8, pa.int64()), "app_start": [0] * 8}
    table = pa.table(times | {"app_end": pa.array([9, 1, 9, 9, 2, 9, 1, 9]), "w": values})
    select = {"low": ("w", "min"), "high": ("w", "max"), "known": ("w", "count")}
    request = WindowRequest(
        tl.Slide(0, 1, 0),
        tl.Slide(-1, 1, 1),
        3,
        (0, 1),
        "snapshot",
        read_select(select),
        tl.Period("sys_start", "sys_end"),
        tl.Period("app_start", "app_end"),
        Policy(),
    )
    history = read_history(table, request.sys_period, request.app_period)
    windows = lay_out(request.sys, request.app, request.ratio, request.steps, *history.types)
    monkeypatch.setattr(engine, "CHUNK_BYTES", 1)
    batches = iter(table.to_batches(max_chunksize=1))
    parts = parts_of(request.measures)
    found = spark.createDataFrame(pa.Table.from_batches(engine._partials(batches, request, windows, parts)))
    assert found.count() == 4 * table.num_rows
    added = found.groupBy("step").agg(*(total(part) for part in parts)).orderBy("step").toArrow()
    expected = tl.sliding_windows(table, request.sys, request.app, steps=3, ratio=(0, 1), select=select)
    assert repr(added.rename_columns(expected.column_names).to_pylist()) == repr(expected.to_pylist())
