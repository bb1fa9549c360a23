"""The same text on Spark and on local tables: the same rows; nothing runs before the user's action."""

from datetime import date

import pyarrow as pa
import pytest

import timeloom as tl

A = pa.table(
    {
        "k": pa.array([1, 1, 2, None, 3], pa.int64()),
        "v": pa.array([1, 2, 3, 4, None], pa.int64()),
        "s": ["it's", "b\\c", '"q"', None, "{t}"],
        "start": [0, 5, 1, 2, 8],
        "end": pa.array([4, 9, None, 3, 9], pa.int64()),
    }
)
B = pa.table(
    {"k": [1, 2, 3, 2], "w": [7, 8, 9, 1], "start": [2, 0, 0, 6], "end": pa.array([6, 3, 1, None], pa.int64())}
)

TEXTS = {
    "definitions": """with recent as (select * from a where start > 0), pairs as (
        select recent.v, b.w from recent join b on recent.period intersects b.period)
        select v, w from pairs where w > 1""",
    "residual": "select a.v, b.w from a left join b on a.period intersects b.period and a.k = b.k and a.v < b.w - 5",
    "full": "select a.v, b.w, k from a full join b on a.period overlaps b.period and a.k = b.k and b.w <> 8",
    "semi": "select * from a semi join b on a.period intersects b.period and a.v < b.w",
    "anti": "select * from a anti join b on a.period before b.period and a.k = b.k",
    "three": """select a.v, b.w, c.v as u from a join b on a.period intersects b.period
        left join a c on b.period contains c.period and c.k = b.k""",
    "sequenced": "select * from a temporal full join b using (k)",
    "sequenced with a condition": "select * from a temporal full join b on a.k = b.k and a.v < b.w",
    "sequenced semi": "select * from a temporal semi join b on a.k = b.k",
    "sequenced anti": "select * from a temporal anti join b on a.k = b.k",
    "versions": "select v from a for valid_time as of 3 union all select w from b for application_time from 1 to 3",
    "predicates": """select v, period(start, end) overlaps period(2, 6) as o from a
        where period(start, end) contains 2 or period(start, end) immediately precedes period(9, 10)""",
    "by period": "select k, count(*) as n, sum(v * 2) as d from a where v > 0 group by k, period having count(*) > 0",
    "coalesced": "select coalesce periods k from b",
    "latest": "select a.v, b.w from a asof left join b on a.k = b.k and a.start >= b.start",
    "latest of all": "select a.v, b.w from a asof join b on a.start > b.w",
    "strings": """select s, 'it''s \\ {x}' as t from a where s in ('it''s', 'b\\c', '"q"', '{t}')""",
    "quoted": 'select "v" as "a b", `w` from a join b on a.period during b.period',
    "functions": "select k, max(v) over (partition by k order by start) m, case when end > 4 then end end e from a",
    "nested": """select k from a where exists (select 1 from b join b c on b.period equals c.period where b.k = a.k)""",
}


def rows(found):
    return sorted((list(row.values()) for row in found.to_pylist()), key=repr)


def test_the_same_text_gives_the_same_rows(spark):
    frames = {"a": spark.createDataFrame(A).repartition(3), "b": spark.createDataFrame(B)}
    for name, text in TEXTS.items():
        local = tl.sql(text, a=A, b=B)
        found = tl.sql(text, **frames)
        assert [column.lower() for column in found.columns] == [column.lower() for column in local.column_names], name
        assert rows(found.toArrow()) == rows(local), name


def test_nothing_runs_and_nothing_stays(spark):
    tracker = spark.sparkContext.statusTracker()
    tables = [table.name for table in spark.catalog.listTables()]
    before = tracker.getJobIdsForGroup(None)
    frames = {"a": spark.createDataFrame(A), "b": spark.createDataFrame(B)}
    for text in TEXTS.values():
        tl.sql(text, **frames)
    assert tracker.getJobIdsForGroup(None) == before
    assert [table.name for table in spark.catalog.listTables()] == tables


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("select x from a", "x"),
        ("select * fro a", "fro"),
        ("select a.v from a join b on a.period durng b.period", "Did you mean 'during'"),
        ("select v, v from a", "two results are called 'v'"),
    ],
)
def test_errors_show_the_place(spark, text, words):
    with pytest.raises(tl.UsageError) as caught:
        tl.sql(text, a=spark.createDataFrame(A), b=spark.createDataFrame(B))
    assert words in str(caught.value)
    assert "^" in str(caught.value)


