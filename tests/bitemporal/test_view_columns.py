"""Columns that Arrow cannot take rows of by itself: views and runs, in tables, indexes, windows and queries."""

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import timeloom as tl

TEXTS = ["a", "b", None, "a"]
KINDS = {
    "view": pa.array(TEXTS, pa.string_view()),
    "bytes": pa.array([None if text is None else text.encode() for text in TEXTS], pa.binary_view()),
    "runs": pc.run_end_encode(pa.array(TEXTS)),
}


@pytest.fixture(params=list(KINDS))
def history(request):
    times = {"sys_start": [1, 2, 3, 4], "sys_end": [4, None, None, None], "app_start": [0] * 4, "app_end": [9] * 4}
    return pa.table({"v": KINDS[request.param], **{name: pa.array(ticks, pa.int64()) for name, ticks in times.items()}})


def plain(column):
    return [value.decode() if isinstance(value, bytes) else value for value in column.to_pylist()]


def test_indexes_and_windows(history):
    index = tl.BitemporalIndex(history)
    assert plain(index.rows([0, 3])["v"]) == ["a", "a"]
    windows = {"sys": tl.Slide(1, 1, 1), "app": tl.Slide(0, 1, 1), "steps": 1, "ratio": (1, 0)}
    measured = {"n": ("v", "count"), "kinds": ("v", "count_distinct")}
    steps = [step.values for step in index.windows(**windows, select=measured)]
    assert [dict(row, step=None) for row in tl.sliding_windows(history, **windows, select=measured).to_pylist()] == [
        dict(step, step=None) for step in steps
    ]


def test_queries(history):
    found = tl.sql(
        "select v, count(*) as n from h PERIOD (sys_start, sys_end) JOIN g PERIOD (sys_start, sys_end) "
        "ON h.period EQUALS g.period where h.sys_start > 1 group by v order by n desc, v",
        h=history.select(["v", "sys_start", "sys_end"]),
        g=history.select(["sys_start", "sys_end"]),
    )
    assert sorted(zip(plain(found["v"]), found["n"].to_pylist(), strict=True), key=repr) == [
        ("a", 1),
        ("b", 1),
        (None, 1),
    ]


def test_tables():
    table = tl.BitemporalTable(key="k")
    facts = {"k": [1, 2], "v": pa.array(["x", "y"], pa.string_view()), "app_start": [0, 0], "app_end": [9, None]}
    table.insert(pa.table(facts), sys=1)
    table.update(1, {"v": "z"}, sys=2)
    assert sorted(table.as_of(sys=2, app=3)["v"].to_pylist()) == ["y", "z"]
    assert sorted(table.as_of(sys=1, app=3)["v"].to_pylist()) == ["x", "y"]
