"""A second, independent oracle: DuckDB, on tables of 100,000 rows."""

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import timeloom as tl

ROWS = 100_000
CONDITIONS = {
    "intersects": "l.start < r.end AND r.start < l.end",
    "overlaps": "l.start < r.start AND r.start < l.end AND l.end < r.end",
    "contains": "l.start < r.start AND r.end < l.end",
    "during": "r.start < l.start AND l.end < r.end",
    "meets": "l.end = r.start",
    "starts": "l.start = r.start AND l.end < r.end",
    "finished_by": "l.end = r.end AND l.start < r.start",
    "equals": "l.start = r.start AND l.end = r.end",
    "iseql.end_following": "l.start < r.end AND r.end <= l.end",
    "iseql.before": "l.end <= r.start AND r.start <= l.end + 7",
    "iseql.left_overlap": "l.start <= r.start AND r.start < l.end AND l.end <= r.end "
    "AND r.start <= l.start + 7 AND r.end <= l.end + 7",
}
LIMITS = {"iseql.before": {"delta": 7}, "iseql.left_overlap": {"delta": 7, "epsilon": 7}}


def intervals(seed, number):
    random = np.random.default_rng(seed)
    start = random.integers(0, ROWS, ROWS)
    length = np.maximum(1, random.exponential(8, ROWS)).astype(np.int64)
    length[random.random(ROWS) < 0.0002] += ROWS
    keys = random.integers(0, 1000, ROWS)
    return pa.table({"start": start, "end": start + length, "k": keys, number: np.arange(ROWS)})


LEFT, RIGHT = intervals(1, "i"), intervals(2, "j")


@pytest.mark.parametrize("relation", CONDITIONS)
@pytest.mark.parametrize("keyed", [False, True])
def test_the_same_pairs_as_duckdb(relation, keyed):
    condition = CONDITIONS[relation] + (" AND l.k = r.k" if keyed else "")
    with duckdb.connect() as session:
        session.register("l", LEFT)
        session.register("r", RIGHT)
        summary = "count(*), sum(i), sum(j), sum(hash(i * 1000003 + j) % 1000003)"
        wanted = session.sql(f"SELECT {summary} FROM l JOIN r ON {condition}").fetchall()
        found = tl.join(
            LEFT, RIGHT, relation, on="k" if keyed else None, columns=["i", "j"], **LIMITS.get(relation, {})
        )
        session.register("found", found)
        assert session.sql(f"SELECT {summary} FROM found").fetchall() == wanted
