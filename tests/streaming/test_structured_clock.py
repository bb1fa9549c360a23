"""Keys on Structured Streaming: at rest, new and returning; of any name and type; checkpoints of other queries."""

from collections import Counter
from datetime import date, datetime
from decimal import Decimal

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from stream_files import END, LEFT, RIGHT, endpoints, found_in, run_to_files, stream, write
from timeloom.errors import InvalidInputError, UsageError
from timeloom.model.names import relation
from timeloom.model.ticks import Axis
from timeloom.operators.stream_join import stream_join
from timeloom.streaming.buckets import STATE
from timeloom.streaming.join_plan import Plan

pytestmark = pytest.mark.spark

LATE = "late: its instant was complete"


def test_keys_at_rest_are_judged_by_the_watermark(session, tmp_path):
    """Idle, new and returning keys: every event is used or refused, and no pair comes twice."""
    left, right = tmp_path / "left", tmp_path / "right"
    batches = [
        ([("idle", 1, 1, "start"), ("idle", 1, 10, "end")], [("idle", 1, 2, "start"), ("idle", 1, 9, "end")]),
        ([("other", 1, 12, "start")], [("other", 1, 12, "start")]),
        ([("other", 1, 13, "end")], [("other", 1, 13, "end")]),
        # all of it again, a partner that is late, a new key that is late, a returning and a new key in time
        (
            [("idle", 1, 1, "start"), ("idle", 1, 10, "end"), ("new", 1, 3, "start"), ("fresh", 1, 20, "start")],
            [("idle", 2, 5, "start"), ("idle", 2, 8, "end"), ("idle", 3, 20, "start"), ("fresh", 1, 20, "start")],
        ),
        ([("idle", 4, 21, "start"), ("other", 9, END, "start")], [("other", 9, END, "start")]),
    ]
    for number, (ours, theirs) in enumerate(batches):
        write(left, number, ours)
        write(right, number, theirs)
    frame = stream_join(stream(session, left), stream(session, right), "intersects", on="key")
    query = run_to_files(frame, tmp_path / "out", tmp_path / "checkpoint")
    found = found_in(session, tmp_path / "out")
    assert [row for row in found if row[4] is None] == [
        ("fresh", 1, 1, 20, None),
        ("idle", 1, 1, 2, None),
        ("idle", 4, 3, 21, None),
        ("other", 1, 1, 12, None),
        ("other", 9, 9, END, None),
    ]
    refused = [row for row in found if row[4] is not None]
    assert refused == [
        ("idle", 1, None, 1, LATE),
        ("idle", 1, None, 10, LATE),
        ("idle", None, 2, 5, LATE),
        ("idle", None, 2, 8, LATE),
        ("new", 1, None, 3, LATE),
    ]
    given = Counter(len(ours) + len(theirs) for ours, theirs in batches)
    used = 4 + 2 + 2 + 3 + 3
    assert sum(told["numInputRows"] for told in query.recentProgress) == sum(
        size * times for size, times in given.items()
    )
    assert used + len(refused) == sum(size * times for size, times in given.items())


OTHERS = {"relation": {"relation": "during"}, "keys": {"on": ["key", "event"]}, "types": {"ids": "string"}}


def test_every_part_of_a_query_is_told_apart():
    plans = [
        Plan(relation(name, **limits), how, arrivals, keys, types=types, axis=axis)
        for name, limits, how, arrivals, keys, types, axis in [
            ("iseql.before", {}, "inner", ("events", "events"), ("k",), ("int", "int", "int"), Axis.ZONED),
            ("iseql.before", {"delta": 5}, "inner", ("events", "events"), ("k",), ("int", "int", "int"), Axis.ZONED),
            ("before", {}, "inner", ("events", "events"), ("k",), ("int", "int", "int"), Axis.ZONED),
            ("iseql.before", {}, "left", ("events", "events"), ("k",), ("int", "int", "int"), Axis.ZONED),
            ("iseql.before", {}, "inner", ("start", "events"), ("k",), ("int", "int", "int"), Axis.ZONED),
            ("iseql.before", {}, "inner", ("events", "start"), ("k",), ("int", "int", "int"), Axis.ZONED),
            ("iseql.before", {}, "inner", ("events", "events"), ("j",), ("int", "int", "int"), Axis.ZONED),
            ("iseql.before", {}, "inner", ("events", "events"), (), ("int", "int"), Axis.ZONED),
            ("iseql.before", {}, "inner", ("events", "events"), ("k",), ("string", "int", "int"), Axis.ZONED),
            ("iseql.before", {}, "inner", ("events", "events"), ("k",), ("int", "int", "int"), Axis.TIMESTAMP),
        ]
    ]
    assert len({plan.query for plan in plans}) == len(plans)


