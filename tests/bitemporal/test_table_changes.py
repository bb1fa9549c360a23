"""Histories taken over, keys without overlaps, periods that move, and feeds of changes."""

from datetime import date

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timeloom as tl
from reference.bitemporal import BitemporalModel

TIMES = st.integers(0, 6)
ROWS = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(1, 3), TIMES, st.integers(1, 4), TIMES, st.integers(1, 4)), max_size=7
)


def fact(k, v, start, end):
    return {"k": k, "v": v, "app_start": start, "app_end": end}


def facts(table):
    return sorted((row["k"], row["v"], row["app_start"], row["app_end"]) for row in table.to_pylist())


def history(rows):
    names = ("k", "v", "app_start", "app_end", "sys_start", "sys_end")
    return pa.Table.from_pylist(
        [
            dict(zip(names, (k, v, a, a + la, s, s + ls if ls < 4 else None), strict=True))
            for k, v, a, la, s, ls in rows
        ],
        pa.schema([("k", pa.string()), *((name, pa.int64()) for name in names[1:])]),
    )


@given(ROWS)
@settings(max_examples=80, deadline=None)
def test_a_history_taken_over_answers_as_before(rows):
    given_rows = history(rows)
    versions = given_rows.to_pylist()
    overlapping = any(
        one["k"] == other["k"]
        and one["app_start"] < other["app_end"]
        and other["app_start"] < one["app_end"]
        and one["sys_start"] < (other["sys_end"] or 99)
        and other["sys_start"] < (one["sys_end"] or 99)
        for at, one in enumerate(versions)
        for other in versions[:at]
    )
    if overlapping:
        with pytest.raises(tl.InvalidInputError, match="overlap in both times"):
            tl.BitemporalTable.from_history(given_rows, "k", without_overlaps=True)
    table = tl.BitemporalTable.from_history(given_rows, "k", without_overlaps=not overlapping)
    for sys in range(12):
        expected = tl.as_of(given_rows, sys=sys).to_pylist()
        found = table.as_of(sys=sys).to_pylist()
        assert sorted(map(str, found)) == sorted(map(str, expected))
    now = table.latest if versions else 0
    table.insert(fact("z", 1, 0, 1), sys=now)
    assert len(table) == len(versions) + 1


def test_histories_with_other_columns_and_types_are_taken_over_and_changed():
    given_rows = pa.table(
        {
            "who": ["x", "x"],
            "recorded": [date(2020, 1, 5), date(2020, 1, 1)],
            "replaced": [None, date(2020, 1, 5)],
            "from": [1, 1],
            "to": [9, 5],
        }
    )
    table = tl.BitemporalTable.from_history(
        given_rows, "who", sys_period=("recorded", "replaced"), app_period=tl.Period("from", "to", closed="both")
    )
    table.delete("x", sys=date(2020, 1, 7), portion=(3, 4))
    assert [row["app_end"] for row in table.as_of().to_pylist()] == [3, 10]
    assert table.as_of(sys=date(2020, 1, 2))["app_end"].to_pylist() == [6]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ({"k": [None], "sys_start": [1], "sys_end": [2]}, "the key 'k' is null in 1 versions"),
        ({"k": ["a"], "sys_start": [3], "sys_end": [2]}, "sys_end"),
        ({"k": ["a"], "sys_start": pa.array([None], pa.int64()), "sys_end": [2]}, "sys_start"),
        ({"k": ["a"], "sys_start": [2], "sys_end": [2]}, "empty"),
        ({"j": ["a"], "sys_start": [1], "sys_end": [2]}, "no column 'k'"),
    ],
)
def test_histories_that_cannot_be_are_refused(rows, words):
    with pytest.raises(tl.InvalidInputError, match=words):
        tl.BitemporalTable.from_history(pa.table(rows | {"app_start": [0], "app_end": [1]}), "k")


def test_without_overlaps_refuses_what_would_overlap_and_nothing_else():
    table = tl.BitemporalTable("k", without_overlaps=True)
    table.insert([fact(1, 1, 0, 5), fact(1, 2, 5, 9), fact(2, 1, 0, None)], sys=1)
    before = table.history()
    many = pa.Table.from_pylist([fact(100 + at, at, 0, 1) for at in range(300)])
    for wrong in (
        fact(1, 3, 4, 6),
        [fact(3, 1, 0, 5), fact(3, 2, 4, 6)],
        pa.concat_tables([many, many.slice(7, 1)]),
        pa.concat_tables([many, pa.Table.from_pylist([fact(2, 7, 9, 10)])]),
    ):
        with pytest.raises(tl.InvalidInputError, match="WITHOUT OVERLAPS"):
            table.insert(wrong, sys=2)
    with pytest.raises(tl.InvalidInputError, match="WITHOUT OVERLAPS"):
        table.update(1, {"app_end": 6}, sys=2, valid_at=0)
    assert table.history() == before
    table.insert(fact(1, 4, 9, None), sys=2)
    table.delete(2, sys=3, portion=(4, 6))
    table.insert(pa.concat_tables([many, pa.Table.from_pylist([fact(2, 7, 4, 6)])]), sys=3)
    assert facts(table.as_of(app=4))[:2] == [(1, 1, 0, 5), (2, 7, 4, 6)]


