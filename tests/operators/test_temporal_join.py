"""The sequenced join: snapshot reducible and change preserving, for every kind of join, key and algorithm."""

import datetime as dt

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timeloom as tl
from drawing import keys_for, periods
from reference import sequenced as reference
from rows import rows_of, table
from tree import worked_examples

CASES = worked_examples("dip")
ALGORITHMS = ["auto", "forward_scan", "sweep", "dip"]
HOWS = ["inner", "left", "right", "full"]


@settings(max_examples=150)
@given(
    left=periods(), right=periods(), how=st.sampled_from(HOWS), algorithm=st.sampled_from(ALGORITHMS), data=st.data()
)
def test_equals_brute_force_over_instants(left, right, how, algorithm, data):
    keyed = data.draw(st.booleans())
    keys, others = data.draw(keys_for(left)), data.draw(keys_for(right))
    result = tl.temporal_join(
        table(left, keys, "i"), table(right, others, "j"), on="key" if keyed else None, how=how, algorithm=algorithm
    )

    def fits(at, other):
        return not keyed or (keys[at] is not None and keys[at] == others[other])

    expected = reference.outer_join(left, right, how, fits)
    assert rows_of(result, "i", "j", "start", "end") == sorted(expected, key=str)
    if keyed:
        assert result["key"].to_pylist() == [
            others[j] if i is None else keys[i]
            for i, j in zip(result["i"].to_pylist(), result["j"].to_pylist(), strict=True)
        ]


@settings(max_examples=60)
@given(tables=st.tuples(periods(5), periods(5), periods(5)), how=st.sampled_from(HOWS), data=st.data())
def test_three_tables_are_snapshot_reducible(tables, how, data):
    keys = [data.draw(keys_for(rows)) for rows in tables]
    given_tables = [table(*column, name) for *column, name in zip(tables, keys, "ijk", strict=True)]
    result = tl.temporal_join(given_tables, on="key", how=how).to_pylist()
    assert [*given_tables[0].column_names, "j", "k"] == tl.temporal_join(given_tables, on="key").column_names

    def key_of(row):
        return next((keys[side][at] for side, at in enumerate(row) if at is not None), None)

    def fits(row, other):
        return key_of(row) is not None and key_of(row) == key_of(other)

    for instant in range(20):
        valid = [
            [tuple(at if side == own else None for side in range(3)) for at in reference.active(rows, instant)]
            for own, rows in enumerate(tables)
        ]
        joined = valid[0]
        for others in valid[1:]:
            pairs = reference.plain_join(joined, others, how, fits)
            joined = [
                tuple(a if a is not None else b for a, b in zip(x or (None,) * 3, y or (None,) * 3, strict=True))
                for x, y in pairs
            ]
        now = [(row["i"], row["j"], row["k"]) for row in result if row["start"] <= instant < row["end"]]
        assert sorted(now, key=str) == sorted(joined, key=str)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_more_pairs_than_rows(algorithm):
    rows = [(at, at + 40) for at in range(60)]
    found = tl.temporal_join(table(rows, number="i"), table(rows, number="j"), algorithm=algorithm)
    assert rows_of(found, "i", "j", "start", "end") == sorted(reference.join(rows, rows), key=str)


def test_figure_10():
    def relation(rows):
        return pa.table(dict(zip(["name", "start", "end", "room", "price"], zip(*rows, strict=True), strict=True)))

    example = CASES["DIP-fig10-join"]
    result = tl.temporal_join(relation(example["input"]["R"]), relation(example["input"]["S"]))
    found = [
        [
            *(row[name] for name in ("name", "name_right", "start", "end", "room", "room_right")),
            row["price"] - row["price_right"],
        ]
        for row in result.sort_by([("name", "ascending"), ("name_right", "ascending")]).to_pylist()
    ]
    assert found == example["expected"]


def test_result_periods_keep_the_left_inputs_form():
    left = pa.table({"a": [1], "from": pa.array([dt.date(2024, 1, 1)]), "to": pa.array([dt.date(9999, 12, 31)])})
    right = pa.table({"b": [2], "start": pa.array([dt.date(2024, 2, 1)]), "end": pa.array([None], pa.date32())})
    period = tl.Period("from", "to", closed="both", open_end=dt.date(9999, 12, 31))
    result = tl.temporal_join(left, right, how="left", left_period=period, right_period=("start", "end"))
    assert result.column_names == ["a", "from", "to", "b"]
    assert rows_of(result, "b", "from", "to") == [
        (2, dt.date(2024, 2, 1), dt.date(9999, 12, 31)),
        (None, dt.date(2024, 1, 1), dt.date(2024, 1, 31)),
    ]


