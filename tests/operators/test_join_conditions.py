"""Joins with conditions, gaps and least overlaps against all pairs."""

import datetime as dt
from fractions import Fraction

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timeloom as tl
from drawing import keys_for, periods
from reference.neighbours import distance, shares
from rows import table

SIDE = periods().flatmap(
    lambda rows: st.tuples(
        st.just(rows),
        keys_for(rows),
        st.lists(st.sampled_from([1, 2, 3, None]), min_size=len(rows), max_size=len(rows)),
    )
)
HOWS = ["inner", "left", "right", "full", "semi", "anti"]
ALGORITHMS = ["auto", "forward_scan", "sweep", "range_tree"]


def numbered(rows, keys, numbers, name):
    return table(rows, keys, name, x=pa.array(numbers, pa.int32())).select([name, "start", "end", "key", "x"])


def expected(pairs, left, right, how):
    """Rows of a join that has these pairs."""
    lefts, rights = {a for a, _ in pairs}, {b for _, b in pairs}
    if how in ("semi", "anti"):
        return sorted(at for at in range(left) if (at in lefts) == (how == "semi"))
    rows = list(pairs)
    if how in ("left", "full"):
        rows += [(at, None) for at in range(left) if at not in lefts]
    if how in ("right", "full"):
        rows += [(None, at) for at in range(right) if at not in rights]
    return sorted(rows, key=repr)


def rows_of(found, how):
    if how in ("semi", "anti"):
        return sorted(found["l"].to_pylist())
    return sorted(zip(found["l"].to_pylist(), found["r"].to_pylist(), strict=True), key=repr)


def paired(left, right, keyed, holds):
    return [
        (a, b)
        for a, r in enumerate(left[0])
        for b, s in enumerate(right[0])
        if (not keyed or (left[1][a] is not None and left[1][a] == right[1][b])) and holds(a, b, r, s)
    ]


CONDITIONS = {
    "x < x_right": lambda x, y: None not in (x, y) and x < y,
    "x = x_right OR x_right IS NULL": lambda x, y: y is None or x == y,
    "NOT (x = x_right)": lambda x, y: None not in (x, y) and x != y,
    "x IN (1, NULL)": lambda x, y: x == 1,
    "x NOT IN (1, NULL)": lambda x, y: False,
    "coalesce(x, 2) + 1 BETWEEN x_right AND 3": lambda x, y: y is not None and y <= (x or 2) + 1 <= 3,
    "CASE WHEN x IS NULL THEN true ELSE x_right / x > 1 END": lambda x, y: x is None or (y is not None and y / x > 1),
    "x IS NOT DISTINCT FROM x_right": lambda x, y: x == y,
}


@settings(max_examples=150, deadline=None)
@given(
    SIDE, SIDE, st.booleans(), st.sampled_from(HOWS), st.sampled_from(sorted(CONDITIONS)), st.sampled_from(ALGORITHMS)
)
def test_conditions_are_part_of_the_match(left, right, keyed, how, where, algorithm):
    holds = CONDITIONS[where]
    pairs = paired(left, right, keyed, lambda a, b, r, s: shares(r, s) and holds(left[2][a], right[2][b]))
    options = {"how": how, "where": where, "algorithm": algorithm, "on": "key" if keyed else None}
    found = tl.join(numbered(*left, "l"), numbered(*right, "r"), **options)
    assert rows_of(found, how) == expected(pairs, len(left[0]), len(right[0]), how)
    batches = list(tl.join(numbered(*left, "l"), numbered(*right, "r"), batches=True, batch_rows=2, **options))
    assert all(batch.num_rows <= 2 for batch in batches)
    if batches:
        assert rows_of(pa.Table.from_batches(batches), how) == rows_of(found, how)


@settings(max_examples=100, deadline=None)
@given(SIDE, SIDE, st.booleans(), st.sampled_from(HOWS), st.integers(0, 4), st.sampled_from(ALGORITHMS))
def test_gaps(left, right, keyed, how, gap, algorithm):
    pairs = paired(left, right, keyed, lambda a, b, r, s: distance(r, s) <= gap)
    options = {"how": how, "max_gap": gap, "algorithm": algorithm, "on": "key" if keyed else None}
    found = tl.join(numbered(*left, "l"), numbered(*right, "r"), **options)
    assert rows_of(found, how) == expected(pairs, len(left[0]), len(right[0]), how)


def shared(r, s):
    return max(0, min(r[1], s[1]) - max(r[0], s[0]))


@settings(max_examples=150, deadline=None)
@given(
    SIDE,
    SIDE,
    st.booleans(),
    st.sampled_from(HOWS),
    st.one_of(
        st.integers(1, 4), st.tuples(st.sampled_from(["left", "right", "shorter"]), st.sampled_from([0.1, 0.5, 1]))
    ),
    st.sampled_from(ALGORITHMS),
)
def test_least_overlaps(left, right, keyed, how, least, algorithm):
    def holds(a, b, r, s):
        if isinstance(least, int):
            return shared(r, s) >= least
        long = {"left": r[1] - r[0], "right": s[1] - s[0], "shorter": min(r[1] - r[0], s[1] - s[0])}[least[0]]
        return shared(r, s) > 0 and shared(r, s) >= Fraction(str(least[1])) * long

    pairs = paired(left, right, keyed, holds)
    options = {"how": how, "min_overlap": least, "algorithm": algorithm, "on": "key" if keyed else None}
    found = tl.join(numbered(*left, "l"), numbered(*right, "r"), **options)
    assert rows_of(found, how) == expected(pairs, len(left[0]), len(right[0]), how)
    if how in ("semi", "anti"):
        return
    long = tl.join(numbered(*left, "l"), numbered(*right, "r"), overlap="length", **options)
    for a, b, length in zip(*(long[name].to_pylist() for name in ("l", "r", "overlap_length")), strict=True):
        assert length == (None if None in (a, b) else shared(left[0][a], right[0][b]))


