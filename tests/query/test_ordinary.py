"""The ordinary SQL around windows and joins, against DuckDB, and the joins against the verbs."""

import re
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest

import timeloom as tl

ORACLE = duckdb.connect()
SALES = pa.table(
    {
        "shop": ["a", "b", "a", None, "c", "b"],
        "amount": pa.array([10, None, 5, 7, -3, 10], pa.int64()),
        "price": [1.5, 2.0, None, 0.5, 4.0, 1.0],
        "day": pa.array([0, 1, 2, 3, 40, 5], pa.int32()).cast(pa.date32()),
        "open": [True, False, None, True, True, False],
        "start": [1, 2, 3, 4, 5, 6],
        "end": [4, 6, 8, 9, 7, 8],
    }
)
RATES = pa.table({"shop": ["a", "b", "a"], "rate": [1, 2, 3], "start": [0, 3, 3], "end": [3, 9, 12]})

QUERIES = [
    "select * from sales",
    "select shop, amount + 1 as more, -amount as less, amount * price as worth from sales",
    "select amount / 4 as quarter, amount % 3 as rest, abs(amount) as size, round(price * 1.11, 1) as r from sales",
    "select shop from sales where amount > 5 and not open or price is null",
    "select shop from sales where amount between 5 and 10 and shop in ('a', 'b') and shop like 'a%'",
    "select shop from sales where shop is not null and day >= date '1970-01-03'",
    "select day + interval 1 day as next from sales where day < '1970-02-01'",
    "select case when amount > 6 then 'many' when amount is null then 'none' else 'few' end as kind from sales",
    "select case shop when 'a' then 1 when 'b' then 2 end as number from sales",
    "select coalesce(shop, 'x') || '!' as label, upper(shop) as big, length(shop) as size from sales",
    "select cast(amount as double) as d, cast(amount as varchar) as t, amount = 10 and open as both from sales",
    "select count(*) as n, count(amount) as known, sum(amount) as total, avg(price) as mean from sales",
    "select min(day) as first, max(shop) as last, count(distinct amount) as kinds from sales",
    "select stddev(price) as s, var_samp(price) as v from sales",
    "select shop, sum(amount) as total from sales group by shop",
    "select shop, open, count(*) as n from sales group by shop, open",
    "select amount > 5 as big, max(price) as top from sales group by amount > 5",
    "select shop, sum(amount) / count(*) as each from sales group by shop having count(*) > 1",
    "select sum(amount) as total from sales where amount > 100",
    "select count(*) as n from sales where amount > 100",
    "select distinct shop from sales",
]


def canonical(rows):
    return sorted(repr(sorted(row.items())) for row in rows)


def rounded(rows):
    """Doubles to nine places, and DuckDB's wide sums as integers."""
    plain = {float: lambda value: round(value, 9), Decimal: int}
    return [{k: plain[type(v)](v) if type(v) in plain else v for k, v in row.items()} for row in rows]


@pytest.mark.parametrize("query", QUERIES)
def test_answers_equal_duckdb(query):
    connection = ORACLE.cursor()
    connection.register("sales", SALES)
    expected = connection.sql(query).to_arrow_table().to_pylist()
    assert canonical(rounded(tl.sql(query, sales=SALES).to_pylist())) == canonical(rounded(expected))


ORDERED = [
    "select shop, amount from sales order by amount desc nulls last, shop nulls first",
    "select amount as a from sales order by 1 nulls first limit 3",
    "select amount as a from sales order by a nulls last limit 2 offset 1",
    "select shop, count(*) as n from sales group by shop order by n desc, shop nulls last",
    "select distinct shop from sales order by shop desc nulls last",
    "select price from sales order by amount * 2 desc nulls last, price nulls last",
]


@pytest.mark.parametrize("query", ORDERED)
def test_order_equals_duckdb(query):
    connection = ORACLE.cursor()
    connection.register("sales", SALES)
    assert tl.sql(query, sales=SALES).to_pylist() == connection.sql(query).to_arrow_table().to_pylist()


