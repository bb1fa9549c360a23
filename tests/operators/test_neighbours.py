"""As-of and nearest joins of local tables against all pairs."""

import datetime as dt

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timeloom as tl
from drawing import TIMES, keys_for, periods
from reference import neighbours


def with_keys(times):
    return st.tuples(st.just(times), keys_for(times))


INSTANTS = st.lists(TIMES, max_size=10).flatmap(with_keys)
SPANS = periods(10).flatmap(with_keys)


def instants(times, keys, name):
    columns = {name: range(len(times)), "at": times, "key": keys}
    return pa.table(columns, pa.schema([(name, pa.int64()), ("at", pa.int64()), ("key", pa.string())]))


def spans(rows, keys, name):
    columns = {name: range(len(rows)), "start": [row[0] for row in rows], "end": [row[1] for row in rows], "key": keys}
    kinds = [(name, pa.int64()), ("start", pa.int64()), ("end", pa.int64()), ("key", pa.string())]
    return pa.table(columns, pa.schema(kinds))


def fitting(left, right, keyed):
    return lambda at, other: not keyed or (left[at] is not None and left[at] == right[other])


@settings(max_examples=150)
@given(
    INSTANTS,
    INSTANTS,
    st.booleans(),
    st.sampled_from(["backward", "forward", "nearest"]),
    st.one_of(st.none(), st.integers(0, 4)),
    st.booleans(),
)
def test_as_of(left, right, keyed, direction, tolerance, exact):
    fits = fitting(left[1], right[1], keyed)
    expected = neighbours.as_of(left[0], right[0], fits, direction, tolerance, exact)
    options = {"direction": direction, "tolerance": tolerance, "allow_exact": exact, "on": "key" if keyed else None}
    found = tl.as_of(instants(*left, "l"), instants(*right, "r"), **options)
    assert found["l"].to_pylist() == list(range(len(left[0])))
    assert found["r"].to_pylist() == expected
    inner = tl.as_of(instants(*left, "l"), instants(*right, "r"), how="inner", **options)
    pairs = list(zip(inner["l"].to_pylist(), inner["r"].to_pylist(), strict=True))
    assert pairs == [(at, other) for at, other in enumerate(expected) if other is not None]


@settings(max_examples=200)
@given(
    SPANS,
    SPANS,
    st.booleans(),
    st.integers(1, 4),
    st.sampled_from(["both", "backward", "forward"]),
    st.one_of(st.none(), st.integers(0, 4)),
    st.booleans(),
)
def test_nearest(left, right, keyed, k, direction, furthest, all_ties):
    fits = fitting(left[1], right[1], keyed)
    expected = neighbours.nearest(left[0], right[0], fits, k, direction, furthest, all_ties)
    options = {
        "direction": direction,
        "max_distance": furthest,
        "ties": "all" if all_ties else "first",
        "on": "key" if keyed else None,
    }
    found = tl.nearest(spans(*left, "l"), spans(*right, "r"), k, **options)
    assert list(zip(*(found[name].to_pylist() for name in ("l", "r", "distance")), strict=True)) == expected
    kept = tl.nearest(spans(*left, "l"), spans(*right, "r"), k, how="left", **options)
    alone = [(at, None, None) for at in range(len(left[0])) if at not in {row[0] for row in expected}]
    rows = list(zip(*(kept[name].to_pylist() for name in ("l", "r", "distance")), strict=True))
    assert sorted(rows, key=repr) == sorted(expected + alone, key=repr)
    assert [row[0] for row in rows] == sorted(row[0] for row in rows)


TIED = pa.table({"start": [5, 5, 5, 2], "end": [6, 6, 9, 3], "price": [3, 7, 1, 4], "tags": [["b"], ["a"], [], ["c"]]})


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [1, 0, 3, 2], [3, 2, 1, 0]])
def test_ties_are_settled_by_values_in_any_order_of_the_rows(order):
    rows = TIED.take(pa.array(order))
    instants = rows.rename_columns(["at", "end", "price", "tags"])
    asked = pa.table({"at": [9, 5, 1]})
    assert tl.as_of(asked, instants)["price"].to_pylist() == [1, 1, None]
    assert tl.as_of(asked, instants.drop_columns("end"))["price"].to_pylist() == [7, 7, None]
    assert tl.as_of(asked, instants.select(["at", "tags", "price"]), direction="forward")["price"].to_pylist() == [
        None,
        3,
        4,
    ]
    periods = pa.table({"start": [9], "end": [10]})
    assert tl.nearest(periods, rows, 2, direction="backward")["price"].to_pylist() == [1, 3]
    assert tl.nearest(periods, rows.filter(pa.compute.less(rows["end"], 9)))["price"].to_pylist() == [3]
    forest = tl.StabForest.build(rows, payload=rows)
    assert tl.nearest(periods, forest, 2, direction="backward")["price"].to_pylist() == [1, 3]
    lanes = tl.lanes(rows)
    assert sorted(zip(lanes["price"].to_pylist(), lanes["lane"].to_pylist(), strict=True)) == [
        (1, 2),
        (3, 0),
        (4, 0),
        (7, 1),
    ]


