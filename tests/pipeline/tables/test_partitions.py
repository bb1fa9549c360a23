"""Partitioned sinks have each row once, and a run whose outputs do not is failed before they change."""

import datetime as dt
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import feather, parquet

from timeloom.errors import InvalidInputError, StorageError, UsageError
from timeloom.pipeline.engines import local
from timeloom.pipeline.engines.engine import Counts
from timeloom.pipeline.execution import run_file
from timeloom.pipeline.formats.delimited import Delimited
from timeloom.pipeline.tables.files import read_table
from timeloom.pipeline.tables.partitions import DEFAULT_PARTITION, partitions

VALUES = {
    pa.float64(): [0.0, -0.0, math.nan, -math.nan, math.inf, 0.1, None],
    pa.float32(): [0.0, -0.0, math.nan, 0.1, None],
    pa.float16(): [np.float16(0.0), np.float16(-0.0), np.float16(1.5), None],
    pa.string(): ["a", "A", "/", "a/b", "=", "%", "%2F", ".", "..", " ", "é", "e\u0301", "\n", "null", "NaN", None],
    pa.string_view(): ["a", None, "b"],
    pa.dictionary(pa.int8(), pa.string()): ["a", None, "b"],
    pa.timestamp("ns", "UTC"): [0, 1, 1000, None, 2**62],
    pa.timestamp("us"): [0, 1, None, 2**60],
    pa.timestamp("s", "Europe/Zurich"): [1698537600, 1698541200, 1698537600],
    pa.date32(): [0, 1, None],
    pa.bool_(): [True, False, None],
    pa.uint64(): [0, 2**64 - 1, None],
    pa.int8(): [-1, 0, None],
    pa.null(): [None, None],
}


def dealt(table, by):
    """Which rows went to which folder."""
    return {folder: part["row"].to_pylist() for folder, part in partitions(table, by)}


@pytest.mark.parametrize("kind", list(VALUES), ids=str)
def test_every_row_is_in_one_folder_with_its_equals(kind):
    values = pa.array(VALUES[kind] * 2, kind)
    found = dealt(pa.table({"k": values, "row": range(len(values))}), ["k"])
    assert sorted(row for rows in found.values() for row in rows) == list(range(len(values)))
    plain = values.cast(pa.string()) if pa.types.is_temporal(kind) else values
    shown = ["NaN" if isinstance(value, float) and math.isnan(value) else value for value in plain.to_pylist()]
    assert sorted(found.values()) == sorted(
        [[row for row, other in enumerate(shown) if other == value] for value in set(shown)]
    )


@given(
    st.lists(
        st.tuples(st.sampled_from(["x", None, "y"]), st.sampled_from([0.0, -0.0, math.nan, None, 1.0])), max_size=12
    )
)
def test_several_columns_deal_rows_out_like_a_dictionary(pairs):
    table = pa.table(
        {
            "a": pa.array([a for a, _ in pairs], pa.string()),
            "b": pa.array([b for _, b in pairs], pa.float64()),
            "row": pa.array(range(len(pairs)), pa.int64()),
        }
    )
    expected = {}
    for row, (a, b) in enumerate(pairs):
        folder = "NaN" if b is not None and math.isnan(b) else DEFAULT_PARTITION if b is None else str(abs(b))
        expected.setdefault(f"a={a or DEFAULT_PARTITION}/b={folder}", []).append(row)
    assert dealt(table, ["a", "b"]) == expected


