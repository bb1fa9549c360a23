"""Streams of final results in pages, as tasks of Spark keep them: the answers of one state, and few pages written."""

from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streaming.stores import Store
from timeloom.errors import StorageError
from timeloom.model.ticks import MIN_TICK
from timeloom.streaming import StreamAggregate, StreamCoalesce, StreamCount, StreamPattern, pages
from timeloom.streaming.final.packed import from_bytes, to_bytes
from timeloom.streaming.final.stored import write_state
from timeloom.streaming.final.structured import processor_of
from timeloom.streaming.final.task import hashes

MILLISECOND = 1000
STAMP = pa.timestamp("us", "UTC")
SCHEMA = pa.schema([("key", pa.string()), ("id", pa.int64()), ("time", STAMP), ("event", pa.bool_())])
STREAMS = {
    "count": (partial(StreamCount, "overlaps", on="key"), 2),
    "aggregate": (partial(StreamAggregate, {"n": "count"}, by="key"), 1),
    "buckets": (partial(StreamAggregate, {"n": "count"}, by="key", every="2 milliseconds"), 1),
    "coalesce": (partial(StreamCoalesce, by="key", max_gap="1 millisecond"), 1),
    "no keys": (partial(StreamCoalesce, max_gap="1 millisecond"), 1),
    "pattern": (partial(StreamPattern, ["left", "right"], [("left", "overlaps", "right")], on="key"), 2),
}


class ResultStore(Store):
    """A store whose tasks keep rows until results are final."""

    def run(self, name: str, rows: list[tuple], watermark: int) -> list[str]:
        make, sides = STREAMS[name]
        packed = [(side, to_bytes(table_of(rows, side))) for side in range(sides)]
        frames = [pd.DataFrame(packed, columns=["side", "rows"])] if rows else []
        task = processor_of(make, (SCHEMA,) * sides, () if name == "no keys" else (pa.string(),))
        found = self.batch(task, (7,), frames, watermark)
        return shown(from_bytes(packed) for frame in found for packed in frame["rows"])


def table_of(rows: list[tuple], side: int) -> pa.Table:
    own = [(key, id, time * MILLISECOND, event) for of, key, id, time, event in rows if of == side]
    columns = list(zip(*own, strict=True)) or [()] * len(SCHEMA)
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)], schema=SCHEMA
    )


def shown(tables) -> list[str]:
    return sorted(repr(row) for table in tables for row in table.to_pylist())


def local(name: str):
    make, sides = STREAMS[name]
    stream = make()
    stream.declare((SCHEMA,) * sides)
    return stream


def complete_at(watermark: int) -> int:
    return watermark * MILLISECOND if watermark else MIN_TICK


events = st.tuples(st.integers(0, 1), st.sampled_from("abcdefgh"), st.integers(0, 2), st.integers(1, 14), st.booleans())
histories = st.lists(st.tuples(st.lists(events, max_size=10), st.integers(0, 4)), min_size=2, max_size=7)


@settings(max_examples=60, deadline=None)
@given(history=histories, name=st.sampled_from(sorted(STREAMS)), large=st.sampled_from([pages.LARGE, 2600]))
def test_the_answers_of_one_state(history, name, large):
    """New, idle and returning keys, late events, timers: nothing depends on who shares a page."""
    stream, store, watermark = local(name), ResultStore(), 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "LARGE", large)
        for rows, passed in [*history, ([], 40)]:
            watermark += passed
            own = [row for row in rows if row[0] < STREAMS[name][1]]
            tables = [table_of(own, side) if own else None for side in range(STREAMS[name][1])]
            expected = stream.with_refused(stream.push_complete(tables, complete_at(watermark)))
            assert store.run(name, own, watermark) == shown([expected])


def test_few_of_many_keys_write_few_pages(monkeypatch):
    monkeypatch.setattr(pages, "LARGE", 1 << 14)
    store, keys = ResultStore(), 2000
    for batch, some in enumerate(pairwise(range(0, keys + 1, 500))):
        store.run("coalesce", [(0, f"key {at}", at, batch + 1, True) for at in range(*some)], batch)
    store.run("coalesce", [], 5)
    size, before = sum(len(body) for _, body, _ in store.values.values()), dict(store.values)
    store.run("coalesce", [(0, f"key {at}", at, 9, False) for at in (3, 1700)], 5)
    written = sum(len(value[1]) for page, value in store.values.items() if before.get(page) != value)
    assert len(before) > 8
    assert written < size / 4


@pytest.mark.parametrize("name", ["coalesce", "no keys"])
def test_one_key_that_fills_a_page_keeps_it(monkeypatch, name):
    monkeypatch.setattr(pages, "LARGE", 3000)
    store = ResultStore()
    for batch in range(5):
        store.run(name, [(0, "a", 100 * batch + at, batch + 1, True) for at in range(100)], batch)
    assert {page for _, page in store.values} == {(0,)}


def test_states_without_pages_are_taken_up():
    """Before there were pages, a bucket had one state; it goes on as the first page."""
    stream, store = local("coalesce"), ResultStore()
    rows = [(0, key, 1, 2, True) for key in "abc"]
    stream.push_complete([table_of(rows, 0)], complete_at(3))
    store.earlier[7,] = write_state(stream)
    ends = [(0, key, 1, 5, False) for key in "abc"]
    expected = stream.with_refused(stream.push_complete([table_of(ends, 0)], complete_at(3)))
    assert store.run("coalesce", ends, 3) == shown([expected])
    assert not store.earlier
    assert len(store.run("coalesce", [], 9)) == 3


def test_states_of_others_are_refused():
    store = ResultStore()
    store.run("coalesce", [(0, "a", 1, 2, True)], 0)
    with pytest.raises(StorageError, match="streaming state is that of another query"):
        store.run("aggregate", [(0, "a", 2, 2, True)], 0)
    version, body, names = store.values[(7,), (0,)]
    store.values[(7,), (0,)] = version, body[:-1] + b"x", names
    with pytest.raises(StorageError, match="damaged"):
        store.run("coalesce", [(0, "a", 2, 2, True)], 0)


def test_equal_keys_have_one_hash():
    """Whatever type a stream has them in, and however their columns are encoded."""
    numbers = [0, 1, 1 << 40, None]
    whole = pa.chunked_array([pa.array(numbers, pa.int64())])
    double = pa.chunked_array([pa.array([-0.0, 1.0, float(1 << 40), None])])
    encoded = pa.chunked_array([pa.array(numbers, pa.int64()).dictionary_encode()])
    kind, found = (pa.float64(),), []
    for column in (whole, double, encoded):
        found.append(hashes([column], kind, 4))
    assert all(np.array_equal(found[0], other) for other in found[1:])
    assert len(set(found[0].tolist())) == 4
    assert hashes([], (), 3).tolist() == [0, 0, 0]


def test_a_page_that_is_much_too_large_is_divided_once(monkeypatch):
    """Keys that come together are spread over as many pages as they need, each of which is written once."""
    monkeypatch.setattr(pages, "LARGE", 1 << 14)
    store, keys = ResultStore(), [f"key {row}" for row in range(2000)]
    store.run("count", [(0, key, 1, 5, True) for key in keys], 0)
    written = {page[0]: len(body) for (_, page), (_, body, _) in store.values.items() if page[0] >= 0}
    assert len(written) in (8, 16)
    assert max(written.values()) < 1 << 14
    assert store.messages <= len(written) + 4
