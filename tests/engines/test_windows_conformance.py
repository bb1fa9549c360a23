"""Sliding windows on Spark, as a verb and in SQL, give what the bitemporal index and local tables give."""

import random

import pyarrow as pa
import pytest

import timeloom as tl

pytestmark = pytest.mark.spark

QUERY = """select count(*) as n, sum(v) as total, max(v) as top
           from t [SYS, START {sys}, RANGE 4, SLIDE {pace}] [APP, START 2, RANGE 3, SLIDE 1] [RATIO {ratio}]
           STEPS 11 MEANING {meaning} where id % 5 <> 0"""


def history(seed, rows=90):
    """Versions with ties, open ends and null values."""
    draw = random.Random(seed)
    columns = {name: [] for name in ("sys_start", "sys_end", "app_start", "app_end", "v", "id")}
    for number in range(rows):
        sys, app = draw.randrange(14), draw.randrange(12)
        found = (sys, draw.choice([None, sys + 1, sys + 4]), app, draw.choice([None, app + 1, app + 5]))
        for name, value in zip(columns, (*found, draw.choice([None, 1, 5, -3]), number), strict=True):
            columns[name].append(value)
    return pa.table({name: pa.array(values, pa.int64()) for name, values in columns.items()})


@pytest.mark.parametrize("meaning", ["snapshot", "visible", "began", ("began", "snapshot")])
def test_the_index_local_tables_and_spark_agree(spark, meaning):
    table = history(3).sort_by("sys_start")
    windows = {"sys": tl.Slide(2, 4, 1), "app": tl.Slide(1, 3, 2), "ratio": (2, 1), "steps": 9, "meaning": meaning}
    on_spark = tl.sliding_windows(spark.createDataFrame(table).repartition(3), **windows, rows=True)
    found = sorted((row["step"], row["id"]) for row in on_spark.select("step", "id").collect())
    local = tl.sliding_windows(table, **windows, rows=True)
    assert found == sorted(zip(local["step"].to_pylist(), local["id"].to_pylist(), strict=True))
    steps = tl.BitemporalIndex(table).windows(**windows)
    ids = table["id"].to_pylist()
    assert found == sorted((number, ids[row]) for number, step in enumerate(steps) for row in step.valid())


@pytest.mark.usefixtures("static")
def test_without_adaptive_execution(spark):
    table = history(4)
    windows = {"sys": tl.Slide(9, 4, -1), "app": tl.Slide(8, 3, -2), "steps": 8, "bounds": True}
    select = {"n": "count", "total": ("v", "sum"), "kinds": ("v", "count_distinct")}
    found = tl.sliding_windows(spark.createDataFrame(table).repartition(3), **windows, select=select)
    assert found.toArrow().to_pylist() == tl.sliding_windows(table, **windows, select=select).to_pylist()


@pytest.mark.parametrize(
    ("sys", "pace", "ratio", "meaning"),
    [(3, 1, "1:2", "visible"), (12, -1, "1:0", "began"), (3, 2, "3:1", "(visible, began)")],
)
def test_the_same_text_gives_the_same_rows(spark, sys, pace, ratio, meaning):
    table = history(5)
    text = QUERY.format(sys=sys, pace=pace, ratio=ratio, meaning=meaning)
    found = tl.sql(text, t=spark.createDataFrame(table).repartition(3)).toArrow()
    assert found.to_pylist() == tl.sql(text, t=table).to_pylist()


def test_joins_in_sql(spark):
    left, right = history(6, rows=25), history(7, rows=25)
    text = """select a.id, b.id as other from a period (sys_start, sys_end)
              left join b period (sys_start, sys_end) on a.period during b.period and a.v = b.v order by id, other"""
    found = tl.sql(text, a=spark.createDataFrame(left), b=spark.createDataFrame(right)).toArrow()
    assert found.to_pylist() == tl.sql(text, a=left, b=right).to_pylist()


def test_keys_of_outer_joins_in_sql_are_each_sides_own(spark):
    left, right = history(8, rows=12), history(9, rows=12)
    text = """select a.v as l, b.v as r, v, a.id as i, b.id as j from a period (sys_start, sys_end)
              full join b period (sys_start, sys_end) on a.period during b.period and a.v = b.v"""
    found = tl.sql(text, a=spark.createDataFrame(left), b=spark.createDataFrame(right)).toArrow().to_pylist()
    local = tl.sql(text, a=left, b=right).to_pylist()
    assert sorted(map(repr, found)) == sorted(map(repr, local))
    assert any(row["l"] is None and row["r"] is not None for row in local)
