"""The same text on Spark and on local tables: the same rows; nothing runs before the user's action."""

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
