"""Sequenced joins in SQL, instant by instant, against the ordinary join of DuckDB."""

import random

import duckdb
import pyarrow as pa
import pytest

import timeloom as tl

INSTANTS = 12
ORACLE = duckdb.connect()


def drawn(draw, value):
    starts = [draw.randrange(6) for _ in range(draw.randrange(6))]
    return pa.table(
        {
            "k": pa.array([draw.choice([None, 1, 2]) for _ in starts], pa.int64()),
            value: pa.array([draw.choice([None, 1, 2, 3]) for _ in starts], pa.int64()),
            "start": pa.array(starts, pa.int64()),
            "end": pa.array([start + draw.randrange(1, 4) for start in starts], pa.int64()),
        }
    )


def by_instant(connection, columns, kind, rest):
    """The ordinary join of the rows that are valid at each instant."""
    valid = "select {0}0.*, t from {0}0, range({1}) i(t) where t >= start and t < {0}0.end"
    definitions = ", ".join(f"{name} as ({valid.format(name, INSTANTS)})" for name in "ab")
    return connection.sql(
        f"with {definitions} select {', '.join(columns)} from a {kind} join b on a.t = b.t and a.k = b.k {rest}"
    ).fetchall()


@pytest.mark.parametrize("kind", ["", "left", "right", "full", "semi", "anti"])
@pytest.mark.parametrize("rest", ["", "and a.v < b.w", "and (b.w = 1 or a.v is null)"])
def test_every_instant_is_an_ordinary_join(kind, rest):
    one_sided = kind in ("semi", "anti")
    names = ["k", "v"] if one_sided else ["k", "v", "w"]
    columns = ["a.k", "a.v", "a.t"] if one_sided else ["coalesce(a.k, b.k)", "a.v", "b.w", "coalesce(a.t, b.t)"]
    for seed in range(4):
        draw = random.Random(f"{seed}-{kind}-{rest}")
        left, right = drawn(draw, "v"), drawn(draw, "w")
        rows = tl.sql(f"select * from a temporal {kind} join b on a.k = b.k {rest}", a=left, b=right).to_pylist()
        found = [(*(row[name] for name in names), at) for row in rows for at in range(row["start"], row["end"])]
        connection = ORACLE.cursor()
        connection.register("a0", left)
        connection.register("b0", right)
        assert sorted(found, key=repr) == sorted(by_instant(connection, columns, kind, rest), key=repr), seed
        connection.close()


def test_sub_periods_of_semi_joins_are_maximal():
    left = pa.table({"k": [1], "start": [0], "end": [10]})
    right = pa.table({"k": [1, 1, 1], "start": [1, 3, 7], "end": [4, 5, 8]})
    found = tl.sql("select start, end from a temporal semi join b using (k) order by start", a=left, b=right)
    assert found.to_pylist() == [{"start": 1, "end": 5}, {"start": 7, "end": 8}]
