"""Versions, portions, groups by period, and the kinds of tables that a query takes."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import timeloom as tl

WINDOWS = "[SYS, START 99, RANGE 2, SLIDE 1] [APP, START 10, RANGE 2, SLIDE 1] STEPS 6"
ROWS = pa.table(
    {"k": [1, 1, 2, 2], "v": [1, 2, 3, 4], "start": [0, 3, 0, 5], "end": pa.array([3, 9, 4, None], pa.int64())}
)


@pytest.fixture
def accounts():
    table = tl.BitemporalTable(key="name")
    table.insert({"name": "John", "balance": 50, "app_start": 10, "app_end": None}, sys=100)
    table.insert({"name": "Max", "balance": 80, "app_start": 12, "app_end": 20}, sys=101)
    table.update("John", {"balance": 40}, sys=102, portion=(11, None))
    return table


VERSIONS = [
    "for system_time as of 101",
    "for system_time as of 102 for application_time as of 11",
    "for valid_time as of 12",
    "for system_time from 100 to 102",
    "for system_time between 100 and 102",
    "for system_time all",
    "for system_time period (sys_start, sys_end) as of 100 + 2",
    "for system_time as of (select max(sys_start) from t)",
]


@pytest.mark.parametrize("words", VERSIONS)
def test_versions_are_the_same_of_a_table_its_index_and_its_history(accounts, words):
    query = f"select name, balance, x.app_start from t {words} as x"
    tables = [accounts, accounts.index(), accounts.history()]
    found = [sorted(map(repr, tl.sql(query, t=table).to_pylist())) for table in tables]
    assert found[0] == found[1] == found[2]
    kept = {"from 100": 2, "between": 4, " all": 4, "as of 101": 2, "of 12": 3}
    expected = next((count for part, count in kept.items() if part in words), None)
    assert expected is None or len(found[0]) == expected


def test_the_index_answers_what_is_asked_of_an_instant(accounts):
    query = "select * from t for system_time as of 102 for application_time as of 11"
    assert tl.sql(query, t=accounts) == accounts.as_of(sys=102, app=11)
    for select in ("count(*) as n, sum(balance) as b, sys_last, app_first", "max(balance) as b", "last(name) as x"):
        for where in ("", "where balance > 45"):
            text = f"select {select} from t {WINDOWS} {where}"
            assert tl.sql(text, t=accounts.index()) == tl.sql(text, t=accounts), text


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        ("from 101 to 102", 2),
        ("from 101 to 101", 0),
        ("from 102 to 101", 0),
        ("between 101 and 101", 2),
        ("between 102 and 101", 0),
        ("from null to 101", 0),
    ],
)
def test_ranges_that_end_before_they_begin_hold_no_versions(accounts, words, kept):
    assert tl.sql(f"select * from t for system_time {words}", t=accounts).num_rows == kept


def test_texts_of_a_range_are_compared_as_instants():
    dates = pa.table(
        {"start": [date(2020, 1, 1)], "end": [None]}, pa.schema([("start", pa.date32()), ("end", pa.date32())])
    )
    for words, kept in (
        ("'2020-1-5' to '2020-10-1'", 1),
        ("'2020-2-5' to '2020-10-1'", 1),
        ("'2020-10-1' to '2020-2-5'", 0),
    ):
        assert tl.sql(f"select * from t for valid_time from {words}", t=dates).num_rows == kept


def test_a_period_that_is_named_after_a_table_is_its_time():
    table = pa.table({"from": [1, 4], "to": [5, 6]})
    text = 'select x."from" from t as x period ("from", "to") for valid_time as of 3'
    assert tl.sql(text, t=table)["from"].to_pylist() == [1]


def test_updates_of_the_period_itself(accounts):
    before = tl.sql("select * from t for system_time as of 104", t=accounts)
    text = "update t set app_end = 17, balance = 3 where name = 'John' and app_end is null at system_time 105"
    assert tl.sql(text, t=accounts).to_pylist() == [{"rows": 1}]
    found = tl.sql("select balance from t for system_time as of 105 where name = 'John' and app_end = 17", t=accounts)
    assert found["balance"].to_pylist() == [3]
    after = tl.sql("select * from t for system_time as of 104", t=accounts)
    assert after.drop_columns("sys_end") == before.drop_columns("sys_end")
    with pytest.raises(tl.UsageError, match="line 1, column 60: the period moves"):
        tl.sql("update t for portion of application_time from 11 to 12 set app_end = 20 at system_time 106", t=accounts)


def test_updates_of_portions(accounts):
    text = """update t for portion of application_time from 13 to 15 set balance = balance + 1
              where balance > 45 at system_time 103"""
    assert tl.sql(text, t=accounts).to_pylist() == [{"rows": 1}]
    now = accounts.as_of(sys=103).select(["name", "balance", "app_start", "app_end"]).to_pylist()
    assert sorted(tuple(row.values()) for row in now if row["name"] == "Max") == [
        ("Max", 80, 12, 13),
        ("Max", 80, 15, 20),
        ("Max", 81, 13, 15),
    ]
    assert accounts.as_of(sys=102).num_rows == 3
    deleted = tl.sql(
        "delete from t as x for portion of valid_time from 0 to 14 where x.name = 'Max' at system_time 104", t=accounts
    )
    assert deleted["rows"].to_pylist() == [2]
    assert (
        accounts.as_of(sys=104, app=13).to_pylist()
        == accounts.as_of(sys=104, app=13)
        .filter(
            accounts.as_of(sys=104, app=13)["name"] == "John"
            if False
            else pa.array([name == "John" for name in accounts.as_of(sys=104, app=13)["name"].to_pylist()])
        )
        .to_pylist()
    )


def test_changes_are_all_or_nothing_and_say_what_is_wrong(accounts):
    before = accounts.history()
    for text, words in [
        ("update t set balance = 1", "add AT SYSTEM_TIME"),
        ("update t set balance = 1 at system_time 5", "system time goes backwards"),
        ("update t set cost = 1 at system_time 105", "there is no column 'cost'"),
        ("update t set name = 'x' at system_time 105", "cannot be updated"),
        ("update t set balance = 1, balance = 2 at system_time 105", "given before"),
        ("update t for portion of system_time from 1 to 2 set balance = 1 at system_time 105", "cannot be changed"),
        ("delete from t where balance > at system_time 105", "syntax error"),
        ("delete t", "expected FROM"),
        ("update u set balance = 1 at system_time 105", "there is no table 'u'"),
    ]:
        with pytest.raises(tl.TimeloomError) as caught:
            tl.sql(text, t=accounts)
        assert words in str(caught.value), text
        assert "^" in str(caught.value)
    assert accounts.history() == before


def test_changes_at_times_of_day():
    table = tl.BitemporalTable(key="k")
    begun = datetime(2020, 1, 1)
    table.insert({"k": 1, "v": 5, "app_start": date(2020, 1, 1), "app_end": None}, sys=begun)
    tl.sql(
        "update t for portion of application_time from date '2020-02-01' to date '2020-03-01' set v = v * 2", t=table
    )
    now = table.as_of(app=date(2020, 2, 10))
    assert now["v"].to_pylist() == [10]
    assert now["sys_start"][0].as_py() > begun


def test_groups_by_period_equal_the_verb():
    found = tl.sql("select k, count(*) as n, sum(v) as s, start, end from t group by period, k", t=ROWS)
    expected = tl.temporal_aggregate(ROWS, {"n": "count", "s": ("v", "sum")}, by="k")
    assert sorted(map(repr, found.to_pylist())) == sorted(map(repr, expected.select(found.column_names).to_pylist()))
    renamed = ROWS.rename_columns(["k", "v", "a", "b"])
    ways = [
        "from t group by period (a, b)",
        "from t x period (a, b) group by x.period",
        "from t period (a, b) group by period",
    ]
    tables = [tl.sql(f"select max(v) - min(v) as d {way} having d > 0 order by 1, a", t=renamed) for way in ways]
    assert tables[0] == tables[1] == tables[2]
    assert tables[0].column_names == ["a", "b", "d"]


def test_groups_by_expressions_and_after_joins():
    query = """select v % 2 as odd, count(*) as n, min(x.v + 1) as m from t x join t y on x.period intersects y.period
               and x.k = y.k group by x.period, v % 2 order by odd, x.start"""
    with pytest.raises(tl.UsageError, match="write x.v or y.v"):
        tl.sql(query, t=ROWS)
    found = tl.sql(query.replace("v % 2", "x.v % 2"), t=ROWS)
    pairs = tl.join(ROWS, ROWS, on="k")
    expected = tl.temporal_aggregate(
        pairs.append_column("odd", pa.array([v % 2 for v in pairs["v"].to_pylist()])), {"n": "count"}, by="odd"
    )
    assert sorted(found["n"].to_pylist()) == sorted(expected["n"].to_pylist())


def test_coalesced_periods_equal_the_verb():
    for text in ("select coalesce periods k from t", "select k, start, end from t coalesce periods"):
        assert tl.sql(text, t=ROWS) == tl.coalesce(ROWS.select(["k", "start", "end"]))
    found = tl.sql(
        "select coalesce periods (a, b) k from t where v < 4 order by k desc limit 1",
        t=ROWS.rename_columns(["k", "v", "a", "b"]),
    )
    assert found.to_pylist() == [{"k": 2, "a": 0, "b": 4}]


def test_numbers_of_results_count_those_of_the_query():
    found = tl.sql("select count(*) as n from t group by period order by 1 desc, start limit 1", t=ROWS)
    assert found.to_pylist() == [{"start": 0, "end": 3, "n": 2}]
    table = pa.table(
        {"v": [1, 2, 2], "sys_start": [1] * 3, "sys_end": [9] * 3, "app_start": [0] * 3, "app_end": [9] * 3}
    )
    brackets = "[SYS, START 1, RANGE 1, SLIDE 1] [APP, START 0, RANGE 1, SLIDE 1] STEPS 1"
    grouped = tl.sql(f"select v, count(*) as n from t {brackets} group by 1 order by 2 desc, step", t=table)
    assert [tuple(row.values()) for row in grouped.to_pylist()] == [(0, 2, 2), (1, 2, 2), (0, 1, 1), (1, 1, 1)]


def test_latest_rows():
    prices = pa.table({"item": ["a", "a", "b"], "at": [1, 5, 2], "price": [10, 11, 20]})
    trades = pa.table({"item": ["a", "a", "b", "b"], "at": [5, 0, 3, 9]})
    query = "select t.item, t.at, p.price from t asof left join p on t.item = p.item and t.at >= p.at order by 1, 2"
    assert tl.sql(query, t=trades, p=prices)["price"].to_pylist() == [None, 11, 20, 20]


def test_predicates_of_sql_2011_differ_from_allens_names():
    left, right = pa.table({"start": [0], "end": [5]}), pa.table({"start": [0, 2, 5, 4], "end": [5, 4, 6, 9]})
    counts = {
        "a.period overlaps b.period": 1,
        "period(a.start, a.end) overlaps period(b.start, b.end)": 3,
        "a.period contains b.period": 1,
        "period(a.start, a.end) contains period(b.start, b.end)": 2,
        "period(a.start, a.end) contains b.start": 3,
        "a.period immediately precedes b.period": 1,
        "b.period succeeds a.period": 1,
        "not a.period intersects b.period": 1,
        "a.period equals b.period or b.start = 5": 2,
    }
    for condition, count in counts.items():
        joined = tl.sql(f"select count(*) as n from a join b on {condition}", a=left, b=right)
        where = tl.sql(f"select count(*) as n from a, b where {condition}", a=left, b=right)
        assert joined["n"].to_pylist() == where["n"].to_pylist() == [count], condition


def days(*numbers):
    return [None if n is None else date(2024, 1, 1) + timedelta(days=n) for n in numbers]


def test_axes_of_dates_and_times_with_zones():
    for kind in (pa.date32(), pa.timestamp("us"), pa.timestamp("ms", "Europe/Zurich"), pa.timestamp("us", "+02:00")):
        table = pa.table(
            {
                "k": [1, 2],
                "start": pa.array(days(0, 31)).cast(pa.timestamp("us")),
                "end": pa.array(days(31, None)).cast(pa.timestamp("us")),
            }
        )
        for at, name in ((1, "start"), (2, "end")):
            column = (
                table[name].cast(kind)
                if kind == pa.date32() or kind.tz is None
                else table[name].cast(pa.timestamp(kind.unit)).cast(pa.timestamp(kind.unit, "UTC")).cast(kind)
            )
            table = table.set_column(at, name, column)
        found = tl.sql("select * from t x join t y on x.period meets y.period", t=table)
        assert (found["k"].to_pylist(), found["k_right"].to_pylist()) == ([1], [2]), kind
        assert found.schema.field("start").type == kind
        computed = tl.sql("select start from t order by start desc", t=table).schema.field("start").type
        assert computed == (kind if kind == pa.date32() or kind.tz is None else pa.timestamp("us", kind.tz))
        assert tl.sql("select k from t for valid_time as of now", t=table)["k"].to_pylist() == [2]
        later = "select k from t for valid_time as of timestamp '2024-01-05 12:00:00' + interval '1' month"
        assert tl.sql(later, t=table)["k"].to_pylist() == [2]
        near = "select count(*) as n from t x join t y on x.period iseql.before(delta interval '2' day) y.period"
        assert tl.sql(near, t=table)["n"].to_pylist() == [1]
        same = "select count(*) as n from t x, t y where x.period iseql.before(delta interval '2' day) y.period"
        assert tl.sql(same, t=table)["n"].to_pylist() == [1]


def test_windows_from_now_on():
    now = datetime.now(UTC).replace(tzinfo=None)
    ends = pa.array([None], pa.timestamp("us"))
    table = pa.table({"sys_start": [now - timedelta(1)], "sys_end": ends, "app_start": [now], "app_end": ends})
    span = "RANGE INTERVAL '1' HOUR, SLIDE INTERVAL '1' DAY"
    brackets = f"[SYS, START NOW, {span}] [APP, START NOW, {span}]"
    assert tl.sql(f"select count(*) as n from t {brackets}", t=table)["n"].to_pylist() == [1]


def test_windows_anywhere_in_a_query():
    table = pa.table(
        {"v": [1, 2, 3], "sys_start": [1, 2, 3], "sys_end": [9, 4, 9], "app_start": [0, 0, 1], "app_end": [9, 9, 9]}
    )
    brackets = "[SYS, START 1, RANGE 1, SLIDE 1] [APP, START 0, RANGE 1, SLIDE 1] [RATIO 1:0] STEPS 3"
    by_step = tl.sql(f"select count(*) as n from t {brackets}", t=table)
    assert by_step["n"].to_pylist() == [2, 3, 2, 2]
    for text in (
        f"with w as (select count(*) as n from t {brackets}) select * from w order by step",
        f"select step, count(*) as n from (select * from t {brackets}) x group by step order by step",
        f"select step, count(*) as n from t {brackets} x join t y on x.v = y.v group by step order by step",
        f"select step, n from (select n, step from (select count(*) as n from t {brackets}) a) b order by step",
    ):
        assert tl.sql(text, t=table).to_pylist() == by_step.to_pylist(), text
    assert tl.sql(f"select v from t where v not in (select v from t {brackets} where v > 1)", t=table)[
        "v"
    ].to_pylist() == [1]
    assert (
        tl.sql(
            f"select median(v) as m from (select * from t {brackets}) x group by step order by step", t=table
        ).num_rows
        == 4
    )


def test_the_answer_is_of_the_first_tables_kind():
    forest = tl.StabForest.build([0, 4], [5, 9])
    kinds = [
        (pd.DataFrame, ROWS.slice(0, 3).to_pandas()),
        (pl.DataFrame, pl.from_arrow(ROWS)),
        (pa.Table, ROWS),
        (pa.Table, forest),
    ]
    for kind, table in kinds:
        found = tl.sql("select a.start, b.v from a join b on a.period intersects b.period", a=table, b=ROWS)
        assert type(found) is kind
    relation = duckdb.from_arrow(ROWS)
    assert tl.sql("select v from b where v > 2", b=relation).fetchall() == [(3,), (4,)]
    assert tl.sql("select id, start, f.end from f for valid_time as of 4 order by id", f=forest).num_rows == 2


def test_names_of_tables_never_meet():
    tables = {"t": ROWS, "timeloom_1": ROWS.slice(0, 1), "x": ROWS.slice(0, 2)}
    query = """with timeloom_2 as (select * from timeloom_1)
               select count(*) as n from t join timeloom_2 on t.period equals timeloom_2.period"""
    assert tl.sql(query, **tables)["n"].to_pylist() == [1]
    shadowed = "with t as (select * from x) select count(*) as n from t a join t b on a.period equals b.period"
    assert tl.sql(shadowed, **tables)["n"].to_pylist() == [2]


def test_a_definition_is_evaluated_once():
    query = """with r as (select random() as x, start, end from t)
               select count(*) as n from r a join r b on a.period equals b.period and a.x = b.x"""
    assert tl.sql(query, t=ROWS)["n"].to_pylist() == [4]


def test_a_definition_that_reads_itself_is_refused_by_verbs():
    query = """with recursive r as (select * from t union all select r.* from r join t on r.period meets t.period)
               select * from r"""
    with pytest.raises(tl.UsageError, match="is being defined here"):
        tl.sql(query, t=ROWS)


def test_the_plan_says_which_verb_answers_what(monkeypatch):
    text = """select a.v, count(*) as n from t a join t b on a.period meets b.period and a.k = b.k and a.v < b.v
              left join t c on b.period during c.period group by a.v"""
    plan = tl.explain(tl.sql, text, t=ROWS)
    assert plan["verbs"] == ["join", "join"]
    assert "relation=meets" in plan["calls"][0]
    assert "a.k = b.k" in plan["calls"][0]
    assert "group by" in plan["sql"]
    seen = []

    def join_verb(left, right, *_, **__):
        seen.append((left, right))
        return left

    monkeypatch.setattr("timeloom.query.joins.join_verb", join_verb)
    with pytest.raises(tl.TimeloomError):
        tl.explain(tl.sql, text, t=ROWS)
    assert all(table.num_rows == 0 for pair in seen for table in pair)


def test_queries_of_many_threads():
    def count(k):
        text = f"select count(*) as n from t a join t b on a.period intersects b.period where a.k = {k}"
        return tl.sql(text, t=ROWS)["n"].to_pylist()[0]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(count, [1, 2] * 20)) == [count(1), count(2)] * 20


def test_without_duckdb_the_extra_is_named(monkeypatch):
    monkeypatch.setattr("timeloom.query.local_session._instances", {})
    monkeypatch.setitem(__import__("sys").modules, "duckdb", None)
    with pytest.raises(tl.UsageError, match=r"timeloom\[sql\]"):
        tl.sql("select 1 as x", t=ROWS)


def test_errors_of_verbs_name_the_querys_columns():
    bad = pa.table({"start": [5], "end": [1]})
    with pytest.raises(tl.InvalidInputError, match=r"line 1, column 25: .*x.end is before x.start") as caught:
        tl.sql("select x.start from b x join b y on x.period meets y.period", b=bad)
    assert "timeloom_" not in str(caught.value)


def test_large_sums_are_integers_or_refused():
    table = pa.table({"v": [2**62, 2**62 - 1]})
    assert tl.sql("select sum(v) as s from t", t=table).schema.field("s").type == pa.int64()
    with pytest.raises(tl.UsageError, match="beyond 64 bits"):
        tl.sql("select sum(v) + 1 as s from t", t=table)