def test_names_may_differ_in_case_and_be_quoted():
    found = tl.sql('select SHOP, "amount", `price` from Sales where Amount > 9', sales=SALES)
    assert found["shop"].to_pylist() == ["a", "b"]
    with pytest.raises(tl.InvalidInputError, match="one name in SQL"):
        tl.sql("select a from t", t=pa.table({"a": [1], "A": [2]}))


FOUND = "select s.shop as shop, s.start as at, r.rate from sales s "

JOINS = [
    (
        FOUND + "join rates r on s.period intersects r.period and s.shop = r.shop",
        {"relation": "intersects", "how": "inner", "on": "shop"},
    ),
    (
        FOUND + "left join rates r on s.period during r.period and r.shop = s.shop",
        {"relation": "during", "how": "left", "on": "shop"},
    ),
    (
        FOUND + "inner join rates r on r.period contains s.period",
        {"relation": "during", "how": "inner"},
    ),
    (
        FOUND + "join rates r on s.period iseql.before(delta 2) r.period",
        {"relation": tl.relation("iseql.before", delta=2), "how": "inner"},
    ),
    (
        FOUND + "full outer join rates r on s.period meets | before r.period",
        {"relation": "meets | before", "how": "full"},
    ),
]


@pytest.mark.parametrize(("query", "options"), JOINS)
def test_relation_joins_equal_the_verb(query, options):
    expected = tl.join(SALES, RATES, **options)
    keyed = "on" in options
    names = {"shop": expected["shop"], "at": expected["start"], "rate": expected["rate"]}
    assert keyed == ("shop_right" not in expected.column_names)
    assert canonical(tl.sql(query, sales=SALES, rates=RATES).to_pylist()) == canonical(pa.table(names).to_pylist())


@pytest.mark.parametrize("how", ["semi", "anti"])
def test_semi_and_anti_joins_keep_left_columns(how):
    query = f"select * from sales {how} join rates on sales.period during rates.period"
    assert tl.sql(query, sales=SALES, rates=RATES) == tl.join(SALES, RATES, "during", how=how)
    query = f"select * from sales left {how} join rates on sales.period during rates.period"
    assert tl.sql(query, sales=SALES, rates=RATES) == tl.join(SALES, RATES, "during", how=how)


@pytest.mark.parametrize("how", ["", "left", "right", "full outer"])
def test_temporal_joins_equal_the_verb(how):
    query = (
        f"select shop, amount, rate, s.start as start, s.end as end from sales s temporal {how} join rates using (shop)"
    )
    kind = how.split()[0] if how else "inner"
    expected = tl.temporal_join(SALES, RATES, on="shop", how=kind)
    found = tl.sql(query, sales=SALES, rates=RATES)
    assert canonical(found.to_pylist()) == canonical(expected.select(found.column_names).to_pylist())


def test_temporal_anti_joins_equal_the_verb():
    found = tl.sql("select * from sales s temporal anti join rates r on s.shop = r.shop", sales=SALES, rates=RATES)
    assert canonical(found.to_pylist()) == canonical(tl.temporal_antijoin(SALES, RATES, on="shop").to_pylist())


def test_own_period_columns():
    renamed = RATES.rename_columns(["shop", "rate", "valid_from", "valid_to"])
    query = (
        "select count(*) as n from sales s join rates r period (valid_from, valid_to) on s.period intersects r.period"
    )
    assert tl.sql(query, sales=SALES, rates=renamed)["n"].to_pylist() == [tl.join(SALES, RATES).num_rows]


