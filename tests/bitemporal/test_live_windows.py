"""Live windows: every step comes once, when it is certain, and is the step of a query over the whole history."""

import threading

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timeloom as tl
from reference.bitemporal import MEANINGS, slide_query

BATCHES = st.lists(
    st.tuples(
        st.lists(st.tuples(st.integers(0, 8), st.integers(1, 5), st.integers(1, 3)), max_size=3),
        st.integers(0, 3),
        st.integers(0, 5),
    ),
    max_size=6,
)


def table(rows):
    names = ("app_start", "app_end", "sys_start", "sys_end")
    columns = {name: pa.array([row[k] for row in rows], pa.int64()) for k, name in enumerate(names)}
    return pa.table(columns | {"v": pa.array([row[4] for row in rows], pa.int64())})


@given(
    BATCHES,
    st.tuples(st.integers(-2, 4), st.integers(0, 3), st.integers(1, 2)),
    st.tuples(st.integers(0, 6), st.integers(0, 3), st.integers(-1, 2)),
    st.sampled_from([(1, 0), (1, 1), (2, 1), (1, 2)]),
    st.sampled_from(MEANINGS),
    st.booleans(),
)
@settings(max_examples=120, deadline=None)
def test_steps_are_those_of_the_whole_history(batches, sys, app, ratio, meaning, filtered):
    index = tl.BitemporalIndex(table([(0, 3, 0, None, 1)]), checkpoint_every=2)
    rows, now = [[0, 3, 0, None, 1]], 0
    select = {"n": "count", "s": ("v", "sum"), "most": ("v", "max")}
    live = index.live(
        sys=tl.Slide(*sys), app=tl.Slide(*app), ratio=ratio, meaning=meaning, select=select,
        where="v > 1" if filtered else None,
    )  # fmt: skip
    found = live.ready()
    for fresh, pause, ended in batches:
        now += pause
        new = [[a, a + n, now, None, v] for a, n, v in fresh]
        ends = {ended: now} if ended < len(rows) and rows[ended][3] is None and rows[ended][2] <= now else {}
        for row, at in ends.items():
            rows[row][3] = at
        index.apply(table(new), ends)
        rows += new
        found += live.ready()
        assert all(step.sys[1] < now for step in found)
    found += live.finish()
    latest = max(at for row in rows for at in (row[2], row[3]) if at is not None)
    kept = [row for row, one in enumerate(rows) if one[4] > 1 or not filtered]
    wanted = [rows[row][:4] for row in kept]
    expected = slide_query(wanted, (*sys, sys[2]), (*app, app[2]), ratio, len(found) + 3, meaning)
    assert [step.number for step in found] == list(range(len(found)))
    last = [index.windows(sys=tl.Slide(*sys), app=tl.Slide(*app), ratio=ratio, steps=len(found) + 3)]
    assert len(found) == sum(step.sys[1] <= latest for step in last[0])
    for step, (entered, left, valid) in zip(found, expected, strict=False):
        assert step.entered.tolist() == [kept[row] for row in entered]
        assert step.left.tolist() == [kept[row] for row in left]
        values = [rows[kept[row]][4] for row in valid]
        assert step.values == {
            "n": len(values),
            "s": sum(values) if values else None,
            "most": max(values, default=None),
        }


def test_iterating_waits_for_transactions_and_ends():
    accounts = tl.BitemporalTable(key="k")
    accounts.insert({"k": 0, "v": 1, "app_start": 0, "app_end": None}, sys=0)
    slides = {"sys": tl.Slide(0, 0, 1), "app": tl.Slide(0, 0, 0), "ratio": (1, 0)}
    live = accounts.index().live(**slides, steps=4, select={"n": "count"})
    counts = []
    reader = threading.Thread(target=lambda: counts.extend(step.values["n"] for step in live))
    reader.start()
    for at in range(1, 6):
        accounts.insert({"k": at, "v": 1, "app_start": 0, "app_end": None}, sys=at)
    reader.join(30)
    assert counts == [1, 2, 3, 4, 5]
    idle = accounts.index().live(**slides, timeout=0.01)
    assert len(list(idle)) == 5
    closed = accounts.index().live(**slides)
    waiting = threading.Thread(target=lambda: counts.extend(step.number for step in closed))
    waiting.start()
    closed.close()
    waiting.join(30)
    assert not waiting.is_alive()


def test_queries_that_no_transaction_brings_forward_are_refused():
    index = tl.BitemporalIndex(table([(0, 3, 0, None, 1)]))
    slides = {"sys": tl.Slide(0, 0, 1), "app": tl.Slide(0, 0, 1)}
    for change, words in (
        ({"ratio": (0, 1)}, "does not move forward"),
        ({"sys": tl.Slide(0, 0, -1)}, "does not move forward"),
        ({"where": "nothing = 1"}, "which the result does not have"),
        ({"steps": -1}, "is no number of slides"),
    ):
        with pytest.raises(tl.UsageError, match=words):
            index.live(**slides | change)
    with pytest.raises(tl.UsageError, match="retroactive=True"):
        tl.BitemporalIndex(table([(0, 3, 0, None, 1)]), retroactive=False).live(**slides)