TEXTS = [
    "name LIKE 'a%' AND price * 2 >= 3",
    "upper(name) = 'AB' OR length(name) > 2",
    "day < '2024-01-02'",
    "day + INTERVAL '1' DAY > TIMESTAMP '2024-01-02 00:00:00'",
    "price > 0.5 AND NOT flag",
    "abs(price - 2) < 1 AND name || 'x' <> 'abx'",
    "cast(price AS INTEGER) = 1",
    "flag",
    "name ILIKE '%B'",
    "flag IS TRUE",
    "-price < -1 AND name IN ('ab', 'cde')",
]


@pytest.mark.parametrize("where", TEXTS)
def test_conditions_mean_what_they_mean_to_duckdb(where):
    rows = pa.table(
        {
            "name": ["ab", "cde", None, "aB", "b"],
            "price": [1.0, 2.5, 3.0, None, 0.0],
            "flag": [True, False, None, False, True],
            "day": [dt.date(2024, 1, day) for day in (1, 2, 3, 1, 2)],
            "start": range(5),
            "end": range(1, 6),
        }
    )
    other = pa.table({"start": [0], "end": [5], "one": [1]})
    found = tl.join(rows, other, where=where)["start"].to_pylist()
    assert sorted(found) == [
        row[0] for row in duckdb.sql(f"select start from rows where {where} order by 1").fetchall()
    ]


def test_units_of_overlaps():
    day = dt.date(2024, 1, 1)
    dates = pa.table({"start": [day], "end": [day + dt.timedelta(3)]})
    assert tl.join(dates, dates, overlap="length")["overlap_length"].to_pylist() == [3]
    times = dates.cast(pa.schema([(name, pa.timestamp("s")) for name in ("start", "end")]))
    found = tl.join(times, times, overlap="length", min_overlap="3 days")
    assert found["overlap_length"].to_pylist() == [dt.timedelta(3)]
    assert tl.join(times, times, min_overlap=("left", 1)).num_rows == 1
    late = times.set_column(1, "end", pa.nulls(1, pa.timestamp("s")))
    assert tl.join(late, late, overlap="length")["overlap_length"].to_pylist() == [None]
    assert tl.join(late, late, min_overlap=("shorter", 0.9)).num_rows == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"where": "x <"}, "is no condition of SQL: it cannot be read beyond '<'; give one such as"),
        ({"where": "x > 1; drop table t"}, "it cannot be read beyond 'drop'"),
        ({"where": "x = 'a"}, "a text or a comment in it does not end"),
        ({"where": "(" * 5000}, "it is nested too deeply"),
        ({"where": " "}, "where= is an empty text"),
        ({"where": "y = 1"}, "where= reads 'y', which the result does not have"),
        ({"where": "a.x = 1"}, "names a table; give the output name"),
        ({"where": "x = (select 1)"}, "is not understood here"),
        ({"where": "sum(x) > 1"}, "is not understood here"),
        ({"where": "x + 1"}, "expected a condition, true or false"),
        ({"where": "x = 'a'"}, "cannot be computed"),
        ({"max_gap": 1, "relation": "during"}, "max_gap= is for relation='intersects'"),
        ({"max_gap": 1, "min_overlap": 1}, "give one"),
        ({"min_overlap": 0}, "asks for no time"),
        ({"min_overlap": ("longer", 0.5)}, "is no share"),
        ({"min_overlap": ("left", 1.5)}, "is no share"),
        ({"min_overlap": "1 hour"}, "integer periods, whose ticks have no unit"),
        ({"overlap": "size"}, "Did you mean 'length'|overlap='size' is unknown"),
        ({"overlap": "length", "how": "semi"}, "needs pairs of rows"),
    ],
)
def test_misuse(options, words):
    rows = pa.table({"x": [1], "start": [1], "end": [5]})
    with pytest.raises(tl.TimeloomError, match=words):
        tl.join(rows, rows, **options)


def test_plans_name_what_judges_pairs():
    rows = pa.table({"x": [1], "start": [1], "end": [5]})
    assert tl.explain("join", rows, rows, where="x = x_right")["judged by"] == "x = x_right"


def test_a_share_may_be_a_text():
    rows = pa.table({"start": [0, 2], "end": [4, 9]})
    for text, share in (("shorter 0.5", ("shorter", 0.5)), ("left,1", ("left", 1)), ("Right: .25", ("right", 0.25))):
        assert tl.join(rows, rows, min_overlap=text).equals(tl.join(rows, rows, min_overlap=share))
    with pytest.raises(tl.UsageError, match="no share"):
        tl.join(rows, rows, min_overlap="shorter 1.5")