ENGINE_QUERIES = [
    "select * from (select shop from sales) x",
    "select (select max(rate) from rates) as top, shop from sales",
    "select shop, max(amount) over (partition by shop order by start) as m from sales",
    "with x as (select shop, rate from rates), y as (select * from x) select x.shop, y.rate from x join y using (shop)",
    "with recursive r as (select 1 as n union all select n + 1 from r where n < 5) select n from r",
    "select shop from sales union all select shop from rates",
    "select shop from sales except select shop from rates",
    "select s.shop, r.rate from sales s join rates r on s.shop = r.shop and s.amount > r.rate",
    "select r.rate, t.rate as u from sales s left join rates r using (shop) left join rates t on t.rate = r.rate",
    "select s.amount, r.rate from sales s, rates r where s.shop = r.shop",
    "select shop from sales s where exists (select 1 from rates r where r.shop = s.shop and r.rate > s.start)",
    "select shop, sum(amount) as n from sales group by rollup (shop)",
    "select shop, open, count(*) as n from sales group by grouping sets ((shop), (open), ())",
    "select count(*) filter (where open) as n, sum(distinct amount) as d, median(start) as m from sales",
    "select * exclude (day) from sales qualify row_number() over (partition by shop order by start) = 1",
    "select shop like 'a' escape 'b' as x, sinh(price) as y, amount::double / 3 as z from sales",
    "select distinct on (shop) shop, max(start) over (partition by shop) as m from sales",
    "select start, end, case when end > 7 then end else 0 end as e, end - start as span from sales where end > 5",
    "select s.end as end, start start from sales s",
    "select day + interval 1 month as later from sales",
    "values (1, 'a'), (2, 'b')",
    "(select 1 as x) union all (select 2 as x)",
    "select 'it''s -- no comment' as t, \"shop\" from sales /* one */ where shop = 'a' -- two",
]


@pytest.mark.parametrize("query", ENGINE_QUERIES)
def test_what_is_not_about_time_is_the_engines(query):
    connection = ORACLE.cursor()
    connection.register("sales", SALES)
    connection.register("rates", RATES)
    plain = re.sub(r"(?<![.\w])end(?= [-,>]|,| start| from sales where)|(?<= then )end(?= else)", '"end"', query)
    expected = connection.sql(plain).to_arrow_table().to_pylist()
    assert canonical(rounded(tl.sql(query, sales=SALES, rates=RATES).to_pylist())) == canonical(rounded(expected))


