"""Rows of several tasks as what they change: however they are dealt, and wherever time is cut, as on local tables."""

from decimal import Decimal
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timeloom as tl
from drawing import periods
from timeloom.engines.timelines import changes
from timeloom.engines.timelines.changes import Changes, Measured, Timeline, agreed_bounds, changes_of, suits
from timeloom.model.measures import read_measures
from timeloom.model.ticks import FOREVER, MIN_TICK

WHOLE = [None, 0, 1, -2, 2**31, -(2**31), 2**40, 2**61, -(2**62)]
KINDS = {"whole": pa.int64(), "money": pa.decimal128(30, 2), "truth": pa.bool_()}
VALUES = {
    "whole": st.sampled_from(WHOLE),
    "money": st.sampled_from([None, Decimal("1.25"), Decimal("-99999999999999999999.50")]),
    "truth": st.sampled_from([None, True, False]),
}
MEASURES = {"rows": "count"} | {
    f"{function} of {name}": (name, function) for name in KINDS for function in ("count", "sum", "avg")
}


@st.composite
def tables(draw):
    rows = draw(periods(max_size=10))
    columns = {"start": [start for start, _ in rows], "end": [end for _, end in rows]}
    made = {name: pa.array(values, pa.int64()) for name, values in columns.items()}
    for name, kind in KINDS.items():
        made[name] = pa.array(draw(st.lists(VALUES[name], min_size=len(rows), max_size=len(rows))), kind)
    dealt = draw(st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows)))
    return pa.table(made), np.array(dealt, np.int64)


def travelled(table, dealt, task):
    """What the rows of one task change, as it is read by another."""
    mine = table.filter(pa.array(dealt == task))
    starts, ends = (mine[name].to_numpy() for name in ("start", "end"))
    found = changes_of(starts, ends, mine.select(list(KINDS)), Measured.of(read_measures(MEASURES)))
    return Changes.read(found.table())


def aggregated(parts, edges):
    """All parts of time, one after the other."""
    measures, found = read_measures(MEASURES), []
    for since, until in pairwise(edges):
        line = Timeline([part.part(since, until) for part in parts], since, until)
        periods = {"start": line.spans.starts, "end": line.spans.ends}
        found.append(pa.table({**periods, **line.measured(measures, KINDS)}))
    return pa.concat_tables(found).to_pylist()


@given(tables(), st.integers(1, 4))
@settings(deadline=None)
def test_tasks_that_agree_find_what_one_finds(drawn, tasks):
    table, dealt = drawn
    try:
        expected = tl.temporal_aggregate(table, MEASURES).to_pylist()
    except tl.InvalidInputError as error:
        with pytest.raises(tl.InvalidInputError, match=str(error)[:30]):
            aggregated([travelled(table, dealt, task) for task in range(3)], [MIN_TICK, FOREVER])
        return
    parts = [travelled(table, dealt, task) for task in range(3)]
    assert aggregated(parts, [MIN_TICK, *agreed_bounds(parts, tasks), FOREVER]) == expected


@given(tables(), st.data())
@settings(deadline=None)
def test_time_may_be_cut_at_any_endpoint(drawn, data):
    """Also twice: what a writer has cut, with what was before, can be cut again."""
    table, dealt = drawn
    table = table.set_column(2, "whole", pa.array([1] * table.num_rows, pa.int64()))
    ticks = sorted({*table["start"].to_pylist(), *table["end"].to_pylist()})
    bounds = sorted(data.draw(st.sets(st.sampled_from(ticks)))) if ticks else []
    edges = [MIN_TICK, *bounds, FOREVER]
    parts = [travelled(table, dealt, task) for task in range(3)]
    expected = tl.temporal_aggregate(table, MEASURES).to_pylist()
    assert aggregated(parts, edges) == expected
    if bounds:
        late = [Changes.read(part.part(bounds[0], FOREVER).table()) for part in parts]
        assert aggregated(late, [bounds[-1], FOREVER]) == [row for row in expected if row["start"] >= bounds[-1]]


@given(tables())
@settings(deadline=None)
def test_ticks_that_lie_far_apart_are_sorted(drawn):
    table, dealt = drawn
    table = table.set_column(2, "whole", pa.array(range(table.num_rows), pa.int64()))
    table = table.set_column(3, "money", pa.nulls(table.num_rows, KINDS["money"]))
    apart = [pa.array([tick * 10**12 for tick in table[name].to_pylist()], pa.int64()) for name in ("start", "end")]
    table = table.set_column(0, "start", apart[0]).set_column(1, "end", apart[1])
    parts = [travelled(table, dealt, task) for task in range(3)]
    assert aggregated(parts, [MIN_TICK, FOREVER]) == tl.temporal_aggregate(table, MEASURES).to_pylist()


def test_a_part_without_changes_keeps_what_was_before():
    table = pa.table(
        {"start": [0], "end": [10], "whole": [7], "money": pa.array([None], KINDS["money"]), "truth": [True]}
    )
    part = travelled(table, np.zeros(1, np.int64), 0).part(3, 6)
    assert not part.ticks.size
    assert not part.idle
    assert Changes.read(part.table()).before["rows"] == 1
    line = Timeline([Changes.read(part.table())], 3, 6)
    assert line.spans.starts.tolist() == [3]
    assert line.spans.ends.tolist() == [6]
    assert line.measured(read_measures({"t": ("whole", "sum")}), KINDS)["t"].to_pylist() == [7]
    assert travelled(table, np.zeros(1, np.int64), 0).part(10, FOREVER).columns["rows"].tolist() == [-1]


def test_slots_are_for_ticks_that_lie_close_together_and_are_not_too_many(monkeypatch):
    close, far = np.arange(100), np.arange(100) * 10
    assert changes.slots_of([close, np.array([FOREVER])]) == (0, 101)
    assert changes.slots_of([close - 7, close]) == (-7, 108)
    assert changes.slots_of([far]) is None
    assert changes.slots_of([np.zeros(0, np.int64)]) is None
    assert changes.slots_of([np.array([MIN_TICK]), np.array([FOREVER])]) == (MIN_TICK, 2)
    monkeypatch.setattr(changes, "MOST_SLOTS", 100)
    assert changes.slots_of([close]) is None


@pytest.mark.parametrize("rows", [50, 5_000])
def test_what_is_agreed_depends_on_the_ticks_alone(rows):
    draw = np.random.default_rng(rows)
    starts = draw.integers(0, rows, rows)
    table = pa.table({"start": starts, "end": starts + 3, "whole": starts, "money": pa.nulls(rows, KINDS["money"])})
    table = table.append_column("truth", pa.nulls(rows, pa.bool_()))
    found = set()
    for dealt in (np.zeros(rows, np.int64), draw.integers(0, 3, rows), np.arange(rows) % 2):
        parts = [travelled(table, dealt, task) for task in range(3)]
        found.add(tuple(agreed_bounds(parts, 4)))
        assert agreed_bounds(parts[::-1], 4) == agreed_bounds(parts, 4)
    assert len(found) == 1
    assert len(found.pop()) == 3
    assert (rows >= changes.LOOKED_AT) == (rows == 5_000)


@pytest.mark.parametrize(
    ("function", "kind", "expected"),
    [
        ("sum", pa.int32(), True),
        ("avg", pa.float64(), False),
        ("count", pa.float64(), True),
        ("max", pa.int64(), False),
    ],
)
def test_which_measures_changes_tell(function, kind, expected):
    assert suits(read_measures({"x": ("x", function)})[0], kind) == expected
