"""Sliding windows over axes of every kind and at the ends of time, against the definition."""

from datetime import UTC, date, datetime, timedelta, timezone

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timeloom as tl
from reference.bitemporal import slide_query, window_sequence

INDIA = timezone(timedelta(hours=5, minutes=30))
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
AXES = {
    "int64": (pa.int64(), lambda n: n, lambda n: n),
    "int8": (pa.int8(), lambda n: n, lambda n: n),
    "uint16": (pa.uint16(), lambda n: n, lambda n: n),
    "date": (pa.date32(), lambda n: date(2020, 1, 1) + n * DAY, lambda n: n * DAY),
    "date64": (pa.date64(), lambda n: date(2020, 1, 1) + n * DAY, lambda n: f"{n} days"),
    "seconds": (pa.timestamp("s"), lambda n: datetime(2020, 1, 1) + n * HOUR, lambda n: n * HOUR),
    "nanoseconds": (pa.timestamp("ns"), lambda n: datetime(2020, 1, 1) + n * HOUR, lambda n: f"{n} hours"),
    "zoned": (pa.timestamp("ms", "UTC"), lambda n: datetime(2020, 1, 1, tzinfo=UTC) + n * HOUR, lambda n: n * HOUR),
    "offset": (
        pa.timestamp("us", "+05:30"),
        lambda n: datetime(2020, 1, 1, tzinfo=INDIA) + n * HOUR,
        lambda n: n * HOUR,
    ),
}
TIMES = st.integers(1, 9)


@st.composite
def periods(draw):
    start = draw(TIMES)
    return start, draw(st.one_of(st.none(), st.integers(start, 10)))


HISTORIES = st.lists(st.tuples(periods(), periods()), max_size=8)
SLIDES = st.tuples(st.integers(2, 9), st.integers(1, 3), st.integers(-2, 2))
RATIOS = st.sampled_from([(1, 1), (1, 2), (2, 1), (0, 1), (1, 0), (3, 0)])
MEANINGS = st.sampled_from(["snapshot", "visible", "began"])


def history(rows, sys_axis, app_axis):
    columns = {}
    for name, at, axis in (
        ("app_start", 0, app_axis),
        ("app_end", 1, app_axis),
        ("sys_start", 2, sys_axis),
        ("sys_end", 3, sys_axis),
    ):
        kind, instant, _ = AXES[axis]
        columns[name] = pa.array([None if row[at] is None else instant(row[at]) for row in rows], kind)
    return pa.table(columns | {"id": pa.array(range(len(rows)), pa.int64())})


def slide(given, axis):
    _, instant, span = AXES[axis]
    return tl.Slide(instant(given[0]), span(given[1]), span(given[2]))


@given(
    HISTORIES,
    SLIDES,
    SLIDES,
    RATIOS,
    st.integers(0, 4),
    MEANINGS,
    st.sampled_from(list(AXES)),
    st.sampled_from(list(AXES)),
)
@settings(max_examples=40, deadline=None)
def test_any_two_axes_equal_the_definition(drawn, sys, app, ratio, steps, meaning, sys_axis, app_axis):
    rows = [(*app_period, *sys_period) for app_period, sys_period in drawn]
    table = history(rows, sys_axis, app_axis)
    options = {
        "sys": slide(sys, sys_axis),
        "app": slide(app, app_axis),
        "ratio": ratio,
        "steps": steps,
        "meaning": meaning,
    }
    expected = slide_query(rows, (*sys, sys[2]), (*app, app[2]), ratio, steps, meaning)
    found = tl.sliding_windows(table, **options)
    assert found["n"].to_pylist() == [len(valid) for _, _, valid in expected]
    inside = tl.sliding_windows(table, **options, rows=True)
    pairs = list(zip(inside["step"].to_pylist(), inside["id"].to_pylist(), strict=True))
    assert pairs == [(step, row) for step, (_, _, valid) in enumerate(expected) for row in valid]
    steps_of_index = list(tl.BitemporalIndex(table).windows(**options))
    assert [step.valid().tolist() for step in steps_of_index] == [valid for _, _, valid in expected]
    windows = window_sequence((*sys, sys[2]), (*app, app[2]), ratio, steps)
    instant = AXES[sys_axis][1]
    assert [step.sys for step in steps_of_index] == [tuple(map(instant, window)) for window, _ in windows]