REFUSED = [
    ("select * from sales, rates", "two results are called"),
    ("select * from sales join sales on sales.period meets sales.period", "two tables are called 'sales'"),
    ("select * from sales s join rates r on s.period durng r.period", "Did you mean 'during'"),
    ("select * from sales s join rates r on s.period during(delta 2) r.period", "takes no delta"),
    ("select * from sales s join rates r on x.shop = r.shop", "not found"),
    ("select * from sales s temporal join rates r on s.period during r.period", "relates periods by itself"),
    ("select * from sales s temporal left join rates r on s.shop = r.shop and r.start > 1", "not times"),
    ("select start from sales s join rates r on s.period during r.period", "write s.start or r.start"),
    ("select s.cost from sales s join rates r on s.period during r.period", "there is no column 's.cost'"),
    ("select r.start from sales s temporal join rates r using (shop)", "there is no column 'r.start'"),
    ("select z.* from sales s", "not found"),
    ("select * from nowhere", "there is no table 'nowhere'"),
    ("select * from sales s join rates r on s.period overlaps period(r.start, r.end)", "in the same way"),
    (
        "select * from sales s join rates r on period(s.start, s.end) overlaps(delta 1) period(r.start, r.end)",
        "no limits",
    ),
    ("select * from sales for system_time as at 5", "expected OF"),
    ("select * from sales for some_time as of 5", "SYSTEM_TIME, VALID_TIME, APPLICATION_TIME"),
    ("select * from sales for system_time as of 5 for system_time all", "given before"),
    ("select * from sales for system_time period (a, b) as of 5", "has no columns (a, b)"),
    ("select shop from sales period (start, end)", "PERIOD after this table has no meaning here"),
    ("select shop from sales group by period, period", "given before"),
    ("select coalesce periods shop from sales coalesce periods", "given before"),
    ("select median(amount) from sales group by period", "is not computed by periods"),
    ("select amount, count(*) from sales group by period", "column|not found"),
    ("select s.amount, count(*) from sales s group by period", "neither aggregated nor in GROUP BY"),
    ("select sum(count(*)) from sales group by period", "nests aggregates"),
    ("select sum(amount, price) from sales group by period", "takes one argument"),
    ("select shop + 1 from sales", "explicit type casts"),
    ("select amount from sales where", "expected an expression after WHERE"),
    ("select shop from sales group by", "expected an expression after GROUP BY"),
    ("select shop from sales where shop = 'a' where shop = 'b'", "given before"),
    ("select shop from sales order by 2", "out of range"),
    ("select shop from sales limit -1", "negative"),
    ("select shop from sales group by shop with rollup", "DuckDB has no WITH ROLLUP; write GROUP BY ROLLUP"),
    ("select count(shop, amount) from sales", "No function matches"),
    ("select cast(amount as int format 'x') from sales", "syntax error"),
    ("select shop, shop from sales", "two results are called 'shop'"),
    ("select shop, from sales", "a comma with nothing after it"),
    ("select 0x1f from sales", "right behind a number"),
    ("select shop from sales; select 1 from sales", "expected one query"),
    ("select shop from sales fetch first 2 rows with ties", "syntax error"),
    ("select shop from sales tablesample (10 percent)", "not understood here"),
    ("select shop from sales where count(*) > 1", "cannot contain aggregates"),
    ("select 'a from sales", "a quote is opened here"),
    ("select /* a from sales", "a comment is opened here"),
    ("select (shop from sales", "closed"),
    ("select shop) from sales", "expected the end"),
    ("select " + "(" * 500 + "amount" + ")" * 500 + " from sales", "nested too deeply"),
    ("select shop from sales where shop = '\ud800'", "surrogate"),
    ("select shop from sales s join rates r on s.period during(delta 1, delta 2) r.period", "given before"),
    ("drop table sales", "expected SELECT"),
    ("copy sales to 'x.csv'", "expected SELECT"),
    ("set threads = 1", "expected SELECT"),
    ("with x as (select 1), x as (select 2) select * from x", "each name once"),
    ("update sales set amount = 1 at system_time 5", "is no BitemporalTable"),
]


@pytest.mark.parametrize(("query", "words"), REFUSED)
def test_nothing_that_is_written_is_left_out(query, words):
    with pytest.raises(tl.UsageError) as caught:
        tl.sql(query, sales=SALES, rates=RATES)
    assert any(word in str(caught.value) for word in words.split("|")), str(caught.value)[:300]
    assert "^" in str(caught.value)
    assert len(str(caught.value)) < 1200


@pytest.mark.parametrize(
    "name", ["'{}'", "read_csv('{}')", "read_text('{}')", "glob('{}')", '"{}"', "sqlite_scan('{}', 't')"]
)
def test_a_query_reaches_no_file(tmp_path, name):
    place = tmp_path / "secret.csv"
    place.write_text("a\n1\n")
    with pytest.raises(tl.UsageError):
        tl.sql(f"select * from {name.format(place)}", sales=SALES)


def test_a_query_reaches_no_variable_and_no_setting():
    hidden = SALES
    for query in (
        "select * from hidden",
        "select * from SALES_ELSEWHERE",
        "select * from duckdb_tables",
        "pragma version",
    ):
        with pytest.raises(tl.UsageError):
            tl.sql(query, sales=hidden)
    assert tl.sql("select current_setting('enable_external_access') as x", sales=hidden)["x"].to_pylist() == [False]
    with pytest.raises(tl.UsageError, match="locked|expected SELECT"):
        tl.sql("set enable_external_access = true", sales=hidden)


