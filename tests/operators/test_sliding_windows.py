"""`sliding_windows` on local tables against brute force, and against the index."""

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timeloom as tl
from reference.bitemporal import MEANINGS as ALL_MEANINGS
from reference.bitemporal import slide_query

TIMES = st.integers(0, 12)
RATIOS = st.tuples(st.integers(0, 2), st.integers(0, 3)).filter(lambda ratio: ratio != (0, 0))
MEANINGS = st.sampled_from(ALL_MEANINGS)


@st.composite
def periods(draw):
    start = draw(TIMES)
    return start, draw(st.one_of(st.none(), st.integers(start, 12)))


@st.composite
def histories(draw):
    rows = draw(st.lists(st.tuples(periods(), periods()), max_size=12))
    values = draw(st.lists(st.one_of(st.none(), st.integers(-3, 3)), min_size=len(rows), max_size=len(rows)))
    return [(*app, *sys) for app, sys in rows], values


def as_table(rows, values):
    names = ("app_start", "app_end", "sys_start", "sys_end")
    table = {n: pa.array([row[k] for row in rows], pa.int64()) for k, n in enumerate(names)}
    return pa.table(table | {"id": pa.array(range(len(rows)), pa.int64()), "v": pa.array(values, pa.int64())})


@st.composite
def slides(draw, steps):
    start, length, pace = draw(st.integers(-1, 13)), draw(st.integers(0, 5)), draw(st.integers(-3, 3))
    own = draw(st.one_of(st.none(), st.integers(-3, 3)))
    if own is not None and length + steps * (pace - own) < 0:
        own = None
    return start, length, pace, own


@st.composite
def queries(draw):
    steps = draw(st.integers(0, 8))
    return draw(slides(steps)), draw(slides(steps)), draw(RATIOS), steps, draw(MEANINGS)


def full(slide):
    return (*slide[:3], slide[2] if slide[3] is None else slide[3])


def brute(history, query):
    rows, values = history
    sys, app, ratio, steps, meaning = query
    answers = slide_query(rows, full(sys), full(app), ratio, steps, meaning)
    table = []
    for step, (_, _, valid) in enumerate(answers):
        known = [values[row] for row in valid if values[row] is not None]
        table.append(
            {
                "step": step,
                "n": len(valid),
                "known": len(known),
                "sum": sum(known) if known else None,
                "avg": sum(known) / len(known) if known else None,
                "max": max(known, default=None),
                "top": sorted(known, reverse=True)[:2] or None,
            }
        )
    return table, answers


SELECT = {
    "n": "count",
    "known": ("v", "count"),
    "sum": ("v", "sum"),
    "avg": ("v", "avg"),
    "max": ("v", "max"),
    "top": ("v", "top", 2),
}


@given(histories(), queries())
@settings(max_examples=200, deadline=None)
def test_steps_and_deltas_equal_brute_force(history, query):
    sys, app, ratio, steps, meaning = query
    options = {"sys": tl.Slide(*sys), "app": tl.Slide(*app), "ratio": ratio, "steps": steps, "meaning": meaning}
    expected, answers = brute(history, query)
    table = as_table(*history)
    assert tl.sliding_windows(table, **options, select=SELECT).to_pylist() == expected
    deltas = tl.sliding_windows(table, **options, deltas=True).to_pylist()
    found = [(row["step"], row["change"], row["id"]) for row in deltas]
    assert found == [
        (step, change, row)
        for step, (entered, left, _) in enumerate(answers)
        for change, rows in ((-1, left), (1, entered))
        for row in rows
    ]
    inside = tl.sliding_windows(table, **options, rows=True).to_pylist()
    assert [(row["step"], row["id"]) for row in inside] == [
        (step, row) for step, (_, _, valid) in enumerate(answers) for row in valid
    ]
    steps_of_index = list(tl.BitemporalIndex(table).windows(**options, select=SELECT))
    assert [{"step": step.number} | step.values for step in steps_of_index] == expected


def example():
    return as_table([(10, 20, 1, 4), (12, 14, 2, None), (11, 13, 4, None)], [5, 7, 9])


WINDOWS = {"sys": tl.Slide(1, 2, 1), "app": tl.Slide(10, 2, 1), "steps": 2}


def test_bounds_are_added_on_request():
    found = tl.sliding_windows(example(), **WINDOWS, bounds=True).drop_columns(["step", "n"]).to_pylist()
    assert [tuple(row.values()) for row in found] == [(1, 3, 10, 12), (2, 4, 10, 12), (2, 4, 11, 13)]


def test_the_answer_has_the_kind_of_the_input():
    frame = tl.sliding_windows(example().to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get), **WINDOWS)
    assert type(frame).__module__.startswith("pandas")
    assert frame["n"].tolist() == [2, 2, 1]


def test_a_column_of_nothing_but_open_ends_needs_no_type():
    table = pa.table({"sys_start": [1], "sys_end": [None], "app_start": [2], "app_end": [None]})
    assert tl.sliding_windows(table, **WINDOWS)["n"].to_pylist() == [1, 1, 1]


def test_invalid_rows_are_refused_dropped_or_set_aside():
    broken = pa.concat_tables([example(), as_table([(9, 2, 1, None), (1, 2, 9, 3)], [0, 0])])
    with pytest.raises(tl.InvalidInputError, match="sys_end is before sys_start"):
        tl.sliding_windows(broken, **WINDOWS)
    result, rejected = tl.sliding_windows(broken, **WINDOWS, on_invalid="quarantine")
    assert result["n"].to_pylist() == [2, 2, 1]
    assert rejected["reason"].to_pylist() == ["sys_end is before sys_start", "app_end is before app_start"]


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"sys": 3}, tl.UsageError, "sys=3 is of type int; sys takes a Slide"),
        ({"ratio": (0, 0)}, tl.UsageError, "ratio=0:0 never slides"),
        ({"steps": 1.5}, tl.UsageError, "steps takes a whole number"),
        ({"meaning": "snap"}, tl.UsageError, "Did you mean 'snapshot'"),
        ({"select": {"step": "count"}}, tl.UsageError, "like a column that the query writes"),
        ({"select": {"x": ("w", "sum")}}, tl.InvalidInputError, "has no column 'w'"),
        ({"select": {"x": ("v", "top", 0)}}, tl.UsageError, "'top' needs how many"),
        ({"rows": True, "deltas": True}, tl.UsageError, "ask for two results"),
        ({"select": "count"}, tl.UsageError, "select takes a mapping"),
        ({"select": {"x": ("v", lambda values: 1 / 0)}}, tl.InvalidInputError, "ZeroDivisionError.*for step 0"),
        ({"sys_period": ("from", "to")}, tl.InvalidInputError, "has no column 'from'"),
    ],
)
def test_bad_calls_are_refused_with_words_that_help(options, error, words):
    with pytest.raises(error, match=words):
        tl.sliding_windows(example(), **(WINDOWS | options))


def test_deltas_do_not_overwrite_columns():
    with pytest.raises(tl.InvalidInputError, match="has a column 'step'"):
        tl.sliding_windows(example().append_column("step", pa.array([1, 2, 3])), **WINDOWS, deltas=True)


def test_the_plan_is_explained():
    plan = tl.explain(tl.sliding_windows, example(), **WINDOWS)
    assert plan["steps"] == 2
    assert "one aggregation answers all steps" in str(plan)
