"""Whatever comes in, the answer is right or an error says what to do."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timeloom as tl
from reference.relations import RELATIONS, join_pairs

ROWS = pa.table({"start": [1], "end": [3], "key": ["a"]})
EXTREMES = [-(2**63), -(2**63) + 1, -1, 0, 1, 2**63 - 2, 2**63 - 1]


def with_column(name, values, kind=None):
    return ROWS.set_column(ROWS.column_names.index(name), name, pa.array(values, kind))


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: tl.join(ROWS, ROWS, "touches"), tl.UsageError, "unknown relation 'touches'"),
        (lambda: tl.join(ROWS, ROWS, how="outerr"), tl.UsageError, "how='outerr' is unknown"),
        (lambda: tl.join(ROWS, ROWS, algorithm="magic"), tl.UsageError, "algorithm='magic' is unknown.*forward_scan"),
        (lambda: tl.join(ROWS, ROWS, strategy="magic"), tl.UsageError, "strategy='magic' is unknown"),
        (lambda: tl.join(ROWS, ROWS, on="kee"), tl.InvalidInputError, "left table has no column 'kee'.*'key'"),
        (lambda: tl.join(ROWS, ROWS, on="start"), tl.UsageError, "'start' is a period column"),
        (lambda: tl.join(ROWS, ROWS, on="key", left_on="key"), tl.UsageError, "either on="),
        (lambda: tl.join(ROWS, ROWS, left_on="key"), tl.UsageError, "left_on names 1 columns and right_on 0"),
        (lambda: tl.join(ROWS, ROWS, on=["key", "key"]), tl.UsageError, "on= names 'key' twice"),
        (lambda: tl.join(ROWS, ROWS, period=("start", "stop")), tl.InvalidInputError, "no column 'stop'"),
        (lambda: tl.join(ROWS, ROWS, period=5), tl.UsageError, "period takes two column names"),
        (lambda: tl.join(ROWS, ROWS, period=("start",)), tl.UsageError, "has 1 parts"),
        (lambda: tl.join(ROWS, ROWS, period=("start", "start")), tl.UsageError, "two columns"),
        (lambda: tl.Period(closed="open"), tl.UsageError, "closed='open' is unknown"),
        (lambda: tl.join(ROWS, ROWS, columns=["start", "ned"]), tl.UsageError, "asks for 'ned'.*'end'"),
        (lambda: tl.join(ROWS, ROWS, suffixes="_x"), tl.UsageError, "suffixes takes a pair of texts"),
        (lambda: tl.join(ROWS, ROWS, overlap=True, how="semi"), tl.UsageError, "overlap=True needs pairs"),
        (lambda: tl.join(ROWS, ROWS, on_invalid="ignore"), tl.UsageError, "on_invalid='ignore' is unknown"),
        (lambda: tl.join(ROWS, ROWS, empty="keep"), tl.UsageError, "empty='keep' is unknown"),
        (lambda: tl.join(ROWS, ROWS, batches=True, batch_rows=0), tl.UsageError, "batch_rows=0 is too small"),
        (lambda: tl.join([1, 2], ROWS), tl.UsageError, "left input is a list"),
        (lambda: tl.join(ROWS, None), tl.UsageError, "right input is a NoneType"),
        (
            lambda: tl.join(with_column("start", ["2024-01-01"]), ROWS),
            tl.InvalidInputError,
            "'start' of the left table is text.*parse",
        ),
        (lambda: tl.join(with_column("end", [3.5]), ROWS), tl.InvalidInputError, "'end' .* is double.*Int64"),
        (lambda: tl.join(with_column("end", [3], pa.date32()), ROWS), tl.InvalidInputError, "mixes types.*cast"),
        (
            lambda: tl.join(with_column("end", [2**64 - 1], pa.uint64()), ROWS),
            tl.InvalidInputError,
            "do not fit into int64",
        ),
        (
            lambda: tl.join(ROWS, with_column("key", [1]), on="key"),
            tl.InvalidInputError,
            "'key' .string. and 'key' .int64. cannot be equal",
        ),
        (
            lambda: tl.join(ROWS, ROWS, period=tl.Period(open_end="never")),
            tl.UsageError,
            "open_end='never' does not fit",
        ),
    ],
)
def test_bad_calls_say_what_was_found_and_how_to_mend_it(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


def timestamps(unit, zone, values):
    kind = pa.timestamp(unit, zone)
    return pa.table({"start": pa.array([values[0]], kind), "end": pa.array([values[1]], kind)})


def test_zoned_and_unzoned_periods_do_not_mix():
    with pytest.raises(tl.InvalidInputError, match="do not share a time axis.*give the unzoned side a zone"):
        tl.join(timestamps("us", "UTC", (1, 2)), timestamps("us", None, (1, 2)))
    with pytest.raises(tl.InvalidInputError, match="left is timestamp.*right is int64"):
        tl.join(timestamps("us", None, (1, 2)), ROWS)


def test_nanoseconds_that_would_be_lost_are_an_error_unless_allowed():
    fine = timestamps("ns", None, (1000, 2500))
    with pytest.raises(tl.InvalidInputError, match="1 nanosecond timestamps are no whole microseconds.*truncate=True"):
        tl.join(fine, fine)
    assert tl.join(fine, fine, period=tl.Period(truncate=True)).num_rows == 1


def test_duplicate_column_names_are_refused():
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2]), pa.array([3])], names=["start", "end", "end"])
    with pytest.raises(tl.InvalidInputError, match="more than one column named 'end'"):
        tl.join(twice, ROWS)


@pytest.mark.parametrize("how", ["inner", "left", "right", "full", "semi", "anti"])
@pytest.mark.parametrize("algorithm", ["auto", "sweep"])
def test_no_rows_and_one_row(how, algorithm):
    none = ROWS.slice(0, 0)
    sizes = {
        (left, right): tl.join(a, b, how=how, algorithm=algorithm, on="key").num_rows
        for left, a in (("none", none), ("one", ROWS))
        for right, b in (("none", none), ("one", ROWS))
    }
    assert sizes["one", "one"] == (how != "anti")
    assert sizes["one", "none"] == (how in ("left", "full", "anti"))
    assert sizes["none", "one"] == (how in ("right", "full"))
    assert sizes["none", "none"] == 0
    if how in ("left", "right", "full"):
        alone = tl.join(*((ROWS, none) if how == "left" else (none, ROWS)), how=how, overlap=True)
        assert alone["overlap_start"].to_pylist() == [None]


def test_all_rows_equal():
    same = pa.table({"start": [4] * 300, "end": [9] * 300})
    assert tl.join(same, same, "equals").num_rows == 90_000
    assert tl.join(same, same, "during").num_rows == 0


@settings(max_examples=200)
@given(
    st.lists(st.tuples(st.sampled_from(EXTREMES), st.sampled_from(EXTREMES)), max_size=6),
    st.lists(st.tuples(st.sampled_from(EXTREMES), st.sampled_from(EXTREMES)), max_size=6),
    st.sampled_from(sorted(RELATIONS)),
    st.sampled_from(["auto", "sweep"]),
    st.booleans(),
)
def test_the_ends_of_the_axis_never_wrap(left, right, relation, algorithm, keyed):
    left, right = ([row for row in rows if row[0] < row[1]] for rows in (left, right))
    tables = [
        pa.table(
            {
                "start": pa.array([s for s, _ in rows], pa.int64()),
                "end": pa.array([e for _, e in rows], pa.int64()),
                name: pa.array(range(len(rows)), pa.int64()),
                "k": pa.array(["a"] * len(rows), pa.string()),
            }
        )
        for rows, name in ((left, "i"), (right, "j"))
    ]
    result = tl.join(*tables, relation, algorithm=algorithm, on="k" if keyed else None, columns=["i", "j"])
    assert sorted(zip(*result.to_pydict().values(), strict=True)) == join_pairs(left, right, RELATIONS[relation])
