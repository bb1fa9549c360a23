"""The index on disk, its checkpoints, and what it refuses."""

from datetime import date

import numpy as np
import pyarrow as pa
import pytest

from timeloom.bitemporal.index import BitemporalIndex
from timeloom.errors import InvalidInputError, StorageError, UsageError
from timeloom.model.period import Period
from timeloom.model.slide import Slide


def random_history(count, seed=1):
    rng = np.random.default_rng(seed)
    sys_start = rng.integers(0, 500, count)
    app_start = rng.integers(0, 300, count)
    sys_end = sys_start + rng.integers(0, 200, count)
    app_end = app_start + rng.integers(0, 100, count)
    return pa.table(
        {
            "sys_start": sys_start,
            "sys_end": pa.array(sys_end, mask=sys_end > 500),
            "app_start": app_start,
            "app_end": pa.array(app_end, mask=app_end > 300),
            "value": rng.integers(-5, 5, count),
        }
    )


def answers(index, **options):
    query = index.windows(sys=Slide(200, 50, 7), app=Slide(100, 20, 3), ratio=(1, 3), steps=40, **options)
    return [(step.entered.tolist(), step.left.tolist(), step.values) for step in query]


@pytest.mark.parametrize("options", [{}, {"checkpoint_every": 500}, {"bucket": 1}, {"bucket": 7}])
def test_a_saved_index_answers_the_same_and_goes_on(tmp_path, options):
    path = tmp_path / "index.arrow"
    index = BitemporalIndex(random_history(3000), **options)
    index.save(path)
    loaded = BitemporalIndex.load(path)
    select = {"n": "count", "total": ("value", "sum")}
    for meaning in ("snapshot", "visible", "began"):
        assert answers(loaded, meaning=meaning, select=select) == answers(index, meaning=meaning, select=select)
    open_rows = np.flatnonzero(np.asarray(index.rows(np.arange(3000))["sys_end"].is_null()))[:20]
    later = pa.table(
        {
            "sys_start": [800, 801],
            "sys_end": pa.array([None, 900], pa.int64()),
            "app_start": [5, 6],
            "app_end": [90, 99],
        }
    ).append_column("value", pa.array([1, 2]))
    for either in (index, loaded):
        either.end(open_rows, 700)
        either.append(later)
    assert answers(loaded, select=select) == answers(index, select=select)
    assert loaded.latest == index.latest == 900
    assert loaded.checkpoints == index.checkpoints
    again = BitemporalIndex.load(path)
    assert again.latest < 700, "changes after loading never reach the file"


def test_a_saved_non_retroactive_index_goes_on(tmp_path):
    path = tmp_path / "index.arrow"
    index = BitemporalIndex(random_history(5000), retroactive=False)
    index.save(path)
    loaded = BitemporalIndex.load(path)
    assert loaded.as_of(app=150).tolist() == index.as_of(app=150).tolist()
    with pytest.raises(UsageError, match="non-retroactive"):
        loaded.as_of(sys=100, app=150)


def test_a_damaged_index_file_is_refused(tmp_path):
    path = tmp_path / "index.arrow"
    BitemporalIndex(random_history(100)).save(path)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(StorageError, match="damaged"):
        BitemporalIndex.load(path)


def test_checkpoints_are_taken_by_themselves():
    index = BitemporalIndex(random_history(2000), checkpoint_every=1000)
    assert len(index.checkpoints) == 1
    latest = index.latest
    index.end(np.flatnonzero(np.asarray(index.rows(np.arange(2000))["sys_end"].is_null()))[:100], latest + 5)
    assert len(index.checkpoints) == 1
    index.append(
        pa.table(
            {"sys_start": [latest + 9] * 950, "sys_end": pa.array([None] * 950, pa.int64()), "app_start": [1] * 950}
        )
        .append_column("app_end", pa.array([2] * 950))
        .append_column("value", pa.array([0] * 950))
    )
    assert index.checkpoints == [latest, latest + 9]


def small(**columns):
    table = {"sys_start": [5], "sys_end": [None], "app_start": [1], "app_end": [None]} | columns
    return pa.table({name: pa.array(values, pa.int64()) for name, values in table.items()})