def test_the_plan_names_the_verbs(spark):
    frames = {"a": spark.createDataFrame(A), "b": spark.createDataFrame(B)}
    plan = tl.explain(tl.sql, TEXTS["three"], **frames)
    assert (plan.engine, plan["verbs"]) == ("spark", ["join", "join"])


DAYS = pa.table(
    {
        "k": [1, 2, 3, 4],
        "start": pa.array([date(2020, 1, 31), date(2020, 2, 1), date(2020, 3, 1), date(2999, 1, 1)]),
        "end": pa.array([None, date(2020, 3, 1), None, None], pa.date32()),
    }
)
PRESENT = {
    "for valid_time as of {}": [1, 3],
    "for valid_time as of {} - interval '1' month": [1, 3],
    "for valid_time from date '2020-02-01' + interval '1' month to {}": [1, 3],
    "where start < {}": [1, 2, 3],
    "where period(start, end) contains {}": [1, 3],
}


def test_the_present_and_months_are_the_same_on_both_engines(spark):
    frame = spark.createDataFrame(DAYS)
    moments = ("now", "now()", "current_timestamp", "current_timestamp()", "localtimestamp", "localtimestamp()")
    asked = [words.format(name) for words in PRESENT for name in (*moments, "current_date", "current_date()")]
    local = [tl.sql(f"select k from t {words} order by k", t=DAYS)["k"].to_pylist() for words in asked]
    assert local == [kept for kept in PRESENT.values() for _ in range(8)]
    together = " union all ".join(f"select {at} as asked, k from t {words}" for at, words in enumerate(asked))
    expected = sorted([at, k] for at, kept in enumerate(local) for k in kept)
    assert sorted(rows(tl.sql(together, t=frame).toArrow())) == expected
    months = "select k, cast(start + interval '1' month as date) as later from t"
    assert rows(tl.sql(months, t=frame).toArrow()) == rows(tl.sql(months, t=DAYS))


ONE_ENGINE = [
    ("spark", "select distinct on (k) k, v from a order by k", "column 17: Spark has no DISTINCT ON; number the rows"),
    ("spark", "select v from a order by v limit 50 percent", "column 37: Spark limits by numbers of rows only; keep"),
    ("spark", "select v from a order by v limit 50%", "column 28: Spark limits by numbers of rows only; keep"),
    ("spark", "select v from a order by v fetch first 2 rows only", "column 28: Spark has no FETCH; write LIMIT"),
    (
        "local",
        "select k, count(*) n from a group by k with rollup",
        "column 40: DuckDB has no WITH ROLLUP; write GROUP",
    ),
    ("local", "select k from a for valid_time as of nothing(3)", "column 38: "),
    ("spark", "select k from a for valid_time as of nothing(3)", "column 38: "),
]


@pytest.mark.parametrize(("engine", "text", "words"), ONE_ENGINE)
def test_what_one_engine_does_not_have_is_refused_with_what_to_write_instead(spark, engine, text, words):
    with pytest.raises(tl.UsageError) as caught:
        tl.sql(text, a=spark.createDataFrame(A) if engine == "spark" else A)
    assert words in str(caught.value)


def test_what_to_write_instead_answers_the_same(spark):
    frame = spark.createDataFrame(A)
    pairs = {
        "select distinct on (k) k, v from a order by k, v": """select k, v from
            (select *, row_number() over (partition by k order by v) as place from a) x where place = 1""",
        "select start from a order by start limit 40 percent": """select start from
            (select *, percent_rank() over (order by start) as share from a) x where share < 0.4""",
    }
    for short, long in pairs.items():
        assert rows(tl.sql(short, a=A)) == rows(tl.sql(long, a=A)) == rows(tl.sql(long, a=frame).toArrow())
