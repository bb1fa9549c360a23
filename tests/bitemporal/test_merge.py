"""Merges of tables and DataFrames: both equal a bitemporal table that is told the same."""

from datetime import date, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timeloom as tl

NAMES = ("k", "v", "app_start", "app_end", "sys_start", "sys_end")
FIRST = [("a", 0, 0, 3), ("b", 0, 1, None), ("c", 5, 2, 9)]
OPERATIONS = st.sampled_from(["update", "delete", "upsert", "insert"])
FEEDS = st.lists(
    st.tuples(OPERATIONS, st.sampled_from("abc"), st.integers(1, 3), st.integers(0, 4), st.integers(1, 4)),
    max_size=6,
)


def started():
    table = tl.BitemporalTable("k")
    table.insert([dict(zip(NAMES, one, strict=False)) for one in FIRST], sys=0)
    table.update("a", {"v": 1}, sys=2, portion=(1, 2))
    return table


def feed_of(rows, times):
    names = ("op", "k", "v", "app_start", "app_end", "sys")
    drawn = [(op, k, v, a, a + n, at) for (op, k, v, a, n), at in zip(rows, times, strict=True)]
    kinds = {"op": pa.string(), "k": pa.string()}
    return pa.table(
        {name: pa.array([row[at] for row in drawn], kinds.get(name, pa.int64())) for at, name in enumerate(names)}
    )


def texts(table):
    return sorted(map(str, table.select(NAMES).to_pylist()))


@given(FEEDS)
@settings(max_examples=60, deadline=None)
def test_a_merge_equals_a_table_that_is_told_the_same(rows):
    table = started()
    feed, before = feed_of(rows, range(3, 3 + len(rows))), table.history()
    try:
        table.merge(feed)
    except tl.InvalidInputError:
        with pytest.raises(tl.InvalidInputError, match="expected one to change"):
            tl.merge(before, feed, "k")
        return
    assert texts(tl.merge(before, feed, "k")) == texts(table.history())
    assert texts(tl.merge(before, feed.slice(0, 0), "k")) == texts(before)


def test_histories_keep_their_own_form():
    far = date(9999, 12, 31)
    history = pa.table(
        {
            "recorded": [date(2020, 1, 1)],
            "until": [far],
            "id": pa.array([7], pa.int32()),
            "from": [date(2020, 1, 1)],
            "to": [date(2020, 1, 31)],
            "price": pa.array([1.5], pa.float32()),
        }
    )
    periods = {
        "sys_period": tl.Period("recorded", "until", open_end=far),
        "app_period": tl.Period("from", "to", closed="both"),
    }
    feed = pa.table(
        {
            "op": ["u"],
            "at": [date(2020, 2, 1)],
            "id": [7],
            "from": [date(2020, 1, 10)],
            "to": [date(2020, 1, 20)],
            "price": [2],
        }
    )
    found = tl.merge(history, feed, "id", sys="at", **periods)
    assert found.schema == history.schema
    first, *rest = found.to_pylist()
    assert first["until"] == date(2020, 2, 1)
    assert [(row["from"].day, row["to"].day, row["price"], row["until"]) for row in rest] == [
        (1, 9, 1.5, far),
        (10, 20, 2.0, far),
        (21, 31, 1.5, far),
    ]


def test_misuse_is_refused():
    history, feed = started().history(), feed_of([("update", "a", 1, 0, 1)], [1])
    for call, words in (
        (lambda: tl.merge(started(), feed, "k"), "call its method"),
        (lambda: tl.merge(history, feed, []), "names no columns"),
        (lambda: tl.merge(history, feed, "k", late="never"), "late='never' is unknown"),
        (lambda: tl.merge(history, feed, "k"), "1 rows of the feed are late"),
        (lambda: tl.merge(history, feed.drop_columns(["op"]), "k"), "no column 'op'"),
        (lambda: tl.merge(history, feed, "k", order="lsn"), "no column 'lsn'"),
        (lambda: tl.merge(history, feed, "k", app_period="app_start"), "a column of instants"),
        (lambda: tl.merge(history.drop_columns(["k"]), feed, "k"), "no column 'k'"),
    ):
        with pytest.raises(tl.TimeloomError, match=words):
            call()
    now = tl.as_of(tl.merge(history, feed, "k", late="now"), sys=2, app=0)
    assert now.filter(pc.equal(now["k"], "a"))["v"].to_pylist() == [1]


def on_spark(spark, table):
    return spark.createDataFrame(table).repartition(3)


def test_dataframes_are_merged_alike(spark):
    table, day = started(), datetime(2020, 1, 1)
    rows = [("update", "a", 7, 0, 3), ("delete", "b", 0, 2, 2), ("upsert", "c", 9, 8, 4), ("insert", "d", 1, 0, 1)]
    rows += [("update", "d", 2, 0, 1), ("delete", "c", 0, 9, 1)]
    feed = feed_of(rows, [3, 3, 4, 4, 5, 5])
    history = table.history()
    expected = texts(tl.merge(history, feed, "k"))
    found = tl.merge(on_spark(spark, history), on_spark(spark, feed), "k")
    assert texts(found.toArrow()) == expected
    ordered = pa.concat_tables([feed, feed.slice(4, 1)]).append_column("lsn", pa.array(range(7)))
    frames = on_spark(spark, history), on_spark(spark, ordered)
    plan = tl.explain(tl.merge, *frames, "k", order="lsn")
    assert (plan.engine, plan["strategy"], plan["changes by"]) == ("spark", "keys", ["sys", "lsn"])
    assert texts(tl.merge(*frames, "k", order="lsn").toArrow()) == texts(tl.merge(history, ordered, "k", order="lsn"))
    with pytest.raises(Exception, match="say by order= which columns"):
        tl.merge(frames[0], frames[1].drop("lsn"), "k").collect()
    late = feed_of([("update", "a", 7, 0, 3)], [1])
    with pytest.raises(Exception, match="are late"):
        tl.merge(frames[0], on_spark(spark, late), "k").collect()
    now = tl.merge(frames[0], on_spark(spark, late), "k", late="now").toArrow()
    assert texts(now) == texts(tl.merge(history, late, "k", late="now"))
    stamps = history
    for name in ("sys_start", "sys_end"):
        at = [None if tick is None else day + timedelta(days=tick) for tick in history[name].to_pylist()]
        stamps = stamps.set_column(stamps.column_names.index(name), name, pa.array(at, pa.timestamp("us", "UTC")))
    zoned = feed.set_column(5, "sys", pa.array([day + timedelta(days=9)] * 6, pa.timestamp("us", "UTC")))
    zoned = zoned.slice(0, 3)
    found = tl.merge(on_spark(spark, stamps), on_spark(spark, zoned), "k").toArrow()
    assert texts(found.cast(stamps.schema)) == texts(tl.merge(stamps, zoned, "k"))
    for call, words in (
        (lambda: tl.merge(frames[0], feed, "k"), "two of one family"),
        (lambda: tl.merge(frames[0], frames[1].drop("sys"), "k"), "no column 'sys'"),
        (lambda: tl.merge(frames[0].drop("sys_end"), frames[1], "k"), "no column 'sys_end'"),
    ):
        with pytest.raises(tl.TimeloomError, match=words):
            call()