LAST, FIRST = 2**63 - 1, -(2**63)
EDGES = st.one_of(st.integers(LAST - 6, LAST - 1), st.integers(FIRST + 1, FIRST + 6), st.integers(-3, 3))
FAR = st.one_of(EDGES, st.integers(FIRST, LAST))


@st.composite
def edge_periods(draw):
    start = draw(EDGES)
    return start, draw(st.one_of(st.none(), EDGES.filter(lambda end: end >= start)))


def inside(row, sys, app, meaning):
    """The definition without a walk over all instants between."""
    app_start, app_end, sys_start, sys_end = row
    if sys_start == sys_end or app_start == app_end:
        return False
    if meaning == "began":
        return sys[0] <= sys_start <= sys[1] and app[0] <= app_start <= app[1]
    at = 1 if meaning == "snapshot" else 0
    return all(
        start <= window[1] and (end is None or end > window[at])
        for start, end, window in ((sys_start, sys_end, sys), (app_start, app_end, app))
    )


@given(
    st.lists(st.tuples(edge_periods(), edge_periods()), max_size=6),
    st.tuples(EDGES, st.integers(1, LAST), FAR),
    st.tuples(EDGES, st.integers(1, LAST), FAR),
    RATIOS,
    MEANINGS,
)
@settings(max_examples=40, deadline=None)
def test_the_ends_of_time_equal_the_definition(drawn, sys, app, ratio, meaning):
    rows = [(*app_period, *sys_period) for app_period, sys_period in drawn]
    table = history(rows, "int64", "int64")
    options = {"sys": tl.Slide(*sys), "app": tl.Slide(*app), "ratio": ratio, "steps": 4, "meaning": meaning}
    windows = window_sequence((*sys, sys[2]), (*app, app[2]), ratio, 4)
    expected = [[k for k, row in enumerate(rows) if inside(row, *window, meaning)] for window in windows]
    found = tl.sliding_windows(table, **options, rows=True)
    pairs = list(zip(found["step"].to_pylist(), found["id"].to_pylist(), strict=True))
    assert pairs == [(step, row) for step, valid in enumerate(expected) for row in valid]
    assert [step.valid().tolist() for step in tl.BitemporalIndex(table).windows(**options)] == expected


@pytest.mark.parametrize("misuse", [{"steps": 10**12}, {"steps": True}, {"sys": "s"}])
def test_numbers_beyond_reason(misuse):
    table = history([(1, 2, 1, None)], "int64", "int64")
    options = {"sys": tl.Slide(0, 1, 1), "app": tl.Slide(0, 1, 1), "steps": 1} | misuse
    if misuse.get("steps") == 0:
        assert tl.sliding_windows(table, **options)["n"].to_pylist() == [1]
        return
    with pytest.raises(tl.UsageError):
        tl.sliding_windows(table, **options)


def test_spans_beyond_reason():
    with pytest.raises(tl.UsageError, match="longer than any span"):
        tl.Slide(0, "99999999999999 days")


@pytest.mark.spark
def test_axes_on_spark(spark):
    rows = [(1, 4, 1, None), (2, None, 2, 5), (3, 3, 1, 4), (5, 9, 4, 4), (1, None, 3, None)]
    cases = [
        ("zoned", "date", (3, 2, 1), (2, 1, -1), (1, 2), "snapshot"),
        ("date", "int64", (3, 2, 0), (2, 3, 1), (0, 1), "visible"),
        ("int8", "zoned", (4, 3, -1), (1, 2, 2), (1, 1), "began"),
    ]
    for sys_axis, app_axis, sys, app, ratio, meaning in cases:
        table = history(rows, sys_axis, app_axis)
        frame = spark.createDataFrame(table).repartition(2)
        options = {"sys": slide(sys, sys_axis), "app": slide(app, app_axis), "ratio": ratio, "steps": 3}
        found = tl.sliding_windows(frame, **options, meaning=meaning, rows=True).select("step", "id").collect()
        expected = slide_query(rows, (*sys, sys[2]), (*app, app[2]), ratio, 3, meaning)
        pairs = [(step, row) for step, (_, _, valid) in enumerate(expected) for row in valid]
        assert sorted(map(tuple, found)) == pairs


def test_slides_beyond_the_axis():
    with pytest.raises(tl.UsageError, match="does not fit into int64"):
        tl.Slide(0, 1, 10**30)
