"""A stab-forest over a long life: awkward orders by what they move, forgetting, merging, payload."""

import math
import pickle

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.stabbing import check_shape, read_shape
from timeloom import InvalidInputError, StabForest, UsageError
from timeloom.engines.joins.parallel_skip import skip_join_by
from timeloom.kernels.joins.skip_parts import SkipJoin
from timeloom.kernels.stab_forest.layout import FOREVER
from timeloom.kernels.stab_forest.multi_stab import multi_stab, new_marks
from timeloom.kernels.stab_forest.stab import STEPS, locate, visit

INSTANTS = range(-1, 40, 2)


def active(events, t):
    return sorted(event for event, (start, end) in events.items() if start <= t < end)


def assert_answers(forest, events):
    assert len(forest) == len(events)
    for t in INSTANTS:
        assert sorted(forest.stab(t).tolist()) == active(events, t)
        assert forest.count(t) == len(active(events, t))
    if "id" in forest.table().column_names:
        assert forest.table()["id"].to_pylist() == sorted(events)
    else:
        assert forest.table()["n"].to_pylist() == [10 * event for event in sorted(events)]


def moved(forest):
    return forest._shared.index.moved


# what awkward orders move


def late_ends(count):
    forest = StabForest(order="start")
    forest.extend(np.arange(count), np.full(count, FOREVER))
    handles = [forest.handle(event) for event in range(0, count, 2)]
    before = moved(forest)
    for handle in handles:
        forest.finish(handle, handle.id + 3)
        assert forest.stab(handle.id + 3).size >= 0
    return (moved(forest) - before) / len(handles)


def test_late_ends_move_the_square_root_of_all_events_at_most():
    for count in (1_000, 16_000):
        assert late_ends(count) <= math.sqrt(count) / 4 + 16


def test_a_handle_is_one_look_whatever_the_order_of_ids(monkeypatch):
    """Where each event lies is written down once and kept as ends and events come: an id is a position in an array."""
    forest = StabForest.build(np.random.default_rng(2).permutation(5_000), np.full(5_000, FOREVER))
    forest.handle(0)
    index = forest._shared.index
    written_down = index.by_id
    assert written_down is not None
    monkeypatch.setattr(type(index), "locate_all", lambda *_: pytest.fail("all events are looked at"))
    for event in range(0, 5_000, 50):
        forest.finish(forest.handle(event), 6_000 + event)
        assert forest.handle(forest.append(5_000 + event)).start == 5_000 + event
        forest.stab(0)
    assert forest._shared.index is index
    assert index.by_id is written_down