def test_very_many_partitions_take_one_pass():
    rows = 30_000
    table = pa.table({"k": [number % (rows // 2) for number in range(rows)], "row": range(rows)})
    assert sum(len(part) for part in dealt(table, ["k"]).values()) == rows


@pytest.mark.parametrize(
    ("values", "error", "words"),
    [
        (["", "", "x"], InvalidInputError, "'k' has the empty text in 2 rows"),
        ([DEFAULT_PARTITION, None], InvalidInputError, "the text '__HIVE_DEFAULT_PARTITION__' in 1 rows"),
        ([[1], [2]], UsageError, "'k' is list<.*>; folders are named by text"),
        ([b"x"], UsageError, "'k' is binary"),
    ],
)
def test_values_without_a_folder_of_their_own_are_refused(values, error, words):
    with pytest.raises(error, match=words):
        dealt(pa.table({"k": values, "row": range(len(values))}), ["k"])


PIPELINE = """\
engine: local
sources: {t: {path: t.arrow}}
sinks:
  t: {path: out/t, format: FORMAT, SETTINGS}
report: r
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def go(table, form="parquet", settings="partition_by: k"):
        feather.write_feather(table, "t.arrow")
        (tmp_path / "p.yml").write_text(PIPELINE.replace("FORMAT", form).replace("SETTINGS", settings))
        return run_file("p.yml")

    return go


@pytest.mark.parametrize("form", ["parquet", "csv", "json", "arrow", "orc"])
def test_rows_in_are_rows_out(run, form):
    rows = [(math.nan, 1), (math.nan, 2), (0.0, 3), (-0.0, 4), (None, 5), (1.5, 6)]
    done = run(pa.table({"k": [k for k, _ in rows], "n": [n for _, n in rows]}), form)
    assert done.record["sinks"][0]["rows"] == 6
    assert sorted(read_table("out/t", form)["n"].to_pylist()) == [1, 2, 3, 4, 5, 6]


def test_names_that_mean_something_in_paths(run):
    moment = dt.datetime(2024, 1, 1, 12, 30)
    run(pa.table({"a/b=c%": ["x", "y"], "k": [moment, moment], "n": [1, 2]}), settings="partition_by: [a/b=c%, k]")
    assert sorted(read_table("out/t", "parquet")["n"].to_pylist()) == [1, 2]


@pytest.mark.parametrize(
    ("table", "settings", "words"),
    [
        (pa.table({"k": [1, 2]}), "partition_by: k", "partitioned by all its columns"),
        (pa.table({"_k": [1], "n": [1]}), "partition_by: _k", "'_k' begins with '_'"),
        (pa.table({"k": ["x" * 300], "n": [1]}), "partition_by: k", "cannot be made: File name too long"),
    ],
)
def test_partitions_that_cannot_be_are_refused(run, table, settings, words):
    with pytest.raises((UsageError, StorageError), match=words):
        run(table, settings=settings)


def test_folders_that_fall_together_are_told(run, monkeypatch):
    both = [("k=A", pa.table({"n": [1]})), ("k=A", pa.table({"n": [2]}))]
    monkeypatch.setattr(local, "partitions", lambda table, by: iter(both))
    with pytest.raises(StorageError, match="two partitions have the same folder 'k=A'"):
        run(pa.table({"k": ["a", "A"], "n": [1, 2]}))


@pytest.mark.parametrize("settings", ["partition_by: k", "mode: overwrite", "mode: append, batch: b"])
def test_a_sink_that_has_not_the_rows_it_was_to_get_fails_the_run(run, monkeypatch, settings):
    table = pa.table({"k": [1, 2], "n": [1, 2]})
    run(table, settings=settings)
    before = read_table("out/t", "parquet")
    monkeypatch.setattr(local, "count_rows", lambda path, form: 1)
    with pytest.raises(StorageError, match="was to get 2 rows of 't', but 1 can be read back"):
        run(pa.table({"k": [1, 3], "n": [5, 6]}), settings=settings)
    assert read_table("out/t", "parquet") == before


def test_csv_that_loses_a_row_fails_the_run(run):
    with pytest.raises(StorageError, match="was to get 3 rows of 't', but 2 can be read back"):
        run(pa.table({"k": ["a", None, "b"]}), "csv", "mode: overwrite")


def test_csv_is_counted_whatever_its_types_seem_to_be(run):
    rows = 200_000
    table = pa.table({"k": [str(n) for n in range(rows)] + ["late text"], "n": range(rows + 1)})
    assert run(table, "csv", "mode: overwrite").record["sinks"][0]["rows"] == rows + 1


def test_quarantined_rows_are_counted_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    parquet.write_table(pa.table({"start": [1, None], "end": [2, 2]}), "s.parquet")
    (tmp_path / "p.yml").write_text(
        "engine: local\nsources: {s: {path: s.parquet, period: [start, end], on_invalid: quarantine}}\n"
        "sinks: {s: {path: out.parquet}}\nquarantine: {path: bad}\nreport: r\n"
    )
    write = local.LocalEngine.write
    monkeypatch.setattr(
        local.LocalEngine,
        "write",
        lambda self, *rest: Counts(write(self, *rest).meant, 0) if "bad" in rest[1].path else write(self, *rest),
    )
    with pytest.raises(StorageError, match="sink 'bad/s' was to get 1 rows"):
        run_file("p.yml")


def test_a_batch_is_told_from_one_whose_label_begins_the_same(run):
    for batch, value in (("2024", 1), ("2024--01", 2), ("2024-", 3), ("2024", 4)):
        run(pa.table({"n": [value]}), settings=f"mode: append, batch: '{batch}'")
    assert sorted(read_table("out/t", "parquet")["n"].to_pylist()) == [2, 3, 4]


def test_a_file_that_may_be_read_ahead_stays_open_until_all_is_counted(tmp_path):
    """A reader that is left alone goes on reading by the number of its file, which the next file would get."""
    (tmp_path / "t.csv").write_text("k\n1\n2\n")
    files: list[pa.NativeFile] = []

    def opened():
        assert not any(file.closed for file in files)
        files.append(pa.OSFile(str(tmp_path / "t.csv")))
        return files[-1]

    assert Delimited(",").count(opened) == 2
    assert all(file.closed for file in files)
