"""What goes into a join and comes out: types of time, conventions, open ends, kinds of tables, invalid rows."""

from datetime import UTC, date, datetime, timedelta, timezone

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timeloom as tl
from drawing import periods
from reference.relations import RELATIONS, join_pairs

SHIFTS = {"left": (0, 0), "right": (-1, -1), "both": (0, -1), "neither": (-1, 0)}
DAY = date(2024, 2, 28)
NOON = datetime(2024, 2, 28, 12)


def written(rows, closed, convert, kind):
    """Half-open rows as columns in another convention and type."""
    first, last = SHIFTS[closed]
    return pa.table(
        {
            "from": pa.array([convert(start + first) for start, _ in rows], kind),
            "till": pa.array([None if end is None else convert(end + last) for _, end in rows], kind),
            "id": pa.array(range(len(rows)), pa.int64()),
        }
    )


TYPES = {
    "int8": (lambda tick: tick, pa.int8()),
    "uint16": (lambda tick: tick + 20, pa.uint16()),
    "date32": (lambda tick: DAY + timedelta(days=tick), pa.date32()),
    "date64": (lambda tick: DAY + timedelta(days=tick), pa.date64()),
    "microseconds": (lambda tick: NOON + timedelta(microseconds=tick), pa.timestamp("us")),
    "nanoseconds": (lambda tick: NOON + timedelta(microseconds=tick), pa.timestamp("ns")),
    "zoned": (lambda tick: (NOON + timedelta(microseconds=tick)).replace(tzinfo=UTC), pa.timestamp("us", "Asia/Tokyo")),
}


@pytest.mark.parametrize("kind", TYPES)
@settings(max_examples=25)
@given(
    left=periods(),
    right=periods(),
    closed=st.tuples(st.sampled_from(list(SHIFTS)), st.sampled_from(list(SHIFTS))),
    relation=st.sampled_from(["intersects", "meets", "during", "overlaps"]),
)
def test_every_type_and_convention_means_the_same_periods(kind, left, right, closed, relation):
    a, b = (written(rows, how, *TYPES[kind]) for rows, how in zip((left, right), closed, strict=True))
    result = tl.join(
        a,
        b,
        relation,
        left_period=tl.Period("from", "till", closed=closed[0]),
        right_period=tl.Period("from", "till", closed=closed[1]),
    )
    pairs = sorted(zip(result["id"].to_pylist(), result["id_right"].to_pylist(), strict=True))
    assert pairs == join_pairs(left, right, RELATIONS[relation])


@settings(max_examples=60)
@given(rows=periods(), data=st.data(), relation=st.sampled_from(sorted(RELATIONS)))
def test_open_ends_by_null_and_by_sentinel_last_forever(rows, data, relation):
    forms = data.draw(st.lists(st.sampled_from(["ends", "null", "sentinel"]), min_size=len(rows), max_size=len(rows)))
    forever = 10**6
    ends = [{"ends": end, "null": None, "sentinel": 99}[form] for (_, end), form in zip(rows, forms, strict=True)]
    truth = [(s, e if form == "ends" else forever) for (s, e), form in zip(rows, forms, strict=True)]
    table = pa.table(
        {
            "start": pa.array([start for start, _ in rows], pa.int64()),
            "end": pa.array(ends, pa.int64()),
            "id": pa.array(range(len(rows)), pa.int64()),
        }
    )
    result = tl.join(table, table, relation, period=tl.Period(open_end=99), overlap=relation == "intersects")
    pairs = sorted(zip(result["id"].to_pylist(), result["id_right"].to_pylist(), strict=True))
    assert pairs == join_pairs(truth, truth, RELATIONS[relation])
    assert result["end"].to_pylist() == [ends[i] for i in result["id"].to_pylist()]


def test_overlap_of_two_open_periods_is_open_in_the_left_tables_form():
    left = pa.table({"start": [1, 2], "end": pa.array([None, 9], pa.int64())})
    right = pa.table({"start": [3], "end": [99]})
    result = tl.join(left, right, right_period=tl.Period(open_end=99), overlap=True)
    assert sorted(result["overlap_end"].to_pylist(), key=str) == [9, None]
    swapped = tl.join(right, left, left_period=tl.Period(open_end=99), overlap=True)
    assert sorted(swapped["overlap_end"].to_pylist()) == [9, 99]


def one_hour_from(instant, kind):
    return pa.table({"start": pa.array([instant], kind), "end": pa.array([instant + timedelta(hours=1)], kind)})


def test_zones_compare_by_instant():
    tokyo = datetime(2024, 1, 1, 9, tzinfo=timezone(timedelta(hours=9)))
    left = one_hour_from(tokyo, pa.timestamp("us", "Asia/Tokyo"))
    right = one_hour_from(datetime(2024, 1, 1, tzinfo=UTC), pa.timestamp("s", "UTC"))
    assert tl.join(left, right, "equals").num_rows == 1