def test_ends_in_order_beside_whole_events_that_end_later_move_as_little():
    per_end = []
    for count in (1_000, 16_000):
        forest = StabForest(order="start")
        handles = []
        for start in range(count):
            forest.append(start, start + 10**9)
            handles.append(forest.begin(start))
        forest.stab(0)
        before = moved(forest)
        for step, handle in enumerate(handles):
            forest.finish(handle, count + step)
        per_end.append((moved(forest) - before) / count)
        assert forest.count(count + count // 2) == count + count // 2 - 1
    assert per_end[1] <= 6 * per_end[0] + 16


def test_ends_in_order_move_nothing():
    forest = StabForest()
    handles = [forest.begin(start) for start in range(3_000)]
    forest.stab(0)
    before = moved(forest)
    for step, handle in enumerate(handles):
        forest.finish(handle, 3_000 + step)
    forest.stab(0)
    assert moved(forest) == before


def test_a_tail_of_shared_starts_stays_searchable():
    """Each event is sorted again as often as the tail's size has digits, whatever the order of ends."""
    random, count = np.random.default_rng(5), 3_000
    ends = random.integers(1, 1_000, count)
    forest = StabForest(order="start")
    for row, end in enumerate(ends.tolist()):
        forest.append(0, end)
        if row % 7 == 0:
            assert forest.count(500) == int((ends[: row + 1] > 500).sum())
            assert sorted(forest.stab(900).tolist()) == np.flatnonzero(ends[: row + 1] > 900).tolist()
    assert moved(forest) <= count * (count.bit_length() + 2)
    forest.append(1, 2)
    check_shape(read_shape(forest._shared.settled().forest))


def test_waiting_events_are_touched_when_their_watermark_comes():
    forest = StabForest(order="watermark")
    forest.extend(np.arange(20_000)[::-1], np.arange(20_000)[::-1] + 5)
    heap = forest._shared.arrivals._heap
    for watermark in range(0, 50):
        forest.advance(watermark)
        assert forest.count(watermark - 1) == min(5, watermark)
        assert len(heap) == 20_000 - watermark


# what queries look at


def dense(count):
    starts = np.arange(count)
    return StabForest.build(starts, starts + 1 + starts % 40)._shared.settled().forest


def test_a_stab_looks_at_the_logarithm_of_all_starts_and_its_answer():
    for count in (1_000, 60_000):
        forest, out = dense(count), np.empty(200, np.int64)
        for t in range(0, count, count // 50):
            marks = new_marks()
            found = visit(forest, t, 0, locate(forest, 1, t), marks, out, 0)
            assert marks[STEPS] <= found + 2 * count.bit_length()


@pytest.mark.parametrize("reach", [0, 500])
def test_a_multi_stab_looks_at_a_logarithm_for_each_instant_or_at_all_events(reach):
    count = 60_000
    forest = dense(count)
    for instants in (10, 1_000, 60_000):
        ts, marks = np.linspace(0, count, instants).astype(np.int64), new_marks()
        found, _ = multi_stab(forest, ts, reach, marks)
        by_index, by_events = instants * (2 * count.bit_length() + reach), 4 * count if reach else FOREVER
        assert marks[STEPS] - found.size <= min(by_index, by_events)


def test_a_skip_join_looks_at_what_gaps_leave():
    """Few windows over many events: a logarithm for each leap, and the pairs."""
    for count in (10_000, 60_000):
        many = dense(count)
        begins = np.linspace(0, count - 500, 20).astype(np.int64)
        few = StabForest.build(begins, begins + 3)._shared.settled().forest
        marks = new_marks(2)
        left, _ = skip_join_by(lambda: 1, SkipJoin(few, many, 0, 0), marks=marks)
        assert marks.reshape(2, -1)[:, STEPS].sum() <= left.size + 2 * begins.size * 2 * count.bit_length()


# forgetting, merging, payload


operations = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(0, 2), st.integers(1, 6)),
        st.tuples(st.just("begin"), st.integers(0, 2), st.just(0)),
        st.tuples(st.just("extend"), st.integers(0, 2), st.integers(1, 6)),
        st.tuples(st.just("finish"), st.integers(0, 5), st.integers(1, 6)),
        st.tuples(st.just("forget"), st.integers(0, 4), st.just(0)),
        st.tuples(st.just("save"), st.integers(0, 2), st.just(0)),
        st.tuples(st.just("merge"), st.integers(0, 2), st.integers(1, 4)),
        st.tuples(st.just("check"), st.just(0), st.just(0)),
    ),
    max_size=25,
)


