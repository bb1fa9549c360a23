"""Types that Polars and DuckDB have in their own way."""

from datetime import timedelta

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import timeloom as tl


@pytest.mark.parametrize("zone", ["+05:30", "-03:00", "+0545", "+01", "Z"])
def test_fixed_offsets_reach_polars_as_the_same_instants(zone):
    kind = pa.timestamp("us", zone)
    right = pa.table(
        {
            "start": pa.array([1, 5], kind),
            "end": pa.array([4, 9], kind),
            "nested": pa.array([[{"at": 1}], None], pa.list_(pa.struct([("at", kind)]))),
        }
    )
    left = pl.DataFrame({"start": [2], "end": [7]}).cast(pl.Datetime("us", "UTC"))
    found = tl.join(left, right, overlap=True, suffixes=("_left", "")).sort("start")
    assert isinstance(found, pl.DataFrame)
    assert found["start"].to_physical().to_list() == [1, 5]
    assert found["overlap_end"].to_physical().to_list() == [4, 7]
    assert found["nested"][0][0]["at"].microsecond == 1


def test_durations_of_duckdb_stay_durations():
    table = pa.table(
        {"start": [1, 5, 6], "end": [4, 9, 7], "d": pa.array([timedelta(hours=30), None, timedelta(microseconds=-1)])}
    )
    relation = duckdb.from_arrow(table)
    assert tl.stab(relation, [1, 5, 6]).project("d").fetchall() == [(value,) for value in table["d"].to_pylist()]
    joined = tl.join(table, relation, "equals", suffixes=("_left", "")).sort_by("start")
    assert joined["d"].type == pa.duration("us")
    assert joined["d"].to_pylist() == table["d"].to_pylist()


def test_intervals_of_duckdb_with_months_stay_intervals():
    relation = duckdb.sql("select 1 as start, 4 as end, interval '2 months' as d")
    assert tl.stab(relation, 2).types[2] == "INTERVAL"
    assert tl.stab(relation, 2).project("d::varchar").fetchall() == [("2 months",)]
