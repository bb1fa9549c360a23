"""Counts and aggregates of 100,000 rows, with keys, against DuckDB.

DuckDB would compare all rows of equal keys; there the keys are moved apart in time, so that it sorts instead.
"""

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import timeloom as tl

CONDITIONS = {
    "intersects": "l.start < r.end AND r.start < l.end",
    "during": "r.start < l.start AND l.end < r.end",
    "overlaps": "l.start < r.start AND r.start < l.end AND l.end < r.end",
    "starts | equals": "l.start = r.start AND l.end <= r.end",
    "iseql.before": "l.end <= r.start AND r.start <= l.end + 40",
}


def drawn(rows, seed):
    random = np.random.default_rng(seed)
    start = random.integers(0, 500_000, rows)
    length = np.where(random.random(rows) < 0.001, random.integers(1, 9000, rows), random.integers(1, 40, rows))
    return pa.table(
        {
            "start": start,
            "end": start + length,
            "key": random.integers(0, 3, rows),
            "v": random.integers(-1000, 1000, rows),
        }
    )


@pytest.fixture(scope="module")
def session():
    with duckdb.connect(config={"threads": 2}) as connection:
        for name, seed in (("l", 1), ("r", 2)):
            connection.register("rows", drawn(100_000, seed).append_column("id", pa.array(np.arange(100_000))))
            apart = 'SELECT id, v, start + key * 10_000_000 AS start, "end" + key * 10_000_000 AS "end" FROM rows'
            connection.sql(f"CREATE TABLE {name} AS {apart}")
        yield connection


@pytest.mark.parametrize("name", CONDITIONS)
def test_counts_and_aggregates_equal_those_of_duckdb(session, name):
    options = {"delta": 40} if name == "iseql.before" else {}
    found = tl.count_join(
        drawn(100_000, 1),
        drawn(100_000, 2),
        name,
        on="key",
        aggregates={"total": ("v", "sum"), "least": ("v", "min"), "most": ("v", "max")},
        **options,
    )
    expected = session.sql(
        f"""SELECT l.id, count(r.v) AS count, sum(r.v)::BIGINT AS total, min(r.v) AS least, max(r.v) AS most
        FROM l LEFT JOIN r ON {CONDITIONS[name]} GROUP BY l.id ORDER BY l.id"""
    ).to_arrow_table()
    for column in ("count", "total", "least", "most"):
        assert found[column].to_pylist() == expected[column].to_pylist()