class Life:
    def __init__(self, path, order, carries):
        self.path, self.order, self.carries = path, order, carries
        none = pa.table({"n": pa.array([], pa.int64())})
        self.forest = StabForest.build([], [], order=order, payload=none if carries else None)
        self.events, self.next, self.now = {}, 0, 0

    def row(self, count=None):
        if not self.carries:
            return {}
        rows = [10 * (self.next + step) for step in range(count or 1)]
        return {"payload": {"n": rows[0]} if count is None else pa.table({"n": rows})}

    def note(self, start, end):
        self.events[self.next] = [start, end]
        self.next += 1
        self.now = max(self.now, start)

    def start(self, first):
        return self.now + first

    def append(self, first, second):
        start = self.start(first)
        assert self.forest.append(start, start + second, **self.row()) == self.next
        self.note(start, start + second)

    def begin(self, first, second):
        start = self.start(first)
        assert self.forest.begin(start, **self.row()).id == self.next
        self.note(start, FOREVER)

    def extend(self, first, second):
        start = self.start(first)
        self.forest.extend([start, start], [start + second, start + 1], **self.row(2))
        self.note(start, start + second)
        self.note(start, start + 1)

    def finish(self, first, second):
        opened = [event for event, (_, end) in self.events.items() if end == FOREVER]
        if opened:
            event = opened[first % len(opened)]
            end = self.events[event][0] + second
            self.forest.finish(self.forest.handle(event), end)
            self.events[event][1] = end

    def forget(self, first, second):
        before = max(0, self.now - first)
        kept = {event: span for event, span in self.events.items() if span[1] > before}
        gone = next((event for event in self.events if event not in kept), None)
        assert self.forest.forget(before=before) == len(self.events) - len(kept)
        self.events = kept
        if gone is not None:
            with pytest.raises(InvalidInputError, match=f"event {gone} was forgotten|no event"):
                self.forest.handle(gone)

    def save(self, first, second):
        self.forest.save(self.path, incremental=first > 0)
        loaded = StabForest.load(self.path)
        assert_answers(loaded, self.events)
        if first == 2:
            self.forest = loaded

    def merge(self, first, second):
        start = self.start(first)
        other = StabForest.build([start], [start + second], order=self.order, **self.row(1))
        self.forest = self.forest.merge(other)
        self.note(start, start + second)

    def check(self, first, second):
        assert_answers(self.forest, self.events)
        self.forest = pickle.loads(pickle.dumps(self.forest))


@settings(max_examples=50, deadline=None)
@given(steps=operations, order=st.sampled_from(["start", "watermark"]), carries=st.booleans())
def test_any_life_answers_as_brute_force(tmp_path_factory, steps, order, carries):
    life = Life(tmp_path_factory.mktemp("life") / "f.idx", order, carries)
    for kind, first, second in steps:
        if order == "watermark" and kind == "merge":
            life.forest.advance(life.now + 1)
            life.now += 1
        getattr(life, kind)(first, second)
        if order == "watermark":
            life.forest.advance(life.now + 1)
            life.now += 1
    assert_answers(life.forest, life.events)


def test_forgotten_events_give_their_memory_back():
    forest = StabForest()
    for _ in range(4):
        first = 1_000 * _
        forest.extend(np.arange(first, first + 1_000), np.arange(first, first + 1_000) + 5)
        assert forest.forget(before=first + 900) > 800
        assert len(forest) <= 200
        assert forest.nbytes < 40_000
    assert forest.describe()["forgotten"] == 4_000 - len(forest)


def test_payloads_are_checked():
    rows = pa.table({"n": [1, 2]})
    with pytest.raises(UsageError, match="3 rows, and there are 2 events"):
        StabForest.build([1, 2], [3, 4], payload=pa.table({"n": [1, 2, 3]}))
    with pytest.raises(InvalidInputError, match="differ from the events' periods in 1 of 2 rows, first in row 1"):
        StabForest.build([1, 2], [3, 4], payload=pa.table({"start": [1, 7], "end": [3, 8]}))
    with pytest.raises(UsageError, match="not both of"):
        StabForest.build([1, 2], [3, 4], payload=pa.table({"start": [1, 7]}))
    forest = StabForest.build([1, 2], [3, 4], payload=rows)
    for call in (lambda: forest.append(5, 6), lambda: forest.extend([5], [6]), lambda: forest.begin(5)):
        with pytest.raises(UsageError, match=r"carries a payload.*n \(int64\)"):
            call()
    with pytest.raises(UsageError, match="no row of this forest"):
        forest.append(5, 6, payload={"m": 1})
    with pytest.raises(InvalidInputError, match="does not fit"):
        forest.append(5, 6, payload={"n": "x"})
    with pytest.raises(InvalidInputError, match="does not fit"):
        forest.extend([5], [6], payload=pa.table({"m": [1]}))
    with pytest.raises(UsageError, match="carries no payload"):
        StabForest().append(5, 6, payload={"n": 1})
    with pytest.raises(UsageError, match="different payloads"):
        forest.merge(StabForest.build([1], [2]))
    assert len(forest) == 2
    forest.append(5, 6, payload={})
    assert forest.table().to_pylist()[2] == {"start": 5, "end": 6, "n": None}


# the log
