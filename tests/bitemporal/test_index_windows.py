"""The index against brute force: all types of queries, meanings, directions, variants, with and without checkpoints."""

from datetime import UTC, date, datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.bitemporal import MEANINGS, slide_query, valid_rows
from timeloom.bitemporal.index import BitemporalIndex
from timeloom.errors import UsageError
from timeloom.model.slide import Slide

TIMES = st.integers(0, 12)


@st.composite
def periods(draw):
    start = draw(TIMES)
    return start, draw(st.one_of(st.none(), st.integers(start, 12)))


@st.composite
def histories(draw):
    rows = draw(st.lists(st.tuples(periods(), periods()), max_size=14))
    return [(*app, *sys) for app, sys in rows]


def slides(least_pace=-3):
    paces = st.integers(least_pace, 3)
    return st.tuples(st.integers(-1, 13), st.integers(1, 5), paces, st.one_of(st.none(), paces))


def as_table(rows):
    names = ("app_start", "app_end", "sys_start", "sys_end")
    return pa.table({n: pa.array([row[k] for row in rows], pa.int64()) for k, n in enumerate(names)})


def never_vanishes(slide, steps):
    _, length, pace, start_pace = slide
    return start_pace is None or length + steps * (pace - start_pace) >= 0


def full(slide):
    start, length, pace, start_pace = slide
    return start, length, pace, pace if start_pace is None else start_pace


def answers(query):
    return [(step.entered.tolist(), step.left.tolist(), step.valid().tolist()) for step in query]


RATIOS = st.tuples(st.integers(0, 2), st.integers(0, 3)).filter(lambda ratio: ratio != (0, 0))


@given(
    histories(),
    slides(),
    slides(),
    RATIOS,
    st.integers(0, 9),
    st.sampled_from(MEANINGS),
    st.sampled_from([None, 1, 3]),
    st.sampled_from([None, 1, 5]),
)
@settings(max_examples=300, deadline=None)
def test_windows_equal_brute_force(rows, sys, app, ratio, steps, meaning, bucket, checkpoint_every):
    sys = sys if never_vanishes(sys, steps) else (*sys[:3], None)
    app = app if never_vanishes(app, steps) else (*app[:3], None)
    index = BitemporalIndex(as_table(rows), bucket=bucket, checkpoint_every=checkpoint_every)
    query = index.windows(sys=Slide(*sys), app=Slide(*app), ratio=ratio, steps=steps, meaning=meaning)
    assert len(query) == steps + 1
    assert answers(query) == slide_query(rows, full(sys), full(app), ratio, steps, meaning)


@st.composite
def arrivals(draw):
    """Batches of new rows and of ends, in order of system time; and the history that they amount to."""
    rows, batches, now = [], [], 0
    for _ in range(draw(st.integers(1, 5))):
        new, ended = [], {}
        for _ in range(draw(st.integers(0, 4))):
            now = min(12, now + draw(st.integers(0, 2)))
            alive = [n for n, row in enumerate(rows) if row[3] is None and n not in ended]
            if alive and draw(st.booleans()):
                ended[draw(st.sampled_from(alive))] = now
            else:
                new.append((*draw(periods()), now, None))
        batches.append((new, ended))
        rows += new
        for number, at in ended.items():
            rows[number] = (*rows[number][:3], at)
    return batches, rows


def state_after(batches, count):
    rows = []
    for new, ended in batches[:count]:
        rows += new
        for number, at in ended.items():
            rows[number] = (*rows[number][:3], at)
    return rows


@given(
    arrivals(),
    slides(),
    slides(),
    RATIOS,
    st.sampled_from(MEANINGS),
    st.sampled_from([None, 1, 4]),
)
@settings(max_examples=200, deadline=None)
def test_a_query_sees_whole_batches_and_keeps_its_state(arrival, sys, app, ratio, meaning, checkpoint_every):
    batches, _ = arrival
    sys, app = (*sys[:3], None), (*app[:3], None)
    index = BitemporalIndex(as_table([]), checkpoint_every=checkpoint_every, bucket=2)
    queries = []
    for new, ended in batches:
        index.apply(as_table(new), ended if len(queries) % 2 else (list(ended), list(ended.values())))
        queries.append(index.windows(sys=Slide(*sys), app=Slide(*app), ratio=ratio, steps=6, meaning=meaning))
    for count, query in enumerate(queries, 1):
        expected = slide_query(state_after(batches, count), full(sys), full(app), ratio, 6, meaning)
        assert answers(query) == expected


@given(arrivals(), slides(), st.integers(0, 2), st.integers(0, 5), RATIOS)
@settings(max_examples=150, deadline=None)
def test_the_non_retroactive_index_answers_at_the_latest_system_time(arrival, app, beyond, pace, ratio):
    batches, rows = arrival
    index = BitemporalIndex(as_table([]), retroactive=False)
    for new, ended in batches:
        index.apply(as_table(new), ended)
    latest = max([t for row in rows for t in row[2:] if t is not None], default=0)
    sys, app = (latest + beyond - 2, 2, pace, None), (*app[:3], None)
    query = index.windows(sys=Slide(*sys), app=Slide(*app), ratio=ratio, steps=5)
    assert answers(query) == slide_query(rows, full(sys), full(app), ratio, 5)


def test_forgotten_rows_keep_their_numbers():
    index = BitemporalIndex(as_table([(0, None, 0, None)] * 3000), retroactive=False)
    index.apply(None, dict.fromkeys(range(0, 2900), 5))
    index.append(as_table([(1, 4, 6, None)]))
    assert len(index) == 3001
    assert index.as_of(app=2).tolist() == [*range(2900, 3001)]
    index.end([2950], 7)
    assert 2950 not in index.as_of(app=2)
    assert index.nbytes < 20_000


