"""Window queries in SQL: the syntax of the thesis, against brute force and the verb."""

from datetime import date, timedelta

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timeloom as tl
from reference.bitemporal import ONE, slide_query

EXAMPLE = pa.table(
    {
        "id": list(range(1, 13)),
        "name": ["John"] * 7 + ["Max"] + ["John"] * 4,
        "balance": [50, 50, 40, 30, 100, 30, 30, 80, 30, 120, 30, 50],
        "app_start": [10, 10, 11, 11, 13, 14, 14, 14, 11, 12, 15, 16],
        "app_end": [None, 11, None, 13, 14, None, 16, None, 12, 15, 16, 17],
        "sys_start": [100, 102, 102, 105, 105, 105, 106, 107, 108, 108, 108, 109],
        "sys_end": [102, None, 105, 108, 108, 106, 108, None, None, None, None, None],
    }
)

WINDOWS = "[SYS, START 100, RANGE 4, SLIDE 1] [APP, START 10, RANGE 2, SLIDE 1]"


def rows_of(query, **tables):
    return tl.sql(query, **(tables or {"orders": EXAMPLE})).to_pylist()


def test_the_query_of_section_4_4():
    found = rows_of(f"select * from orders {WINDOWS} [RATIO 1:2] STEPS 7")
    by_step = {step: [row["id"] for row in found if row["step"] == step] for step in range(8)}
    assert by_step == {0: [3], 1: [4], 2: [5], 3: [6], 4: [7], 5: [7], 6: [], 7: [8]}


def test_aggregates_have_one_row_a_step_even_if_a_window_is_empty():
    found = rows_of(
        f"select count(*), sum(balance) as total, avg(balance * 2) from orders {WINDOWS} [RATIO 1:2] STEPS 7"
    )
    assert list(found[0]) == ["step", "count(*)", "total", "avg(balance * 2)"]
    assert [row["count(*)"] for row in found] == [1, 1, 1, 1, 1, 1, 0, 1]
    assert [row["total"] for row in found] == [40, 30, 100, 30, 30, 30, None, 80]
    assert found[2]["avg(balance * 2)"] == 200.0


def test_the_condition_comes_before_the_windows():
    found = rows_of(
        f"SELECT COUNT(*) AS n FROM orders {WINDOWS} [RATIO 1:2] STEPS 7 WHERE balance > 30 AND name = 'John'"
    )
    assert [row["n"] for row in found] == [1, 0, 1, 0, 0, 0, 0, 0]


def test_without_steps_there_is_the_initial_window():
    assert rows_of(f"select count(*) as n from orders {WINDOWS}") == [{"step": 0, "n": 1}]


def test_ordinary_sql_around_the_windows():
    found = rows_of(
        f"""select step, app_last as at, count(*) + 1 as more, max(balance) - min(balance) as spread
            from orders o {WINDOWS} [RATIO 0:1] MEANING visible STEPS 5
            group by step having count(*) > 1 order by more desc, step limit 2"""
    )
    assert [row["at"] for row in found] == sorted(row["at"] for row in found)
    assert found[0]["more"] >= found[1]["more"] > 2
    grouped = rows_of(
        f"select name, count(*) as n from orders {WINDOWS} [RATIO 1:2] STEPS 9 group by name order by step"
    )
    assert {(row["step"], row["name"]): row["n"] for row in grouped if row["name"] == "Max"} == {
        (7, "Max"): 1,
        (8, "Max"): 1,
        (9, "Max"): 1,
    }


def test_dates_intervals_and_own_period_columns():
    start = date(2014, 3, 20)
    contracts = pa.table(
        {
            "signed": [start + timedelta(days=k) for k in range(4)],
            "cancelled": pa.array([None, date(2014, 5, 1), None, None], pa.date32()),
            "active": [date(2014, 4, 1) + timedelta(days=10 * k) for k in range(4)],
            "expires": [date(2015, 4, 1)] * 4,
        }
    )
    query = """
        select sys_first, sys_last, count(*) as n
        from contracts
            [SYS, PERIOD (signed, cancelled), START DATE '2014-03-01', RANGE INTERVAL '60' DAY, SLIDE INTERVAL '1 day']
            [APP, PERIOD (active, expires), START '2014-03-31', RANGE INTERVAL 30 DAYS, SLIDE INTERVAL '1' DAY]
            [RATIO 1:1] STEPS 4 MEANING began
    """
    found = rows_of(query, contracts=contracts)
    assert [row["n"] for row in found] == [3, 3, 4, 4, 3]
    assert found[0]["sys_last"] == date(2014, 4, 30)


def test_windows_may_go_backward_and_grow():
    found = rows_of(
        """select app_first, app_last, count(*) as n from orders
           [SYS, START 105, RANGE 4, SLIDE 0] [APP, START 14, RANGE 2, SLIDE -1, START SLIDE -2] [RATIO 0:1] STEPS 2"""
    )
    assert [(row["app_first"], row["app_last"]) for row in found] == [(14, 16), (12, 15), (10, 14)]
    assert [row["n"] for row in found] == [2, 2, 2]


TIMES = st.integers(0, 12)


@st.composite
def histories(draw):
    rows = []
    for _ in range(draw(st.integers(0, 10))):
        app, sys = draw(TIMES), draw(TIMES)
        rows.append((app, draw(st.integers(app, 12)), sys, draw(st.one_of(st.none(), st.integers(sys, 12)))))
    return rows


