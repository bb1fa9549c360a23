"""Thousands of rows: the sequenced verbs against SQL that DuckDB runs."""

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import timeloom as tl
from rows import rows_of

ROWS = 3_000


def periods(seed):
    random = np.random.default_rng(seed)
    start = random.integers(0, 10_000, ROWS)
    length = np.where(random.random(ROWS) < 0.95, random.integers(1, 20, ROWS), random.integers(1, 3_000, ROWS))
    return pa.table({"key": random.integers(0, 40, ROWS), "id": np.arange(ROWS), "start": start, "end": start + length})


LEADS = """
    with reach as (select key, "start", max("end") over (partition by key order by "start"
                   rows between unbounded preceding and 1 preceding) as before from r),
         leads as (select key, coalesce(before, -1) as a, "start" as b from reach
                   where before is null or before < "start"
                   union all select key, max("end"), 1000000 from r group by key)
"""


@pytest.mark.parametrize("algorithm", ["auto", "sweep", "dip"])
def test_joins(algorithm):
    l, r = periods(1), periods(2)  # noqa: E741
    found = tl.temporal_join(l, r, on="key", algorithm=algorithm)
    expected = duckdb.sql("""
        select l.id, r.id, greatest(l."start", r."start"), least(l."end", r."end")
        from l join r on l.key = r.key and l."start" < r."end" and r."start" < l."end"
    """).fetchall()
    assert rows_of(found, "id", "id_right", "start", "end") == sorted(expected, key=str)


@pytest.mark.parametrize("algorithm", ["auto", "dip"])
def test_antijoins(algorithm):
    l, r = periods(3), periods(4)  # noqa: E741
    found = tl.temporal_antijoin(l, r, on="key", algorithm=algorithm)
    expected = duckdb.sql(f"""{LEADS}
        select l.id, greatest(l."start", a), least(l."end", b)
        from l join leads on l.key = leads.key and l."start" < b and a < l."end"
    """).fetchall()
    assert rows_of(found, "id", "start", "end") == sorted(expected, key=str)


def test_gaps_and_coalesced_periods():
    r = periods(5)
    leads = duckdb.sql(f"{LEADS} select key, a, b from leads where a >= 0 and b < 1000000").fetchall()
    assert rows_of(tl.gaps(r, by="key"), "key", "start", "end") == sorted(leads, key=str)
    merged = tl.coalesce(r, by="key")
    assert merged.num_rows == len(leads) + len(set(r["key"].to_pylist()))
    assert (
        tl.gaps(merged, by="key")
        .sort_by([("key", "ascending"), ("start", "ascending")])
        .equals(tl.gaps(r, by="key").sort_by([("key", "ascending"), ("start", "ascending")]))
    )


def test_aggregates_of_groups():
    t = periods(6)
    found = tl.temporal_aggregate(
        t, {"n": "count", "total": ("id", "sum"), "low": ("id", "min"), "different": ("id", "count_distinct")}, by="key"
    )
    expected = duckdb.sql("""
        with points as (select key, "start" as p from t union select key, "end" from t),
             steps as (select key, p as a, lead(p) over (partition by key order by p) as b from points)
        select steps.key, a, b, count(*), sum(id)::bigint, min(id), count(distinct id)
        from steps join t on t.key = steps.key and t."start" <= a and a < t."end" group by steps.key, a, b
    """).fetchall()
    assert rows_of(found, "key", "start", "end", "n", "total", "low", "different") == sorted(expected, key=str)
