"""Random histories of stab-forests on every axis, at both ends of it and in the middle, against brute force."""

import pickle
import tempfile
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timeloom as tl
from timeloom import InvalidInputError, StabForest, UsageError
from timeloom.kernels.stab_forest.layout import FOREVER

SPAN = 24
FIRST, LAST = -(2**63), 2**63 - 1
MICROSECOND, DAY = timedelta(microseconds=1), timedelta(days=1)
FROM_TICK = {
    "integers": lambda tick: tick,
    "the first integers": lambda tick: FIRST + tick,
    "the last integers": lambda tick: LAST - SPAN + tick,
    "dates": lambda tick: date(1969, 12, 25) + tick * DAY,
    "the first dates": lambda tick: date.min + tick * DAY,
    "the last dates": lambda tick: date.max - (SPAN - tick) * DAY,
    "timestamps": lambda tick: datetime(1969, 12, 31, 23, 59, 59, 999990) + tick * MICROSECOND,
    "the last timestamps": lambda tick: datetime.max - (SPAN - tick) * MICROSECOND,
    "zoned timestamps": lambda tick: datetime(2024, 3, 31, 0, 59, 59, 999990, tzinfo=UTC) + tick * MICROSECOND,
}

ticks, lengths = st.integers(0, 3), st.integers(1, 8)
operations = st.lists(
    st.one_of(
        st.tuples(st.just("append"), ticks, lengths),
        st.tuples(st.just("open"), ticks, lengths),
        st.tuples(st.just("begin"), ticks, lengths),
        st.tuples(st.just("extend"), ticks, lengths),
        st.tuples(st.just("extend by a table"), ticks, lengths),
        st.tuples(st.just("finish"), st.integers(0, 5), lengths),
        st.tuples(st.just("finish again"), st.integers(0, 5), lengths),
        st.tuples(st.just("empty"), ticks, lengths),
        st.tuples(st.just("early"), ticks, lengths),
        st.tuples(st.just("advance"), ticks, lengths),
        st.tuples(st.just("save"), ticks, lengths),
        st.tuples(st.just("pickle"), ticks, lengths),
        st.tuples(st.just("ask"), st.integers(0, SPAN - 1), lengths),
    ),
    max_size=25,
)