def test_keys_are_never_null():
    table = tl.BitemporalTable(["k", "v"])
    for wrong in (fact(None, 1, 0, 1), [fact(1, 1, 0, 1), fact(1, None, 0, 1)]):
        with pytest.raises(tl.InvalidInputError, match="is null in 1 of the inserted"):
            table.insert(wrong, sys=1)
    table.insert(fact(1, 1, 0, 1), sys=1)
    with pytest.raises(tl.InvalidInputError, match="is null"):
        table.insert(fact(None, 1, 0, 1), sys=1)
    with pytest.raises(tl.InvalidInputError, match="has a null"):
        table.delete((1, None), sys=2)


def test_application_periods_move():
    table = tl.BitemporalTable("k")
    table.insert([fact(1, 1, 0, 5), fact(2, 1, 0, 3), fact(2, 2, 3, None)], sys=1)
    table.update(1, {"app_start": 2, "app_end": None, "v": 9}, sys=2)
    table.update(2, {"app_end": 8}, sys=2, valid_at=7)
    assert facts(table.as_of(sys=2)) == [(1, 9, 2, None), (2, 1, 0, 3), (2, 2, 3, 8)]
    assert facts(table.as_of(sys=1)) == [(1, 1, 0, 5), (2, 1, 0, 3), (2, 2, 3, None)]
    for change, words in (
        (lambda: table.update(2, {"app_end": 9}, sys=3), "has 2 current rows; expected one"),
        (lambda: table.update(2, {"app_end": 9}, sys=3, valid_at=20), "has 0 current rows at 20"),
        (lambda: table.update(1, {"app_end": 2}, sys=3), "would not end after its start"),
        (lambda: table.update(1, {"app_end": 4}, sys=3, portion=(2, 3)), "give one"),
        (lambda: table.update(1, {"v": 4}, sys=3, valid_at=3), "valid_at= says whose period moves"),
        (lambda: table.update(1, {"app_start": None}, sys=3), "app_start"),
    ):
        with pytest.raises(tl.TimeloomError, match=words):
            change()
    assert table.latest == 2


OPERATIONS = st.sampled_from(["insert", "update", "delete", "upsert"])
FEEDS = st.lists(
    st.tuples(OPERATIONS, st.sampled_from("ab"), st.integers(1, 3), TIMES, st.integers(1, 4), TIMES), max_size=8
)


@given(FEEDS)
@settings(max_examples=120, deadline=None)
def test_feeds_equal_the_model(rows):
    table, model = tl.BitemporalTable("k"), BitemporalModel()
    first = [("a", 0, 0, 3), ("b", 0, 1, None)]
    table.insert([fact(*one) for one in first], sys=0)
    model.change(0, first)
    fits = True
    for op, key, value, start, length, now in sorted(rows, key=lambda row: row[-1]):
        portion = (start, start + length)
        if op == "insert":
            model.insert(now, (key, value, *portion))
        elif op == "upsert":
            model.replace(now, key, portion, None)
            model.insert(now, (key, value, *portion))
        else:
            fits = fits and model.replace(now, key, portion, value if op == "update" else None)
    names = ("op", "k", "v", "app_start", "app_end", "sys")
    feed = pa.Table.from_pylist(
        [dict(zip(names, (op, k, v, a, a + n, s), strict=True)) for op, k, v, a, n, s in rows],
        pa.schema([(name, pa.string() if name in ("op", "k") else pa.int64()) for name in names]),
    )
    if not fits:
        before = table.history()
        with pytest.raises(tl.InvalidInputError, match="expected one to change"):
            table.merge(feed)
        assert table.history() == before
        return
    table.merge(feed)
    for at in range(8):
        assert sorted(facts(table.as_of(sys=at)), key=str) == sorted(model.at(at), key=str)


def test_feeds_may_be_late_partial_and_named_otherwise():
    table = tl.BitemporalTable("k")
    table.insert([fact(1, 1, 0, None) | {"w": "x"}], sys=10)
    late = pa.table({"k": [1], "v": [5], "app_start": [3], "app_end": [4], "type": ["u"], "ts": [7]})
    with pytest.raises(
        tl.InvalidInputError, match="1 rows of the feed are late, the first of 7: the table has reached 10"
    ):
        table.merge(late, op="type", sys="ts")
    table.merge(late, op="type", sys="ts", late="now")
    assert table.as_of(app=3).select(["v", "w"]).to_pylist() == [{"v": 5, "w": "x"}]
    assert table.latest == 10
    late = late.set_column(5, "ts", pa.array([11]))
    for feed, words in (
        (late.set_column(4, "type", pa.array(["remove"])), "which is no operation"),
        (late.drop_columns(["ts"]), "no column 'ts'"),
        (late.set_column(5, "ts", pa.array([None], pa.int64())), "is null in 1 rows"),
        (late.set_column(5, "ts", pa.array([date(2020, 1, 1)])), "cast it"),
        (late.append_column("u", pa.array([1])), "column 'u' cannot be updated"),
    ):
        with pytest.raises(tl.TimeloomError, match=words):
            table.merge(feed, op="type", sys="ts")
    with pytest.raises(tl.UsageError, match="late='drop' is unknown"):
        table.merge(late, op="type", sys="ts", late="drop")
