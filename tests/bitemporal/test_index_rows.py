"""Rows of an index: conditions on them, those that are forgotten with all they hold, and snapshots by either time."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timeloom as tl
from reference.bitemporal import MEANINGS, slide_query

TIMES = st.integers(0, 6)
ROWS = st.lists(st.tuples(TIMES, st.integers(1, 4), TIMES, st.integers(1, 4), st.integers(0, 3)), max_size=9)
SLIDES = {"sys": tl.Slide(0, 2, 1), "app": tl.Slide(0, 2, 1), "steps": 7}


def table(rows):
    names = ("app_start", "app_end", "sys_start", "sys_end", "v")
    drawn = [(a, a + n, s, None if life == 4 else s + life, v) for a, n, s, life, v in rows]
    return pa.table({name: pa.array([row[k] for row in drawn], pa.int64()) for k, name in enumerate(names)}), drawn


@given(ROWS, st.sampled_from(MEANINGS), st.sampled_from([None, 1, "auto"]))
@settings(max_examples=60, deadline=None)
def test_conditions_keep_the_rows_that_satisfy_them(rows, meaning, every):
    history, drawn = table(rows)
    index = tl.BitemporalIndex(history, checkpoint_every=every)
    kept = [at for at, row in enumerate(drawn) if row[4] > 1]
    expected = slide_query([drawn[at][:4] for at in kept], (0, 2, 1, 1), (0, 2, 1, 1), (1, 1), 7, meaning)
    query = index.windows(**SLIDES, meaning=meaning, where="v > 1", select={"s": ("v", "sum")})
    for step, (entered, left, valid) in zip(query, expected, strict=True):
        assert step.entered.tolist() == [kept[row] for row in entered]
        assert step.left.tolist() == [kept[row] for row in left]
        assert step.valid().tolist() == [kept[row] for row in valid]
        assert step.values["s"] == (sum(drawn[kept[row]][4] for row in valid) if valid else None)
    text = "select count(*) as n from t [SYS, START 0, RANGE 2, SLIDE 1] [APP, START 0, RANGE 2, SLIDE 1] STEPS 7"
    text += " MEANING " + (meaning if isinstance(meaning, str) else f"({meaning[0]}, {meaning[1]})") + " where v > 1"
    assert tl.sql(text, t=index).to_pylist() == tl.sql(text, t=history).to_pylist()


@given(ROWS, TIMES, TIMES)
@settings(max_examples=60, deadline=None)
def test_snapshots_by_one_time_or_both_equal_the_table(rows, sys, app):
    history, _ = table(rows)
    index = tl.BitemporalIndex(history.sort_by("sys_start"), checkpoint_every=2)
    for instants in ({"sys": sys}, {"sys": sys, "app": app}):
        assert tl.as_of(index, **instants) == tl.as_of(history.sort_by("sys_start"), **instants)
    assert index.rows(index.as_of(sys=sys, app=app, where="v = 1")).to_pylist() == [
        row for row in tl.as_of(history.sort_by("sys_start"), sys=sys, app=app).to_pylist() if row["v"] == 1
    ]


def test_an_index_of_the_present_frees_what_has_ended(tmp_path):
    index = tl.BitemporalIndex(retroactive=False)
    texts = ["x" * 1000 + str(at) for at in range(6000)]
    for begin in range(0, 6000, 1000):
        rows = range(begin, begin + 1000)
        columns = {"app_start": [0] * 1000, "app_end": [9] * 1000, "sys_start": [begin] * 1000}
        end = pa.nulls(1000, pa.int64())
        index.append(pa.table(columns | {"sys_end": end, "text": [texts[row] for row in rows]}))
        index.end(list(rows)[3:], begin + 1)
    assert sum(chunk.nbytes for chunk in index._now.chunks) < 3_000_000
    alive = [row for row in range(6000) if row % 1000 < 3]
    assert index.as_of(app=1).tolist() == alive
    assert index.rows(alive[::-1])["text"].to_pylist() == [texts[row] for row in alive[::-1]]
    index.save(tmp_path / "i")
    again = tl.BitemporalIndex.load(tmp_path / "i")
    assert again.rows(again.as_of(app=1)) == index.rows(index.as_of(app=1))
    assert len(again) == 6000
    found = tl.sql("select count(distinct text) as n from t where sys_end is null", t=again)
    assert found.to_pylist() == [{"n": 18}]
    with pytest.raises(tl.InvalidInputError, match="was forgotten"):
        again.rows([5])


def test_conditions_that_cannot_be_are_refused_before_anything_is_read():
    index = tl.BitemporalIndex(table([(0, 1, 0, 1, 1)])[0])
    for where, words in (("w > 1", "does not have"), ("v +", "no condition"), ("v + 1", "expected a condition")):
        with pytest.raises(tl.TimeloomError, match=words):
            index.windows(**SLIDES, where=where)