def test_a_finer_right_side_is_not_rounded():
    left = pa.table({"start": pa.array([0], pa.timestamp("s")), "end": pa.array([10], pa.timestamp("s"))})
    right = pa.table({"start": pa.array([1_500_000], pa.timestamp("us")), "end": pa.array([None], pa.timestamp("us"))})
    result = tl.temporal_join(left, right)
    assert result["start"].cast(pa.int64()).to_pylist() == [1_500_000]
    assert result["end"].cast(pa.int64()).to_pylist() == [10_000_000]


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_result_is_of_the_left_inputs_kind(kind):
    left = kind({"x": [1], "start": [0], "end": [4]})
    assert isinstance(tl.temporal_join(left, left), kind)
    assert isinstance(tl.temporal_join([left, left, left]), kind)


def test_columns_of_equal_names():
    one = pa.table({"x": [1], "start": [0], "end": [4]})
    assert tl.temporal_join(one, one).column_names == ["x", "start", "end", "x_right"]
    assert tl.temporal_join([one, one, one]).column_names == ["x", "start", "end", "x_2", "x_3"]
    chosen = tl.temporal_join([one, one, one], suffixes=["", "_b", "_c"], columns=["x_c", "start"])
    assert chosen.column_names == ["x_c", "start"]
    with pytest.raises(tl.UsageError, match="more than one column named 'x'"):
        tl.temporal_join(one, one, suffixes=("", ""))
    with pytest.raises(tl.UsageError, match="3 tables, but 2"):
        tl.temporal_join(one, one, suffixes=("", "_b", "_c"))


def test_quarantined_rows_of_several_tables():
    good = pa.table({"x": [1], "start": [0], "end": [4]})
    bad = pa.table({"x": [2, 3], "start": [0, 9], "end": [4, 4]})
    found = tl.temporal_join([good, good, bad], on_invalid="quarantine")
    assert found.result.num_rows == 1
    assert found.rejected.select(["side", "x", "reason"]).to_pylist() == [
        {"side": 3, "x": 3, "reason": "end is before start"}
    ]


def test_rejected_rows_of_several_tables_keep_columns_of_other_types_apart():
    tables = [pa.table({"start": [1, 5], "end": [4, 3], "x": values}) for values in ([1, 2], ["u", "v"], [1.5, 2.5])]
    found = tl.temporal_join(tables, how="full", on_invalid="quarantine")
    assert found.result.num_rows == 1
    assert found.rejected.select(["side", "x", "x_2", "x_3"]).to_pylist() == [
        {"side": 1, "x": 2, "x_2": None, "x_3": None},
        {"side": 2, "x": None, "x_2": "v", "x_3": None},
        {"side": 3, "x": None, "x_2": None, "x_3": 2.5},
    ]


def test_bad_calls_say_what_to_do():
    one = pa.table({"key": [1], "start": [0], "end": [4]})
    with pytest.raises(tl.UsageError, match="needs two tables, or a list"):
        tl.temporal_join(one)
    with pytest.raises(tl.UsageError, match="list of 1 tables; give two or more"):
        tl.temporal_join([one])
    with pytest.raises(tl.UsageError, match="how='anti' is a verb of its own: temporal_antijoin"):
        tl.temporal_join(one, one, how="anti")
    with pytest.raises(tl.UsageError, match=r"algorithm='dap' is unknown\. Did you mean 'dip'\?"):
        tl.temporal_join(one, one, algorithm="dap")
    with pytest.raises(tl.UsageError, match="'start' is a period column of the left table"):
        tl.temporal_join(one, one, on="start")
    with pytest.raises(tl.InvalidInputError, match=r"the left table has no column 'kay'\. Did you mean 'key'\?"):
        tl.temporal_join(one, one, on="kay")
    with pytest.raises(tl.UsageError, match="with more than two tables give period= and on="):
        tl.temporal_join([one, one, one], left_on="key", right_on="key")


def test_explain():
    one = pa.table({"start": [0], "end": [4]})
    assert tl.explain(tl.temporal_join, one, one)["algorithm"] == "forward_scan"
    assert tl.explain(tl.temporal_join, one, one, algorithm="dip")["algorithm"] == "dip"