@pytest.mark.parametrize(
    ("act", "error", "words"),
    [
        (lambda ix: ix.append(small(sys_start=[4])), InvalidInputError, "system time goes backwards: found 4"),
        (lambda ix: ix.append(small(sys_end=[4])), InvalidInputError, "sys_end is before sys_start"),
        (lambda ix: ix.append(small(app_start=[None])), InvalidInputError, "app_start is null"),
        (lambda ix: ix.append(pa.table({"sys_start": [9]})), InvalidInputError, "no column 'sys_end'"),
        (lambda ix: ix.append(small().set_column(0, "sys_start", pa.array(["9"]))), InvalidInputError, "is text"),
        (lambda ix: ix.append([1, 2]), UsageError, "is a list"),
        (lambda ix: ix.end([7], 9), InvalidInputError, "row 7 is unknown: the index holds the rows 0 to 0"),
        (lambda ix: ix.end([-1], 9), InvalidInputError, "row -1 is unknown"),
        (lambda ix: ix.end([0], 4), InvalidInputError, "goes backwards"),
        (lambda ix: (ix.end([0], 6), ix.end([0], 7)), InvalidInputError, "row 0 has ended at 6 already"),
        (lambda ix: ix.checkpoint(99), UsageError, "after the latest system time 5"),
        (lambda ix: slide(ix, ratio=(0, 0)), UsageError, "ratio=0:0 never slides"),
        (lambda ix: slide(ix, ratio=(1, -1)), UsageError, "ratio=1:-1"),
        (lambda ix: slide(ix, ratio=3), UsageError, "ratio takes a tuple of 2"),
        (lambda ix: slide(ix, steps=-1), UsageError, "is no number of slides"),
        (lambda ix: slide(ix, meaning="visble"), UsageError, "Did you mean 'visible'"),
        (lambda ix: slide(ix, sys=(1, 2, 3)), UsageError, "sys takes a Slide"),
        (lambda ix: slide(ix, sys=Slide("2020-01-01", 2, 1)), UsageError, "does not fit the period's type"),
        (lambda ix: slide(ix, sys=Slide(1, "2 days", 1)), UsageError, "whose ticks have no unit"),
        (lambda ix: slide(ix, sys=Slide(1, 2, 1, 2), steps=9), UsageError, "vanishes at step 5"),
        (lambda ix: slide(ix, select={"n": "sum"}), UsageError, "needs a column"),
        (lambda ix: slide(ix, select={"n": ("valu", "sum")}), InvalidInputError, "no column 'valu'"),
        (lambda ix: slide(ix, select={"n": ("app_end", "summ")}), UsageError, "Did you mean 'sum'"),
        (lambda ix: slide(ix, select={"n": ("app_end", "top")}), UsageError, "needs how many"),
        (lambda ix: slide(ix, select={"n": ("app_end", "first")}), UsageError, "depends on when rows entered"),
    ],
)
def test_bad_input_is_refused_with_words_that_help(act, error, words):
    with pytest.raises(error, match=words):
        act(BitemporalIndex(small()))


def slide(index, **options):
    defaults = {"sys": Slide(1, 2, 1), "app": Slide(1, 2, 1), "steps": 2}
    return index.windows(**(defaults | options))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sys": Slide(9, 2, -1)}, "slides backward"),
        ({"sys": Slide(1, 2, 1)}, "answers from its latest system time, 5"),
        ({"sys": Slide(5, 2, 1), "meaning": "visible"}, "rows that have ended"),
    ],
)
def test_the_forward_only_variant_refuses_the_past(options, words):
    index = BitemporalIndex(small(), retroactive=False)
    with pytest.raises(UsageError, match=words):
        slide(index, **options)


def test_an_empty_index_says_so():
    with pytest.raises(UsageError, match="the index is empty"):
        slide(BitemporalIndex())
    assert BitemporalIndex().latest is None


def test_buckets_that_would_be_too_many_are_widened():
    edge = 2**63 - 2
    index = BitemporalIndex(small(app_start=[-edge], app_end=[edge]), bucket=1)
    assert index.nbytes < 2**26
    found = [step.valid().tolist() for step in slide(index, sys=Slide(5, 1, 0), app=Slide(-edge - 1, 1, edge), steps=4)]
    assert found == [[0], [0], [0], [0], []]


def test_a_refused_batch_changes_nothing():
    index = BitemporalIndex(small())
    with pytest.raises(InvalidInputError, match="row 5 is unknown"):
        index.apply(small(sys_start=[8]), {5: 9})
    assert len(index) == 1
    assert index.latest == 5


def test_the_periods_of_a_saved_index_keep_their_sentinels(tmp_path):
    far = date(9999, 12, 31)
    table = pa.table(
        {"from": [date(2020, 1, 1)], "to": [far], "app_start": [1], "app_end": pa.array([None], pa.int64())}
    )
    index = BitemporalIndex(table, sys_period=Period("from", "to", open_end=far))
    index.save(tmp_path / "index.arrow")
    loaded = BitemporalIndex.load(tmp_path / "index.arrow")
    loaded.append(table.set_column(0, "from", pa.array([date(2021, 1, 1)])))
    loaded.end([1], date(2022, 1, 1))
    assert loaded.as_of(sys=date(2021, 6, 1), app=5).tolist() == [0, 1]
    assert loaded.as_of(sys=date(2022, 6, 1), app=5).tolist() == [0]