def test_the_checkpoint_of_another_query_is_refused(session, tmp_path):
    left, right = tmp_path / "left", tmp_path / "right"
    write(left, 0, endpoints(LEFT, 0, 2))
    write(right, 0, endpoints(RIGHT, 0, 2))

    def joined(relation="overlaps", on="key", ids="bigint", **options):
        sides = (stream(session, folder).withColumn("id", F.col("id").cast(ids)) for folder in (left, right))
        return stream_join(*sides, relation, on=on, **options)

    run_to_files(joined(), tmp_path / "out", tmp_path / "checkpoint")
    write(left, 1, endpoints(LEFT, 3, 4))
    write(right, 1, endpoints(RIGHT, 3, 4))
    for what, options in OTHERS.items():
        with pytest.raises(StreamingQueryException, match="streaming state is that of another query"):
            run_to_files(joined(**options), tmp_path / what, tmp_path / "checkpoint")
    write(left, 2, endpoints(LEFT, 5, END))
    write(right, 2, endpoints(RIGHT, 5, END))
    run_to_files(joined(), tmp_path / "out", tmp_path / "checkpoint")
    assert all(row[4] is None for row in found_in(session, tmp_path / "out"))


def a_state_for_each_key() -> StatefulProcessor:
    class StateOfAKey(StatefulProcessor):
        """What streaming joins were up to version 7 of their state: a value for each key."""

        def init(self, handle):
            self.state = handle.getValueState("join", STATE)

        def handleInputRows(self, key, rows, timerValues):
            self.state.update((7, b"", "[]"))
            for frame in rows:
                yield frame[["key"]]

        def close(self):
            pass

    return StateOfAKey()


def test_a_checkpoint_with_a_state_for_each_key_is_refused_at_once(session, tmp_path):
    left, right = tmp_path / "left", tmp_path / "right"
    write(left, 0, endpoints(LEFT, 0, 2))
    write(right, 0, endpoints(RIGHT, 0, 2))
    sides = [stream(session, folder) for folder in (left, right)]
    before = sides[0].unionByName(sides[1]).withWatermark("time", "0 seconds").groupBy("key")
    frame = before.transformWithStateInPandas(a_state_for_each_key(), "key STRING", "Append", "EventTime")
    run_to_files(frame, tmp_path / "out", tmp_path / "checkpoint")
    write(left, 1, endpoints(LEFT, 3, 4))
    with pytest.raises(StreamingQueryException, match="Cannot change join .* restart with a new checkpoint directory"):
        run_to_files(stream_join(*sides, "overlaps", on="key"), tmp_path / "out", tmp_path / "checkpoint")


NAMES = ["a.b", "a`b", "*", " ", "side", "number", "starting", "end", "verdict", "clock", "c0", "start"]