@pytest.mark.parametrize(("ordered", "wide"), [(True, False), (False, False), (False, True)])
def test_many_rows_are_matched_as_few_are(ordered, wide):
    """In parts, by look-ups, and where ticks and keys do not fit into one number."""
    draw = np.random.default_rng(7)
    rows, keys = 300_000, 2_000
    ticks = draw.integers(0, 2_000_000, (2, rows)) * (2**40 if wide else 1)
    ticks = np.sort(ticks) if ordered else ticks
    named = draw.integers(0, keys, (2, rows))
    left, right = (pa.table({"at": at, "key": key, "n": range(rows)}) for at, key in zip(ticks, named, strict=True))
    con = duckdb.connect()
    con.register("l", left)
    con.register("r", right)
    for direction, sign in (("backward", ">="), ("forward", "<=")):
        found = tl.as_of(left, right, on="key", direction=direction, columns=["n", "at_right"])
        text = (
            f"SELECT l.n, r.at AS at_right FROM l ASOF LEFT JOIN r ON l.key = r.key AND l.at {sign} r.at ORDER BY l.n"
        )
        con.register("l", left), con.register("r", right)
        assert found.equals(con.sql(text).to_arrow_table().select(found.column_names).cast(found.schema))
    one = tl.nearest(left, right, on="key", period="at", columns=["n", "distance"])
    first = tl.nearest(left, right, 2, on="key", period="at", columns=["n", "distance"]).to_pandas()
    assert one.to_pandas().equals(first.drop_duplicates("n").reset_index(drop=True))


@pytest.mark.parametrize("longest", [40, 5_000])
@pytest.mark.parametrize("direction", ["both", "backward", "forward"])
def test_the_nearest_of_many_rows_is_the_first_of_several(longest, direction):
    draw = np.random.default_rng(longest)

    def many(name):
        starts = draw.integers(0, 3_000_000, 300_000)
        lengths, keys = draw.integers(1, longest, 300_000), np.repeat(["a", "b", "c"], 100_000)
        return pa.table({name: np.arange(300_000), "start": starts, "end": starts + lengths, "key": keys})

    left, right = many("l"), many("r")
    options = {"on": "key", "direction": direction, "max_distance": 8, "columns": ["l", "r", "distance"]}
    one, two = (tl.nearest(left, right, k, **options) for k in (1, 2))
    firsts = np.flatnonzero(np.diff(two["l"].to_numpy(), prepend=-1))
    assert one.equals(two.take(firsts).combine_chunks())


def test_keys_in_runs_are_those_of_each_row():
    names = np.repeat([f"chr{at}" for at in range(40)] * 2, 500)
    left = pa.table({"l": np.arange(40_000), "at": np.arange(40_000), "key": pa.array(names, mask=names == "chr7")})
    right = left.rename_columns(["r", "at", "key"])
    shuffled = right.take(np.random.default_rng(1).permutation(40_000))
    expected = [None if name == "chr7" else at for at, name in enumerate(names)]
    for one, other in ((left, right), (left, shuffled), (left.take(shuffled["r"]), right)):
        found = tl.as_of(one, other, on="key").sort_by("l")
        assert found["r"].to_pylist() == expected


def test_one_key_tells_nothing_apart_unless_rows_lack_it():
    left = pa.table({"at": [5, 9, 2], "key": ["a", None, "a"]})
    right = pa.table({"r": [1, 2], "at": [4, 8], "key": ["a", "a"]})
    assert tl.as_of(left, right, on="key")["r"].to_pylist() == [1, None, None]
    full = left.set_column(1, "key", pa.array(["a", "a", "a"]))
    assert tl.as_of(full, right, on="key")["r"].to_pylist() == [1, 2, None]
    assert tl.as_of(full, right.set_column(2, "key", pa.array(["b", "b"])), on="key")["r"].to_pylist() == [None] * 3


def test_instants_at_the_last_tick_and_of_no_value_are_told_of():
    rows = pa.table({"at": [1, 2**63 - 1]})
    fine = pa.table({"at": [1]})
    with pytest.raises(tl.InvalidInputError, match="at is the last tick of all"):
        tl.as_of(rows, fine)
    found = tl.as_of(pa.table({"at": [3, None]}), fine, on_invalid="quarantine", columns=["at_right"])
    assert found.result["at_right"].to_pylist() == [1]
    assert found.rejected["reason"].to_pylist() == ["at is null"]