class Model:
    """A forest and the same events as plain ticks; no tick is the last of the span, at which open events end."""

    def __init__(self, of, order):
        self.of, self.order = of, order
        self.forest, self.stranger = StabForest(order=order), StabForest()
        self.events, self.handles, self.finished = [], {}, []
        self.now = self.watermark = 0

    def ends(self, start, length):
        return min(start + length, SPAN - 1)

    def value(self, end):
        return None if end == FOREVER else self.of(end)

    def seen(self):
        """The events that queries may see, by id."""
        waits = self.order == "watermark"
        return {i: event for i, event in enumerate(self.events) if not waits or event[0] < self.watermark}

    def step(self, kind, first, second):
        start = min(self.now + first, SPAN - 3)
        if self.order == "watermark":
            start = min(max(self.watermark, self.watermark + first * second % 7), SPAN - 3)
        getattr(self, kind.replace(" ", "_"))(start, first, second)

    def add(self, start, end):
        self.now = max(self.now, start)
        self.events.append([start, end])

    def append(self, start, first, second):
        end = self.ends(start, second)
        assert self.forest.append(self.of(start), self.of(end)) == len(self.events)
        self.add(start, end)

    def open(self, start, first, second):
        assert self.forest.append(self.of(start)) == len(self.events)
        self.add(start, FOREVER)

    def begin(self, start, first, second):
        handle = self.forest.begin(self.of(start))
        assert (handle.id, handle.start) == (len(self.events), self.of(start))
        self.handles[handle.id] = handle
        self.add(start, FOREVER)

    def extend(self, start, first, second):
        later = min(start + 1, SPAN - 3)
        rows = [(start, self.ends(start, second)), (later, FOREVER), (later, self.ends(later, second))]
        self.forest.extend([self.of(s) for s, _ in rows], [self.value(e) for _, e in rows])
        for row in rows:
            self.add(*row)

    def extend_by_a_table(self, start, first, second):
        rows = [(start, self.ends(start, second)), (start, FOREVER)]
        self.forest.extend(
            pa.table({"a": [self.of(s) for s, _ in rows], "b": [self.value(e) for _, e in rows]}), period=("a", "b")
        )
        for row in rows:
            self.add(*row)

    def finish(self, start, first, second):
        waiting = [i for i, event in enumerate(self.events) if event[1] == FOREVER]
        if not waiting:
            return
        event = waiting[first % len(waiting)]
        handle = self.handles.pop(event, None) or self.forest.handle(event)
        end = self.ends(self.events[event][0], second)
        self.forest.finish(handle, self.of(end))
        self.events[event][1] = end
        self.finished.append(handle)

    def finish_again(self, start, first, second):
        if self.finished:
            handle = self.finished[first % len(self.finished)]
            error, words = (
                (InvalidInputError, "finished already")
                if handle.owner is self.forest
                else (UsageError, "another forest")
            )
            with pytest.raises(error, match=words):
                self.forest.finish(handle, self.of(SPAN - 1))
        foreign = self.stranger.begin(self.of(0))
        with pytest.raises(UsageError, match="belongs to another forest"):
            self.forest.finish(foreign, self.of(SPAN - 1))

    def empty(self, start, first, second):
        for end in (start, start - 1) if start else (start,):
            with pytest.raises(InvalidInputError, match="expected an end after"):
                self.forest.append(self.of(start), self.of(end))
            with pytest.raises(InvalidInputError, match="empty or end before"):
                self.forest.extend([self.of(start)], [self.of(end)])

    def early(self, start, first, second):
        floor = self.watermark if self.order == "watermark" else self.now
        if floor:
            for add in (
                lambda: self.forest.append(self.of(floor - 1)),
                lambda: self.forest.extend([self.of(floor), self.of(floor - 1)], [self.of(floor + 1)] * 2),
            ):
                with pytest.raises(InvalidInputError, match="out of order|late arrival"):
                    add()

    def advance(self, start, first, second):
        if self.order == "watermark":
            self.watermark = min(self.watermark + first, SPAN - 3)
            self.forest.advance(self.of(self.watermark))

    def save(self, start, first, second):
        with tempfile.TemporaryDirectory() as scratch:
            self.forest.save(Path(scratch) / "forest")
            self.forest = StabForest.load(Path(scratch) / "forest")
        self.handles.clear()

    def pickle(self, start, first, second):
        self.forest, self.handles = pickle.loads(pickle.dumps((self.forest, self.handles)))

    def ask(self, start, first, second):
        self.check(first, second)

    def check(self, t, length):
        of, seen = self.of, self.seen()
        active = sorted(i for i, (start, end) in seen.items() if start <= t < end)
        assert sorted(self.forest.stab(of(t)).tolist()) == active
        assert self.forest.count(of(t)) == len(active)
        instants = [t, (t + length) % SPAN, t]
        expected = sorted({i for u in instants for i, (start, end) in seen.items() if start <= u < end})
        for variant in ("events", "index"):
            assert sorted(self.forest.multi_stab([of(u) for u in instants], variant=variant, c=1).tolist()) == expected
        offsets, ids = self.forest.stab_many([of(u) for u in instants])
        assert sorted(ids[offsets[2] :].tolist()) == active
        end = min(t + length, SPAN)
        overlapping = sorted(i for i, (start, stop) in seen.items() if start < end and stop > t)
        if end > t:
            assert sorted(self.forest.overlapping(of(t), of(end)).tolist()) == overlapping
        other = [(t, end), (0, SPAN)] if end > t else [(0, SPAN)]
        for variant in ("events", "index"):
            left, right = self.forest.skip_join(
                ([of(a) for a, _ in other], [of(b) for _, b in other]), variant=variant, window=(of(0), None), c=1
            )
            found = sorted(zip(left.tolist(), right.tolist(), strict=True))
            assert found == sorted(
                (i, j) for i, (start, stop) in seen.items() for j, (a, b) in enumerate(other) if start < b and a < stop
            )

    def check_verbs(self, t, length):
        """The verbs through the forest, on the axis that it has."""
        of, seen, end = self.of, self.seen(), min(t + length, SPAN - 1)
        if not self.events:
            return
        active = sorted(i for i, (start, stop) in seen.items() if start <= t < stop)
        assert sorted(tl.stab(self.forest, at=of(t))["id"].to_pylist()) == active
        if end <= t:
            return
        few = pa.table({"row": [7], "start": [of(t)], "end": [of(end)]})
        near = sorted(i for i, (start, stop) in seen.items() if start < end and t < stop)
        for sides in ((few, self.forest), (self.forest, few)):
            assert sorted(tl.join(*sides)["id"].to_pylist()) == near
        assert sorted(tl.join(self.forest, few, how="anti")["id"].to_pylist()) == sorted(set(seen) - set(near))
        assert tl.count_join(few, self.forest)["count"].to_pylist() == [len(near)]
        if near:
            assert sorted(tl.nearest(few, self.forest, len(near))["id"].to_pylist()) == near


@pytest.mark.parametrize("axis", list(FROM_TICK))
@settings(max_examples=15, deadline=None)
@given(order=st.sampled_from(["start", "watermark"]), steps=operations)
def test_any_history_answers_as_brute_force(axis, order, steps):
    model = Model(FROM_TICK[axis], order)
    for step in steps:
        model.step(*step)
    assert len(model.forest) == len(model.events)
    for t in range(0, SPAN, 4):
        model.check(t, 3)
        model.check_verbs(t, 3)


@pytest.mark.parametrize("axis", list(FROM_TICK))
def test_open_events_are_active_at_the_last_instant_that_can_be_said(axis):
    of = FROM_TICK[axis]
    forest = StabForest()
    forest.append(of(SPAN - 1))
    assert forest.stab(of(SPAN - 1)).tolist() == [0]
    assert forest.stab(of(SPAN - 2)).tolist() == []
    assert forest.overlapping(of(0)).tolist() == [0]


def test_the_last_tick_is_in_no_event():
    forest = StabForest()
    for call in (lambda: forest.append(LAST), lambda: forest.begin(LAST), lambda: forest.append(LAST, None)):
        with pytest.raises(InvalidInputError, match="is empty"):
            call()
    forest.append(FIRST, LAST)
    assert forest.stab(LAST).tolist() == []
    assert forest.stab(FIRST).tolist() == forest.stab(LAST - 1).tolist() == [0]
    assert forest.overlapping(LAST - 1).tolist() == [0]
    with pytest.raises(InvalidInputError, match="window"):
        forest.overlapping(LAST)