def test_coarser_units_meet_finer_ones():
    left = pa.table({"start": pa.array([1, 5], pa.timestamp("s")), "end": pa.array([3, 2**62], pa.timestamp("s"))})
    right = pa.table({"start": pa.array([2500], pa.timestamp("ms")), "end": pa.array([6500], pa.timestamp("ms"))})
    result = tl.join(left, right, overlap=True)
    assert result["overlap_start"].type == pa.timestamp("us")
    assert sorted(result["overlap_start"].cast(pa.int64()).to_pylist()) == [2_500_000, 5_000_000]


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda t: t, pa.Table),
        (lambda t: t.to_pandas(), pd.DataFrame),
        (pl.from_arrow, pl.DataFrame),
        (duckdb.from_arrow, duckdb.DuckDBPyRelation),
        (lambda t: t.combine_chunks().to_batches()[0], pa.Table),
        (lambda t: t.to_reader(), pa.Table),
    ],
)
def test_the_answer_is_of_the_left_inputs_kind(make, kind):
    table = pa.table({"start": [1, 4], "end": [3, 8], "name": ["x", None], "n": [1, 2]})
    result = tl.join(make(table), make(table), "before", how="left")
    assert isinstance(result, kind)
    rows = pa.table(result.to_arrow_table() if kind is duckdb.DuckDBPyRelation else result).to_pylist()
    assert [(row["n"], None if pd.isna(row["n_right"]) else row["n_right"]) for row in rows] == [(1, 2), (2, None)]


def test_pandas_keeps_integers_whole_when_an_outer_join_adds_nulls():
    big = 2**53 + 1
    left = pd.DataFrame({"start": [1, 5], "end": [2, 6]})
    right = pd.DataFrame({"start": [1], "end": [2], "n": [big], "yes": [True]})
    result = tl.join(left, right, how="left")
    assert result["n"].tolist()[0] == big
    assert str(result["n"].dtype) == "Int64"
    assert str(result["yes"].dtype) == "boolean"


def test_equal_names_get_suffixes_and_keys_appear_once():
    table = pa.table({"k": [1], "start": [1], "end": [3], "v": [7]})
    assert tl.join(table, table, on="k").column_names == [
        "k",
        "start",
        "end",
        "v",
        "start_right",
        "end_right",
        "v_right",
    ]
    assert tl.join(table, table, suffixes=("_l", "_r")).column_names[:2] == ["k_l", "start_l"]
    renamed = table.rename_columns(["k", "start", "end", "v_right"])
    with pytest.raises(tl.UsageError, match="more than one column named 'v_right'.*suffixes"):
        tl.join(renamed.append_column("v", pa.array([1])), table, on="k")


BAD = pa.table({"start": [1, None, 5, 6, 2], "end": [3, 4, 2, 6, None], "id": [0, 1, 2, 3, 4]})
GOOD = pa.table({"start": [0], "end": [100], "id": [9]})


def test_invalid_rows_are_an_error_that_names_column_count_and_offenders():
    with pytest.raises(tl.InvalidInputError) as caught:
        tl.join(BAD, GOOD)
    text = str(caught.value)
    assert "3 of 5 rows of the left table have no usable period" in text
    assert "1 where start is null (row 1: [None, 4])" in text
    assert "1 where end is before start (row 2: [5, 2])" in text
    assert "1 where the period is empty: start equals end (row 3: [6, 6])" in text
    assert "on_invalid='quarantine'" in text


def test_quarantine_returns_the_rejected_rows_with_reasons():
    answer = tl.join(BAD, GOOD, on_invalid="quarantine")
    assert answer.result["id"].to_pylist() == [0, 4]
    assert answer.rejected.select(["side", "id", "reason"]).to_pylist() == [
        {"side": "left", "id": 1, "reason": "start is null"},
        {"side": "left", "id": 2, "reason": "end is before start"},
        {"side": "left", "id": 3, "reason": "the period is empty: start equals end"},
    ]
    result, rejected = tl.join(GOOD, BAD, on_invalid="quarantine")
    assert result["id_right"].to_pylist() == [0, 4]
    assert rejected["side"].to_pylist() == ["right"] * 3


def test_drop_says_how_many_rows_it_dropped():
    with pytest.warns(tl.DroppedRowsWarning, match="dropped 3 of 5 rows of the left table: 1 with a null start"):
        result = tl.join(BAD, GOOD, on_invalid="drop")
    assert result["id"].to_pylist() == [0, 4]


def test_empty_periods_follow_their_own_option():
    empty = pa.table({"start": [5], "end": [5], "id": [0]})
    at = pa.table({"start": [5, 4], "end": [6, 5], "id": [1, 2]})
    with pytest.raises(tl.InvalidInputError, match="period is empty"):
        tl.join(empty, at)
    with pytest.warns(tl.DroppedRowsWarning, match="1 with an empty period"):
        assert tl.join(empty, at, empty="drop").num_rows == 0
    kept = tl.join(empty, at, empty="point")
    assert (kept["id_right"].to_pylist(), kept["end"].to_pylist()) == ([1], [5])


def test_null_keys_match_nothing_and_are_no_error():
    table = pa.table({"k": pa.array([None, 1], pa.int32()), "start": [1, 1], "end": [2, 2]})
    assert tl.join(table, table, on="k").num_rows == 1
    assert tl.join(table, table, on="k", how="full").num_rows == 3