def test_of_two_faulty_tables_the_left_one_is_told_of():
    rows = pa.table({"at": pa.array([None] * 20_000, pa.int64())})
    for _ in range(5):
        with pytest.raises(tl.InvalidInputError, match="20000 of 20000 rows of the left table"):
            tl.as_of(rows, rows)


def test_far_ticks_and_open_ends():
    low, high = -(2**63), 2**63 - 2
    left = pa.table({"start": [low, high], "end": pa.array([low + 1, None], pa.int64())})
    right = pa.table({"r": [0, 1], "start": [low + 1, high - 1], "end": [low + 2, high]})
    found = tl.nearest(left, right, 2)
    assert found["r"].to_pylist() == [0, 1, 1, 0]
    assert found["distance"].to_pylist() == [0, high - 1 - (low + 1) if high - low < 2**63 else 2**63 - 1, 0, 2**63 - 1]
    ends = pa.table({"at": [low, high]})
    assert tl.as_of(ends, ends.append_column("r", [[0, 1]]), tolerance=1, allow_exact=False)["r"].to_pylist() == [
        None,
        None,
    ]


def test_keys_beside_the_first_ticks():
    low = -(2**63)
    left, right = pa.table({"at": [low, low + 3], "k": [1, 1]}), pa.table({"at": [low + 1, low], "k": [1, 1]})
    assert tl.as_of(left, right, on="k")["at_right"].to_pylist() == [low, low + 1]


def test_units_of_distances():
    day = dt.date(2024, 1, 1)
    dates = pa.table({"at": [day]}), pa.table({"at": [day + dt.timedelta(5)]})
    assert tl.nearest(*dates, period="at")["distance"].to_pylist() == [4]
    noon = dt.datetime(2024, 1, 1, 12)
    times = pa.table({"at": [noon]}), pa.table({"at": [noon + dt.timedelta(seconds=1)]})
    found = tl.nearest(*times, period="at", max_distance="1 second")
    assert found["distance"].to_pylist() == [dt.timedelta(microseconds=999_999)]
    assert tl.as_of(*times, direction="forward", tolerance="1 second", how="inner").num_rows == 1
    assert tl.as_of(*times, direction="forward", tolerance="999 ms", how="inner").num_rows == 0


def test_tables_as_they_were_believed():
    facts = pa.table(
        {
            "n": [1, 2, 3],
            "sys_start": [100, 100, 105],
            "sys_end": [110, 101, 110],
            "app_start": [0, 10, 11],
            "app_end": [20, 20, 12],
        }
    )
    assert tl.as_of(facts, sys=101, app=11)["n"].to_pylist() == [1]
    assert tl.as_of(facts, sys=106, app=11)["n"].to_pylist() == [1, 3]
    assert tl.as_of(facts, app=11)["n"].to_pylist() == [1, 2, 3]
    renamed = facts.rename_columns(["n", "known", "forgotten", "app_start", "app_end"])
    assert tl.as_of(renamed, sys=100, sys_period=("known", "forgotten"))["n"].to_pylist() == [1, 2]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda t: tl.as_of(t, t, direction="back"), "Did you mean 'backward'"),
        (lambda t: tl.as_of(t, t, tolerance=-1), "tolerance=-1 is below zero"),
        (lambda t: tl.as_of(t, t, how="right"), "how='right' is unknown"),
        (lambda t: tl.as_of(t, t, right_at="when"), "right table has no column 'when'"),
        (tl.as_of, "needs a right table"),
        (lambda t: tl.as_of(t, t, sys=1), "leave the right table out"),
        (lambda t: tl.nearest(t, t, 0, period="at"), "k=0 is no number of rows; give 1 or more"),
        (lambda t: tl.nearest(t, t, max_distance="1 hour", period="at"), "integer periods, whose ticks have no unit"),
        (lambda t: tl.nearest(t, t, name="at", period="at"), "more than one column named 'at'"),
        (lambda t: tl.nearest(t, t, period="at", ties="some"), "ties='some' is unknown"),
    ],
)
def test_misuse(call, words):
    with pytest.raises(tl.TimeloomError, match=words):
        call(pa.table({"at": [1, 2]}))


def test_plans():
    table = pa.table({"at": [1, 2]})
    assert tl.explain("as_of", table, table)["algorithm"] == "merge"
    assert tl.explain("as_of", table, table.take([1, 0]))["algorithm"] == "look-up"
    assert tl.explain(tl.nearest, table, table, 3, period="at")["k"] == 3