def test_keys_of_any_name_and_type(session, tmp_path):
    """Names that Spark or the join itself use otherwise; values that are equal as in tables; all in one query."""
    left, right = tmp_path / "left", tmp_path / "right"
    write(left, 0, [("a", 1, 1, "start"), ("b", 2, 2, "start"), ("n", 5, 2, "start")])
    write(right, 0, [("a", 3, 3, "start"), ("b", 4, 4, "start"), ("n", 6, 3, "start")])
    for folder in (left, right):
        write(folder, 1, [("z", 99, END, "start")])
    kinds = [
        "CASE key WHEN 'a' THEN {zero} WHEN 'b' THEN double('NaN') ELSE 1.5D END",
        "CASE WHEN key = 'n' THEN NULL ELSE CAST(1.50 AS DECIMAL(5, 2)) END",
        "CASE key WHEN 'a' THEN '' WHEN 'b' THEN ',-' ELSE 'é' END",
        "CASE key WHEN 'a' THEN x'00ff' ELSE x'' END",
        "date'1500-01-01'",
        "timestamp'2024-11-03 01:30:00.000001'",
        "timestamp_ntz'2024-03-10 02:30:00'",
        "key = 'a'",
        "9007199254740993L",
        "{wide}",
        "float(0.1)",
    ]

    wide = "CASE WHEN key = 'n' THEN 1099511627776L ELSE -5L END"

    def side(folder, zero, wide):
        frame = stream(session, folder)
        columns = [
            F.expr(kinds[at % len(kinds)].format(zero=zero, wide=wide)).alias(name) for at, name in enumerate(NAMES)
        ]
        return frame.select(*columns, "id", "time", "event", "key")

    frame = stream_join(
        side(left, "0.0D", "CAST(-5 AS TINYINT)"), side(right, "-0.0D", wide), "intersects", on=[*NAMES, "key"]
    )
    names = [*(f"k{at}" for at in range(len(NAMES))), "key", "left_id", "right_id", "at", "reason"]
    run_to_files(frame.toDF(*names), tmp_path / "out", tmp_path / "checkpoint")
    rows = {(row.left_id, row.right_id): row for row in session.read.parquet(str(tmp_path / "out")).collect()}
    assert {pair: row.reason for pair, row in rows.items()} == {
        (1, 3): None,
        (2, 4): None,
        (99, 99): None,
        (5, None): "has no key",
        (None, 6): "has no key",
    }
    first, second = rows[1, 3], rows[2, 4]
    assert (first.k0, repr(second.k0), first.k1, first.k2, second.k2) == (0.0, "nan", Decimal("1.50"), "", ",-")
    assert (bytes(first.k3), bytes(second.k3), first.k4) == (b"\x00\xff", b"", date(1500, 1, 1))
    assert first.k6 == datetime(2024, 3, 10, 2, 30)
    assert (first.k7, first.k8, first.k9, rows[5, None].k1) == (True, 9007199254740993, -5, None)
    assert (rows[5, None].k9, rows[None, 6].k9) == (-5, 1 << 40)
    zoned = session.sql("SELECT timestamp'2024-11-03 01:30:00.000001' AS t").collect()[0].t
    assert first.k5 == zoned


def test_an_empty_name_and_what_cannot_be_a_key(session, tmp_path):
    (tmp_path / "in").mkdir()
    events = stream(session, tmp_path / "in")
    nameless = events.toDF("", "id", "time", "event")
    assert stream_join(nameless, nameless, on="").columns[0] == ""
    for name in ("at", "left_id", "reason"):
        with pytest.raises(UsageError, match=f"more than one column named '{name}'"):
            stream_join(events, events, on=name)
    with pytest.raises(UsageError, match="names 'key' twice"):
        stream_join(events, events, on=["key", "key"])
    nested = events.withColumn("key", F.array("key"))
    with pytest.raises(InvalidInputError, match="column 'key' of the left stream is array<string>; expected"):
        stream_join(nested, nested, on="key")
    with pytest.raises(InvalidInputError, match="cannot be equal; cast one"):
        stream_join(events, events.withColumn("key", F.lit(1)), on="key")
    with pytest.raises(InvalidInputError, match="column 'event' of the left stream is int; expected 'start' and 'end'"):
        stream_join(events.withColumn("event", F.lit(1)), events)
    with pytest.raises(UsageError, match="columns= names 'began'"):
        stream_join(events, events, columns={"began": "start"})
