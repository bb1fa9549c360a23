"""The ordinary SQL around windows and joins, against DuckDB, and the joins against the verbs."""

from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest

import timeloom as tl

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
    connection = duckdb.connect()
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
    connection = duckdb.connect()
    connection.register("sales", SALES)
    assert tl.sql(query, sales=SALES).to_pylist() == connection.sql(query).to_arrow_table().to_pylist()


def test_names_may_differ_in_case_and_be_quoted():
    assert tl.sql('select SHOP, "amount" from Sales where Amount > 9', sales=SALES)["SHOP"].to_pylist() == ["a", "b"]


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


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("select * from sales, rates", "found ','"),
        ("select * from sales join rates using (shop)", "or TEMPORAL before JOIN"),
        ("select * from sales join sales on sales.period meets sales.period", "both tables are called 'sales'"),
        ("select * from sales s join rates r on s.period durng r.period", "Did you mean 'during'"),
        ("select * from sales s join rates r on s.period during s.period", "expected the period of the other table"),
        ("select * from sales s join rates r on s.period during(delta 2) r.period", "takes no delta"),
        ("select * from sales s join rates r on s.shop = s.shop", "both sides are of one table"),
        ("select * from sales s join rates r on x.shop = r.shop", "expected s or r before a dot"),
        ("select * from sales s join rates r on s.shop > r.shop", "expected = and a column"),
        ("select * from sales s temporal join rates r on s.period during r.period", "not in a TEMPORAL join"),
        ("select * from sales s temporal semi join rates r using (shop)", "there is no TEMPORAL SEMI JOIN"),
        ("select start from sales s join rates r on s.period during r.period", "write s.start or r.start"),
        ("select z.shop from sales s", "there is no column 'z.shop'"),
        ("select z.* from sales s", "there is no table 'z'"),
        ("select * from (select * from sales)", "queries do not nest"),
        ("select (select 1) from sales", "found a nested query"),
        ("select max(amount) over () from sales", "found OVER"),
        ("with x as (select 1) select * from x", "expected SELECT"),
        ("select * from sales union select * from sales", "found 'union'"),
        ("select shop + 1 from sales", "cannot be computed"),
        ("select sinh(amount) from sales", "is not supported here"),
        ("select amount from sales where amount", "expected a condition"),
        ("select amount from sales where", "something is missing|Expected"),
        ("select mode(amount) from sales", "the aggregate MODE|MODE(amount) is not supported"),
        ("select sum(distinct amount) from sales", "expected COUNT(DISTINCT column)"),
        ("select sum(count(*)) from sales", "nests aggregates"),
        ("select shop from sales group by amount", "neither aggregated nor in GROUP BY"),
        ("select shop from sales having shop = 'a'", "HAVING needs GROUP BY"),
        ("select shop, shop from sales", "two results are called 'shop'"),
        ("select shop from sales order by 2", "there is no column 2"),
        ("select distinct shop from sales order by amount", "ORDER BY needs a result"),
        ("select shop from sales limit -1", "LIMIT needs a whole number"),
        ("select cast(amount as json) from sales", "the type JSON is unknown here"),
        ("select interval '1 moon' + day from sales", "is no span"),
    ],
)
def test_what_is_not_understood_is_refused_with_words_that_help(query, words):
    with pytest.raises(tl.UsageError) as caught:
        tl.sql(query, sales=SALES, rates=RATES)
    assert any(word in str(caught.value) for word in words.split("|"))
    assert "^" in str(caught.value)


REFUSED = [
    ("select * from sales limit 50 percent", "LIMIT takes a number of rows"),
    ("select distinct on (shop) amount from sales", "DISTINCT compares whole rows"),
    ("select shop from sales group by shop with rollup", "run one query for each grouping"),
    ("select shop from sales group by rollup (shop)", "not supported here|run one query for each grouping"),
    ("select shop from sales group by cube (shop)", "not supported here|run one query for each grouping"),
    (
        "select shop from sales group by grouping sets ((shop), ())",
        "not supported here|run one query for each grouping",
    ),
    ("select count(*) from sales group by all", "name the columns after GROUP BY"),
    ("select count(shop) from sales group by", "nothing after GROUP BY"),
    ("select count(shop, amount) from sales", "expected one argument"),
    ("select max(amount, price) from sales", "expected one argument"),
    ("select floor(price, 2) from sales", "not understood here"),
    ("select cast(amount as int format 'x') from sales", "CAST takes a type"),
    ("select amount between symmetric 3 and 1 from sales", "put the lower end first|not supported here"),
    ("select * except (shop) from sales", "name the columns"),
    ("select * replace (1 as shop) from sales", "name the columns"),
    ("select shop, from sales", "a comma with nothing after it"),
    ("select 0x1f from sales", "right behind a number"),
    ("select shop from sales; select 1 from sales", "expected one query"),
    ("select shop from sales fetch first 2 rows with ties", "not supported here|not understood"),
    ("select shop from sales period (start, end)", "PERIOD after a table has no meaning here"),
    ("select count(*) filter (where open) from sales", "not supported here"),
    ("select shop like 'a' escape 'b' from sales", "not supported here"),
    ("select round(price, amount) from sales", "as a constant"),
    ("select shop like shop from sales", "as a constant"),
    ("select interval amount day from sales", "no constant|not supported"),
    ("select shop from sales where count(*) > 1", "expected it in HAVING"),
    ("select aggregate_0, count(*) from sales", "there is no column|neither aggregated"),
    ("select 1e400 from sales", "too large"),
    ("select " + "9" * 5000 + " from sales", "cannot be computed"),
    ("select 'a from sales", "a quote is opened here"),
    ("select /* a from sales", "a comment is opened here"),
    ("select " + "(" * 500 + "amount" + ")" * 500 + " from sales", "nested too deeply"),
    ("select " + "not " * 3000 + "open from sales", "nested too deeply"),
    ("select shop from sales where shop = '\ud800'", "surrogate"),
    ("select shop from sales s join rates r on s.period during(delta 1, delta 2) r.period", "given before"),
    (
        "select shop from sales s join rates r on s.shop = r.shop and s.shop = r.shop and s.period during r.period",
        "each column once",
    ),
]


@pytest.mark.parametrize(("query", "words"), REFUSED)
def test_nothing_that_is_written_is_left_out(query, words):
    with pytest.raises(tl.UsageError) as caught:
        tl.sql(query, sales=SALES, rates=RATES)
    assert any(word in str(caught.value) for word in words.split("|")), str(caught.value)[:300]
    assert "^" in str(caught.value)
    assert len(str(caught.value)) < 1200


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


def test_columns_may_have_the_names_that_queries_use_themselves():
    names = ["aggregate_0", "aggregate_0_of", "key_0", "order_0", "own_left_0", "__output", "_aggregate_0"]
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
    connection = duckdb.connect()
    connection.register("sales", SALES)
    expected = connection.sql(query).to_arrow_table().to_pylist()
    assert canonical(tl.sql(query, sales=SALES).to_pylist()) == canonical(expected)