@pytest.mark.parametrize("kind", ["join", "left join", "right join", "full join"])
@pytest.mark.parametrize("temporal", [False, True])
def test_a_key_is_each_sides_own(kind, temporal):
    left = pa.table({"k": [1, 2], "a": ["x", "y"], "start": [0, 0], "end": [5, 5]})
    right = pa.table({"k": pa.array([2, 3], pa.int64()), "b": ["p", "q"], "start": [0, 0], "end": [5, 5]})
    where = "using (k)" if temporal else "on a.period intersects b.period and a.k = b.k"
    source = f"from a {'temporal ' if temporal else ''}{kind} b {where}"
    rows = {
        (row["l"], row["r"], row["k"])
        for row in tl.sql(f"select a.k as l, b.k as r, k {source}", a=left, b=right).to_pylist()
    }
    outer = {"join": set(), "left join": {(1, None, 1)}, "right join": {(None, 3, 3)}}
    expected = {(2, 2, 2)} | outer.get(kind, {(1, None, 1), (None, 3, 3)})
    assert rows == expected
    unmatched = tl.sql(f"select a.k as l {source} where b.k is null", a=left, b=right)["l"].to_pylist()
    assert unmatched == [row[0] for row in expected if row[1] is None]
    starred = tl.sql(f"select b.* {source}", a=left, b=right)
    assert {row["k"] for row in starred.to_pylist()} == {row[1] for row in expected}
    assert tl.sql(f"select * {source}", a=left, b=right).column_names.count("k") == 1
    counts = tl.sql(f"select b.k as r, count(*) as n {source} group by b.k", a=left, b=right).to_pylist()
    assert {(row["r"], row["n"]) for row in counts} == {(row[1], 1) for row in expected}


def test_keys_of_two_names_are_each_sides_own():
    left = pa.table({"k": [1, 2], "start": [0, 0], "end": [5, 5]})
    right = pa.table({"j": [2, 3], "start": [0, 0], "end": [5, 5]})
    query = "select k, j from a full join b on a.period intersects b.period and a.k = b.j"
    rows = tl.sql(query, a=left, b=right).to_pylist()
    assert {(row["k"], row["j"]) for row in rows} == {(2, 2), (1, None), (None, 3)}


def test_the_usual_names_may_be_given_as_a_period():
    source = "sales s period (start, end) join rates r period(start, end) on s.period intersects r.period"
    query = f"select count(*) as n from {source}"
    assert tl.sql(query, sales=SALES, rates=RATES)["n"].to_pylist() == [tl.join(SALES, RATES).num_rows]


def test_instants_may_be_called_at():
    trades = pa.table({"at": [3, 1, 2]})
    found = tl.sql("select at, max(at) over () as top from t join t as u using (at) where at > 1 order by at", t=trades)
    assert found.to_pylist() == [{"at": 2, "top": 3}, {"at": 3, "top": 3}]
    zoned = tl.sql("select timestamp '2020-01-01 00:00:00' at time zone 'UTC' as at", t=trades)
    assert zoned["at"].type.tz == "UTC"


def test_columns_may_have_the_names_that_queries_use_themselves():
    names = ["aggregate_0", "aggregate_0_of", "key_0", "order_0", "own_left_0", "timeloom_1", "timeloom_source_1"]
    table = pa.table({name: [1, 2, 2] for name in names} | {"start": [0, 1, 2], "end": [3, 4, 5]})
    for name in names:
        query = (
            f"select {name}, sum({name}) as s, count(*) as n from t group by {name} having count(*) > 0 order by n desc"
        )
        assert tl.sql(query, t=table).to_pylist() == [{name: 2, "s": 4, "n": 2}, {name: 1, "s": 1, "n": 1}]
        joined = f"t a left join u b on a.period during b.period and a.{name} = b.{name}"
        query = f"select a.{name} as x, b.{name} as y from {joined}"
        assert tl.sql(query, t=table, u=table).num_rows == 3


def test_a_column_goes_before_an_alias_in_groups():
    query = "select amount % 2 as amount, count(*) as n from sales where amount is not null group by amount"
    connection = ORACLE.cursor()
    connection.register("sales", SALES)
    expected = connection.sql(query).to_arrow_table().to_pylist()
    assert canonical(tl.sql(query, sales=SALES).to_pylist()) == canonical(expected)