@given(histories(), TIMES, TIMES)
@settings(max_examples=100, deadline=None)
def test_as_of_is_a_point(rows, sys, app):
    index = BitemporalIndex(as_table(rows))
    assert index.as_of(sys=sys, app=app).tolist() == valid_rows(rows, (sys, sys), (app, app))


@given(histories(), st.lists(TIMES, max_size=3), slides(), slides(), RATIOS)
@settings(max_examples=100, deadline=None)
def test_checkpoints_by_hand_change_no_answer(rows, instants, sys, app, ratio):
    sys, app = (*sys[:3], None), (*app[:3], None)
    index = BitemporalIndex(as_table(rows), checkpoint_every=None)
    latest = index.latest
    for instant in instants:
        if rows and instant <= latest:
            index.checkpoint(instant)
            assert instant in index.checkpoints
    query = index.windows(sys=Slide(*sys), app=Slide(*app), ratio=ratio, steps=7)
    assert answers(query) == slide_query(rows, full(sys), full(app), ratio, 7)


def test_open_ends_and_windows_at_the_edges_of_time():
    edge = 2**63 - 1
    index = BitemporalIndex(as_table([(0, None, 0, None), (edge - 1, None, 0, None)]))
    query = index.windows(sys=Slide(edge - 4, 2, 2**62), app=Slide(edge - 4, 3, 2**62), ratio=(1, 1), steps=4)
    assert answers(query)[0][2] == [0, 1]
    assert answers(query)[-1][2] == [0, 1]


def test_steps_out_of_order_still_know_their_valid_rows():
    rows = [(a, a + 3, s, None) for a in range(6) for s in range(4)]
    index = BitemporalIndex(as_table(rows))
    steps = list(index.windows(sys=Slide(0, 1, 1), app=Slide(0, 1, 1), ratio=(1, 2), steps=8))
    expected = slide_query(rows, (0, 1, 1, 1), (0, 1, 1, 1), (1, 2), 8)
    for number in (5, 2, 8, 0, 3, 3):
        assert steps[number].valid().tolist() == expected[number][2]
    assert steps[2].number == 2
    assert "entered" in repr(steps[2])


def test_dates_and_zones_come_back_in_their_own_types():
    utc = UTC
    table = pa.table(
        {
            "sys_start": pa.array([datetime(2014, 3, 20, tzinfo=utc)], pa.timestamp("us", "UTC")),
            "sys_end": pa.array([datetime(2014, 5, 1, tzinfo=utc)], pa.timestamp("us", "UTC")),
            "app_start": [date(2014, 4, 1)],
            "app_end": [date(2015, 4, 1)],
        }
    )
    index = BitemporalIndex(table)
    query = index.windows(
        sys=Slide(datetime(2014, 3, 1, tzinfo=utc), timedelta(days=14), "31 days"),
        app=Slide("2014-03-25", "1 week", 0),
        ratio=(1, 0),
        steps=2,
    )
    assert [step.valid().tolist() for step in query] == [[], [0], []]
    assert [step.sys[1].date() for step in query] == [date(2014, 3, 15), date(2014, 4, 15), date(2014, 5, 16)]
    assert next(iter(query)).app == (date(2014, 3, 25), date(2014, 4, 1))


@pytest.mark.parametrize(
    ("slide", "words"),
    [
        (lambda: Slide(0, -2, 1), "leaves no window"),
        (lambda: Slide(1.5, 2, 1), "is no instant"),
        (lambda: Slide(0, "two", 1), "is no span"),
    ],
)
def test_slides_that_mean_nothing_are_refused(slide, words):
    with pytest.raises(UsageError, match=words):
        slide()


def test_the_expressions_follow_the_window():
    rows = [(0, 5, 0, None), (1, 3, 0, None), (2, None, 1, 3)]
    table = (
        as_table(rows)
        .append_column("v", pa.array([10, None, 7]))
        .append_column("w", pa.array([0.1, 1e300, float("inf")]))
    )
    index = BitemporalIndex(table)
    select = {
        "n": "count",
        "known": ("v", "count"),
        "sum": ("v", "sum"),
        "avg": ("v", "avg"),
        "max": ("v", "max"),
        "min": ("v", "min"),
        "top": ("v", "top", 1),
        "size": ("v", len),
        "distinct": ("v", "count_distinct"),
        "all": ("v", "collect"),
        "w": ("w", "sum"),
    }
    steps = list(index.windows(sys=Slide(0, 1, 1), app=Slide(0, 1, 1), ratio=(0, 1), steps=5, select=select))
    assert [step.values["n"] for step in steps] == [2, 3, 2, 2, 1, 1]
    assert [step.values["known"] for step in steps] == [1, 2, 2, 2, 1, 1]
    assert [step.values["sum"] for step in steps] == [10, 17, 17, 17, 7, 7]
    assert [step.values["avg"] for step in steps] == [10, 8.5, 8.5, 8.5, 7, 7]
    assert [step.values["max"] for step in steps] == [10, 10, 10, 10, 7, 7]
    assert [step.values["min"] for step in steps] == [10, 7, 7, 7, 7, 7]
    assert [step.values["top"] for step in steps] == [[10], [10], [10], [10], [7], [7]]
    assert [step.values["size"] for step in steps] == [1, 2, 2, 2, 1, 1]
    assert [step.values["w"] for step in steps][1] == float("inf")
    gone = list(index.windows(sys=Slide(2, 1, 1), app=Slide(1, 1, 1), ratio=(0, 1), steps=4, select=select))
    assert gone[-1].values["w"] is None
    assert gone[0].values["w"] == 1e300
    assert gone[1].values["w"] == 0.1
