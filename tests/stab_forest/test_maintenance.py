"""A stab-forest as it grows: orders of arrival, open events and their handles, watermarks, and what is refused."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.stabbing import check_shape, read_shape, stab
from timeloom import InvalidInputError, StabForest, UsageError
from timeloom.kernels.stab_forest.layout import FOREVER
from tree import worked_examples

CASES = worked_examples("stab_forest")

operations = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(0, 2), st.integers(1, 6)),
        st.tuples(st.just("begin"), st.integers(0, 2), st.just(0)),
        st.tuples(st.just("finish"), st.integers(0, 5), st.integers(0, 4)),
        st.tuples(st.just("finish late"), st.integers(0, 5), st.integers(1, 4)),
        st.tuples(st.just("extend"), st.integers(0, 2), st.integers(1, 6)),
        st.tuples(st.just("query"), st.integers(-1, 25), st.just(0)),
    ),
    max_size=40,
)


def closed(events):
    return [(start, end - 1) for start, end in events]


def check(forest, events, instants):
    index = forest._shared.settled()
    check_shape(read_shape(index.forest))
    assert len(forest) == len(events)
    for t in instants:
        expected = stab(closed(events), t)
        found = forest.stab(t).tolist()
        assert len(found) == len(expected)
        assert set(found) == expected
        assert forest.count(t) == len(expected)
    starts, ends = forest.events()
    assert list(zip(starts.tolist(), ends.tolist(), strict=True)) == [tuple(event) for event in events]


@settings(max_examples=150, deadline=None)
@given(operations)
def test_random_sequences_equal_brute_force_and_keep_the_invariants(steps):
    forest, events, handles, now = StabForest(order="start"), [], {}, 0
    for kind, first, second in steps:
        if kind in ("append", "extend"):
            now += first
            events.append([now, now + second])
            if kind == "append":
                assert forest.append(now, now + second) == len(events) - 1
            else:
                events.append([now + 1, now + 3])
                forest.extend([now, now + 1], [now + second, now + 3])
                now += 1
        elif kind == "begin":
            now += first
            handles[len(events)] = forest.begin(now)
            events.append([now, FOREVER])
        elif kind.startswith("finish") and handles:
            event = sorted(handles)[first % len(handles)]
            start = events[event][0]
            end = max(start + 1, now + second) if kind == "finish" else start + second
            forest.finish(handles.pop(event), end)
            events[event][1] = end
        elif kind == "query":
            check(forest, events, [first])
    check(forest, events, range(-1, now + 8))
    instants = list(range(0, now + 8, 3))
    expected = set().union(*(stab(closed(events), t) for t in instants))
    assert sorted(forest.multi_stab(instants, c=1).tolist()) == sorted(expected)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 12), st.integers(1, 6)), max_size=40))
def test_single_appends_make_the_forest_that_build_makes(pairs):
    events = sorted((start, start + length) for start, length in pairs)
    forest = StabForest()
    for event in events:
        forest.append(*event)
        check(forest, events[: len(forest)], [event[0]])
    check(forest, events, range(-1, 20))
    whole = StabForest.build([s for s, _ in events], [e for _, e in events])
    assert read_shape(forest._shared.settled().forest)["points"] == read_shape(whole._shared.settled().forest)["points"]


def test_many_appends_pass_the_buffer_and_the_room():
    random = np.random.default_rng(7)
    starts = np.sort(random.integers(0, 4_000, 10_000))
    ends = starts + random.integers(1, 50, starts.size)
    forest = StabForest(order="start")
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        forest.append(start, end)
    for t in range(0, 4_050, 97):
        np.testing.assert_array_equal(np.sort(forest.stab(t)), np.flatnonzero((starts <= t) & (t < ends)))


def test_more_ends_kept_apart_than_a_first_answer_has_room_for_are_left_out():
    forest = StabForest()
    handles = [forest.begin(start) for start in range(1_000)]
    forest.stab(0)
    for handle in handles[:300]:
        forest.finish(handle, handle.id + 1)
    assert forest._shared.index.untidy
    assert sorted(forest.stab(999).tolist()) == list(range(300, 1_000))


def test_a_grown_forest_of_unsorted_events_keeps_its_ids():
    forest = StabForest.build([5, 1, 3], [6, 9, 4])
    assert forest.append(7, 8) == 3
    forest.extend([8, 9], [20, 10])
    check(forest, [(5, 6), (1, 9), (3, 4), (7, 8), (8, 20), (9, 10)], range(0, 21))


def test_versions_of_example_a_1():
    """Closed ends of the paper are one tick later here, so the versions of the example overlap at the update."""
    case = CASES["SF-A.1-versions"]
    forest, handles = StabForest(), {}
    for kind, name, t in case["input"]["ops"]:
        if kind == "start":
            handles[name] = forest.begin(t)
        else:
            forest.finish(handles[name], t + 1)
    names = list(handles)
    found = [[names[i] for i in sorted(forest.stab(t).tolist())] for t in case["input"]["stabs"]]
    assert found == case["expected"]["stabs"]
    assert [part.tolist() for part in forest.events()] == [[1, 4], [5, 10]]


@pytest.mark.parametrize("indexed", [False, True])
def test_finish_of_example_a_2(indexed):
    case = CASES["SF-A.2-update"]
    forest, handles = StabForest(), {}
    for name, start, end in case["input"]["events"]:
        if end == "inf":
            handles[name] = forest.begin(start)
        else:
            forest.append(start, end + 1)
    if indexed:
        for t in (3, 4, 5, 6):
            forest.append(t, t + 1)
    forest.stab(0)
    name, end = case["input"]["set_end"]
    forest.finish(handles[name], end + 1)
    index = forest._shared.settled()
    shape = read_shape(index.forest)
    check_shape(shape)
    ids = index.names(np.arange(5)).tolist()
    ends = ["inf" if end == FOREVER - 1 else end for _, end in shape["events"][:5]]
    found = [[f"E{i + 1}", 2, end] for i, end in zip(ids, ends, strict=True)]
    assert found == case["expected"]["events"]
    assert ends.index("inf") == case["expected"]["i_inf"]


def test_open_events_are_active_until_they_are_finished():
    forest = StabForest()
    first, second = forest.begin(4), forest.begin(4)
    assert sorted(forest.stab(10**15).tolist()) == [0, 1]
    assert forest.stab(3).tolist() == []
    forest.finish(second, 8)
    assert sorted(forest.stab(7).tolist()) == [0, 1]
    assert forest.stab(8).tolist() == [0]
    forest.finish(first, 5)
    assert forest.stab(5).tolist() == [1]


def test_an_event_appended_open_gets_a_handle_by_id():
    forest = StabForest.build([1, 2], [FOREVER, 5])
    forest.append(3)
    for event, end in ((0, 9), (2, 4)):
        forest.finish(forest.handle(event), end)
    check(forest, [(1, 9), (2, 5), (3, 4)], range(0, 10))
    with pytest.raises(InvalidInputError, match=r"event 1 ended at 5 already; only open events"):
        forest.handle(1)
    with pytest.raises(InvalidInputError, match=r"no event 3; expected an id from 0 to 2"):
        forest.handle(3)


def test_watermark_settles_what_started_before_it():
    forest = StabForest(order="watermark")
    forest.append(5, 9)
    forest.append(2, 7)
    open_visit = forest.begin(3)
    forest.extend([1, 8], [4, 12])
    assert len(forest) == 5
    assert forest.stab(6).tolist() == []
    forest.advance(4)
    assert sorted(forest.stab(6).tolist()) == [1, 2]
    forest.append(4, 5)
    late_visit = forest.begin(20)
    forest.finish(late_visit, 22)
    forest.finish(open_visit, 7)
    forest.advance(100)
    events = [(5, 9), (2, 7), (3, 7), (1, 4), (8, 12), (4, 5), (20, 22)]
    check(forest, events, range(0, 25))


def test_late_arrivals_are_refused_by_name():
    forest = StabForest(order="watermark")
    forest.append(5, 9)
    forest.advance(10)
    with pytest.raises(
        InvalidInputError, match=r"late arrival: the event starts at 7, 3 ticks before the watermark 10"
    ):
        forest.append(7, 20)
    with pytest.raises(InvalidInputError, match=r"late arrival: the row 1 starts at 9, 1 ticks before"):
        forest.extend([12, 9], [13, 13])
    with pytest.raises(InvalidInputError, match=r"watermark 8 lies 2 ticks before the present one, 10"):
        forest.advance(8)
    with pytest.raises(UsageError, match=r"has no watermark; make one with StabForest\(order='watermark'\)"):
        StabForest().advance(3)
    assert len(forest) == 1


def test_out_of_order_appends_say_by_how_much_and_what_accepts_them():
    forest = StabForest.build([3, 9], [5, 12])
    with pytest.raises(InvalidInputError, match=r"start 7 is out of order, 2 ticks before the last start 9.*watermark"):
        forest.append(7, 20)
    with pytest.raises(InvalidInputError, match=r"ends 2 ticks before the last event of the same start.*order='start'"):
        forest.append(9, 10)
    with pytest.raises(InvalidInputError, match=r"row 1: start 10 is out of order, 5 ticks before the last start 15"):
        forest.extend([15, 10], [16, 16])
    with pytest.raises(InvalidInputError, match=r"row 1: the event \[15, 16\) is out of order"):
        forest.extend([15, 15], [17, 16])
    assert len(forest) == 2
    by_start = StabForest.build([3, 9], [5, 12], order="start")
    by_start.append(9, 10)
    check(by_start, [(3, 5), (9, 12), (9, 10)], range(0, 13))


def test_open_events_do_not_order_the_ends_of_their_start():
    forest = StabForest()
    handle = forest.begin(4)
    forest.append(4, 9)
    forest.extend([4, 4], [10, FOREVER])
    forest.append(4, 11)
    forest.finish(handle, 6)
    check(forest, [(4, 6), (4, 9), (4, 10), (4, FOREVER), (4, 11)], range(0, 13))


def test_handles_finish_once_and_in_their_own_forest():
    forest, other = StabForest(), StabForest()
    handle = forest.begin(4)
    with pytest.raises(UsageError, match=r"belongs to another forest; finish it with the forest that began it"):
        other.finish(handle, 5)
    with pytest.raises(UsageError, match=r"5 is no handle; expected what begin\(\) returned"):
        forest.finish(5, 5)
    with pytest.raises(InvalidInputError, match=r"\[4, 4\) is empty; expected an end after 4.*\[4, 5\)"):
        forest.finish(handle, 4)
    with pytest.raises(InvalidInputError, match=r"leaves event 0 open"):
        forest.finish(handle, FOREVER)
    forest.finish(handle, 5)
    with pytest.raises(InvalidInputError, match=r"event 0 is finished already; an event ends only once"):
        forest.finish(handle, 6)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda f: f.append(5, 4), InvalidInputError, r"\[5, 4\) ends before it starts; expected an end after 5"),
        (lambda f: f.append(5, 5), InvalidInputError, r"is empty.*a single instant is \[5, 6\)"),
        (lambda f: f.append(2**63, None), InvalidInputError, r"does not fit into int64"),
        (lambda f: f.append("5", 9), UsageError, r"start='5' is str; expected an integer tick"),
        (lambda f: f.stab(1.5), UsageError, r"t=1.5 is float"),
        (lambda f: f.extend([1, 2], [3]), UsageError, r"2 starts and 1 ends"),
        (lambda f: f.extend([[1]], [[3]]), UsageError, r"starts has 2 dimensions"),
        (lambda f: f.extend([1.0], [3]), UsageError, r"starts holds float64; expected integer ticks"),
        (lambda f: f.extend([1, 4], [3, 2]), InvalidInputError, r"1 of 2 events .*first row 1: \[4, 2\)"),
        (lambda f: f.extend(7), UsageError, r"int is no table; expected arrays of starts and ends, or a table"),
        (lambda f: f.multi_stab([1], c=0), UsageError, r"c=0 is no threshold"),
        (lambda f: f.stab_many([1], c=2**63), UsageError, r"expected an integer from 1 to 2147483647"),
        (lambda f: f.skip_join(f, c=True), UsageError, r"c=True is of type bool; c takes a whole number"),
        (lambda f: f.multi_stab([1], variant="evens"), UsageError, r"Did you mean 'events'"),
        (lambda f: f.stab(1, window=(3, 3)), InvalidInputError, r"window \[3, 3\) is empty"),
        (lambda f: f.stab(1, window=3), UsageError, r"window=3; expected two instants"),
        (lambda f: f.skip_join([1, 2]), UsageError, r"starts has 0 dimensions; expected a list"),
        (lambda f: StabForest(order="end"), UsageError, r"order='end' is unknown"),
    ],
)
def test_bad_input_is_refused_with_words_that_help(call, error, words):
    with pytest.raises(error, match=words):
        call(StabForest())


def test_tables_are_read_by_their_period():
    table = pa.table({"begin": [1, 2], "until": [4, None]})
    forest = StabForest()
    forest.extend(table, period=("begin", "until"))
    forest.extend(pa.table({"start": [3, 4], "end": [5, 6]}).to_pandas())
    check(forest, [(1, 4), (2, FOREVER), (3, 5), (4, 6)], range(0, 8))


@pytest.mark.parametrize("seed", range(8))
def test_batches_make_the_forest_that_single_events_make(seed, monkeypatch):
    random, forests = np.random.default_rng(seed), [StabForest(order="start") for _ in range(2)]
    start, opened = 0, []
    for _ in range(40):
        size = int(random.integers(1, 30))
        starts = start + np.cumsum(random.integers(0, 3, size))
        ends = starts + random.integers(1, 40, size)
        ends[random.random(size) < 0.2] = FOREVER
        opened += (len(forests[0]) + np.flatnonzero(ends == FOREVER)).tolist()
        start = int(starts[-1])
        finished = {
            opened.pop(int(random.integers(len(opened)))): start + int(random.integers(1, 50))
            for _ in range(min(len(opened), int(random.integers(0, 4))))
        }
        for forest, many in zip(forests, (1, 10**9), strict=True):
            monkeypatch.setattr("timeloom.stab_forest.index.MANY", many)
            forest.extend(starts, ends)
            for event, end in finished.items():
                forest.finish(forest.handle(event), end)
        for t in random.integers(0, start + 60, 5).tolist():
            assert sorted(forests[0].stab(t).tolist()) == sorted(forests[1].stab(t).tolist())
    for forest in forests:
        check_shape(read_shape(forest._shared.settled().forest))