@given(
    histories(),
    st.tuples(TIMES, st.integers(0, 4), st.integers(-2, 2)),
    st.tuples(TIMES, st.integers(0, 4), st.integers(-2, 2)),
)
@settings(max_examples=60, deadline=None)
def test_queries_equal_brute_force(rows, sys, app):
    names = ("app_start", "app_end", "sys_start", "sys_end")
    table = pa.table({n: pa.array([row[k] for row in rows], pa.int64()) for k, n in enumerate(names)})
    brackets = " ".join(
        f"[{name}, START {start}, RANGE {length}, SLIDE {pace}]"
        for name, (start, length, pace) in (("SYS", sys), ("APP", app))
    )
    for meaning in (*ONE, ("began", "snapshot"), ("visible", "began")):
        words = meaning if isinstance(meaning, str) else f"({meaning[0]}, {meaning[1]})"
        query = f"select count(*) as n, count(sys_end) as ended from t {brackets} [RATIO 2:1] STEPS 5 MEANING {words}"
        expected = slide_query(rows, (*sys, sys[2]), (*app, app[2]), (2, 1), 5, meaning)
        assert rows_of(query, t=table) == [
            {"step": step, "n": len(valid), "ended": sum(rows[row][3] is not None for row in valid)}
            for step, (_, _, valid) in enumerate(expected)
        ]


@pytest.mark.parametrize(
    ("query", "column", "words"),
    [
        ("selec 1", 1, "found 'selec', expected SELECT"),
        ("select count(*) from", 21, "expected the name of a table"),
        ("select count(*) from ordrs", 22, "there is no table 'ordrs'. Did you mean 'orders'"),
        ("select from orders", 8, "expected an expression to select"),
        ("select balanse from orders", 8, 'Candidate bindings: "balance"'),
        ("select count(*) from orders [SYS, START 1, RANGE 1, SLIDE 1]", 29, "expected a window for APP"),
        ("select count(*) from orders [SYS, START 1, RANGE -1, SLIDE 1] [APP]", 30, "range=-1 leaves no window"),
        ("select count(*) from orders " + WINDOWS + " MEANING (began)", 112, "expected , between the meaning"),
        ("select count(*) from orders " + WINDOWS + " MEANING (began, soon)", 114, "expected a meaning"),
        ("select count(*) from orders [SYS, START 1, RANGE 1]", 51, "expected ', SLIDE"),
        ("select count(*) from orders [SYS START 1]", 34, "expected ', START"),
        ("select count(*) from orders [SIS, START 1]", 30, "expected SYS, APP or RATIO"),
        ("select count(*) from orders [SYS, START new, RANGE 1, SLIDE 1]", 41, "expected an instant"),
        ("select count(*) from orders [SYS, START 1, RANGE 1.5, SLIDE 1]", 50, "expected a span"),
        ("select count(*) from orders [SYS, START 1, RANGE INTERVAL '2 moons', SLIDE 1]", 50, "is no span"),
        ("select count(*) from orders [SYS, START 1, RANGE 1, SLIDE 1", 60, "expected ] to close"),
        ("select count(*) from orders " + WINDOWS + " [RATIO 0:0]", 99, "never slides"),
        ("select count(*) from orders " + WINDOWS + " [RATIO 1]", 106, "expected : between"),
        ("select count(*) from orders " + WINDOWS + " [RATIO 1:1] [RATIO 1:1]", 111, "given before"),
        ("select count(*) from orders " + WINDOWS + " STEPS few", 104, "expected the number of slides"),
        ("select count(*) from orders " + WINDOWS + " STEPS 1 STEPS 2", 106, "given before"),
        ("select count(*) from orders " + WINDOWS + " MEANING lively", 106, "expected a meaning"),
        ("select count(*) from orders " + WINDOWS + " STEPS 1 5", 106, "expected the end of the FROM clause"),
        ("select name, count(*) from orders " + WINDOWS, 8, "neither aggregated nor in GROUP BY"),
        ("select *, count(*) from orders " + WINDOWS, 8, "a star beside aggregates"),
        ("select 'open from orders", 8, "never closed"),
        ("select count(*) from orders [SYS, START 1, RANGE 4, RANGE 5, SLIDE 1]", 53, "RANGE was given before"),
        ("select count(*) from orders [SYS, START 1, START 2, RANGE 4, SLIDE 1]", 44, "START was given before"),
        ("select count(*) from orders [SYS, START 1, RANGE 4, SLIDE 1, SLIDE 2]", 62, "SLIDE was given before"),
        ("select count(*) from orders [SYS, START SLIDE 1, START SLIDE 2]", 50, "START SLIDE was given before"),
        ("select count(*) from orders period (a, b) " + WINDOWS, 43, "in each bracket"),
        ("select count(*) from orders " + WINDOWS + " STEPS ²", 104, "whole number"),
    ],
)
def test_errors_point_at_the_token(query, column, words):
    with pytest.raises(tl.UsageError) as caught:
        tl.sql(query, orders=EXAMPLE)
    message = str(caught.value)
    first, _, mark = message.split("\n", maxsplit=1)[0], *message.split("\n")[1:]
    assert words in first
    assert first.startswith(f"line 1, column {column}: ")
    assert mark.index("^") == column + 1


def test_errors_count_lines():
    with pytest.raises(tl.UsageError, match=r"line 3, column 22: found 'RANG'"):
        tl.sql("select count(*)\nfrom orders\n    [SYS, START 100, RANG 4]", orders=EXAMPLE)


def test_a_query_needs_text_and_tables():
    with pytest.raises(tl.UsageError, match="the query is empty"):
        tl.sql("  ", orders=EXAMPLE)
    with pytest.raises(tl.UsageError, match="no table was given"):
        tl.sql("select * from orders")
