"""The live index: the rows active at any complete instant, from starts and ends as they come."""

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from timeloom.errors import UsageError
from timeloom.streaming import LiveForest

ticks = st.integers(0, 12)
periods = st.tuples(ticks, ticks).filter(lambda span: span[0] != span[1]).map(lambda span: tuple(sorted(span)))


def events(rows: list[tuple]) -> pa.Table:
    kinds = pa.schema([("id", pa.string()), ("time", pa.int64()), ("event", pa.string())])
    return pa.Table.from_pylist([dict(zip(kinds.names, row, strict=True)) for row in rows], kinds)


@settings(max_examples=60, deadline=None)
@given(table=st.lists(periods, max_size=8), cuts=st.lists(ticks, max_size=4).map(sorted))
def test_active_rows_as_of_now_and_before(table, cuts):
    live, first = LiveForest(), 0
    for last in [*cuts, 12]:
        rows = [
            (f"row {row}", time, kind)
            for row, span in enumerate(table)
            for time, kind in zip(span, ("start", "end"), strict=True)
            if first <= time <= last
        ]
        assert live.push(events(rows), until=last) == 0
        first = max(first, last + 1)
        for at in range(last + 1):
            expected = sorted(f"row {row}" for row, (start, end) in enumerate(table) if start <= at < end)
            assert sorted(live.active(at).to_pylist()) == expected
            assert live.count(at) == len(expected)
        assert sorted(live.active().to_pylist()) == sorted(live.active(last).to_pylist())


def test_timestamps_and_refused_events():
    noon = datetime(2024, 5, 1, 12, tzinfo=UTC)
    live = LiveForest(columns={"id": "flight"})
    table = pa.table({"flight": [7, 8], "time": [noon, noon], "event": ["start", "end"]})
    assert live.push(table, until=noon + timedelta(hours=1)) == 1
    assert live.active().to_pylist() == [7]
    assert live.active(noon - timedelta(seconds=1)).to_pylist() == []


def test_the_future_is_not_known():
    live = LiveForest()
    with pytest.raises(UsageError, match="no instant is complete yet"):
        live.active()
    live.push(events([("a", 1, "start")]), until=3)
    with pytest.raises(UsageError, match="not known yet"):
        live.count(at=4)


@settings(max_examples=40, deadline=None)
@given(table=st.lists(periods, max_size=8), before=ticks)
def test_what_has_ended_is_forgotten(table, before):
    live = LiveForest()
    rows = [
        (f"row {row}", time, kind)
        for row, span in enumerate(table)
        for time, kind in zip(span, ("start", "end"), strict=True)
    ]
    live.push(events(rows), until=12)
    ended = [span for span in table if span[1] <= before]
    assert live.forget(before=before) == len(ended)
    assert len(live.forest) == len(table) - len(ended)
    for at in range(before, 13):
        expected = sorted(f"row {row}" for row, (start, end) in enumerate(table) if start <= at < end)
        assert sorted(live.active(at).to_pylist()) == expected
    if before:
        with pytest.raises(UsageError, match="was forgotten"):
            live.active(before - 1)


def test_a_live_index_of_a_long_stream_stays_small():
    live = LiveForest()
    for step in range(40):
        rows = [(f"{step} {row}", 10 * step, "start") for row in range(100)]
        rows += [(f"{step - 1} {row}", 10 * step, "end") for row in range(100) if step]
        live.push(events(rows), until=10 * step + 1)
        live.forget(before=10 * step)
        assert live.count() == 100
    assert len(live.forest) == 100
    assert len(live._names._values) <= 2000
    assert live.forest.nbytes < 20_000
