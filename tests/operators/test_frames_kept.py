"""Frames come back as what they were, and tables may lie in files; the verbs are methods of frames, too."""

import datetime as dt

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyarrow import csv, feather, parquet

import timeloom as tl
import timeloom.accessors

PERIODS = {"start": [0, 3, 5], "end": [3, 9, 6]}


def pandas_frame():
    return pd.DataFrame(
        {
            "whole": pd.array([1, None, 3], "Int64"),
            "flag": pd.array([True, None, False], "boolean"),
            "text": pd.array(["a", None, "b"], "string"),
            "arrow": pd.array(["a", None, "b"], pd.ArrowDtype(pa.string())),
            "number": pd.array([1, 2, 3], pd.ArrowDtype(pa.int32())),
            "float": pd.array([1.5, None, 2.5], "Float64"),
            "kind": pd.Categorical(["x", "y", None], categories=["z", "y", "x"], ordered=True),
            "plain": [1, 2, 3],
            "when": pd.Series([dt.datetime(2024, 1, day) for day in (1, 2, 3)]).astype("datetime64[s]"),
            **PERIODS,
        }
    )


@pytest.mark.parametrize(
    "call",
    [
        lambda one: tl.stab(one, [0, 5]),
        lambda one: tl.split(one, every=2),
        lambda one: tl.temporal_antijoin(one, one.head(1)),
        lambda one: tl.join(one, one[["start", "end"]], columns=list(one.columns)),
        lambda one: tl.join(one, one.head(0), how="left", columns=list(one.columns)),
        tl.coalesce,
        lambda one: tl.nearest(one, one[["start", "end"]], columns=list(one.columns)),
        lambda one: tl.temporal_union(one, one),
    ],
)
def test_types_of_pandas_stay(call):
    given = pandas_frame()
    found = call(given)
    assert dict(found.dtypes) == dict(given.dtypes)


def test_types_of_the_right_frame_stay_too():
    left, right = pandas_frame()[["start", "end", "text"]], pandas_frame()
    found = tl.join(left, right, how="inner")
    assert found["whole"].dtype == "Int64"
    assert found["text_right"].dtype == right["text"].dtype
    assert found["arrow"].dtype == right["arrow"].dtype


def test_enums_and_lazy_frames_of_polars_stay():
    kinds = pl.Enum(["x", "y", "z"])
    given = pl.DataFrame({"kind": ["x", None, "y"], **PERIODS}, schema_overrides={"kind": kinds})
    found = tl.join(given, given.select("start", "end", pl.col("kind").alias("other")), how="left")
    assert (found.schema["kind"], found.schema["other"]) == (kinds, kinds)
    lazy = tl.stab(given.lazy(), 4)
    assert isinstance(lazy, pl.LazyFrame)
    assert lazy.collect().schema["kind"] == kinds
    assert lazy.collect()["start"].to_list() == [3]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_units_of_time_stay(unit):
    times = pa.array([dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 3)], pa.timestamp(unit))
    given = pa.table({"start": times[:1], "end": times[1:], "when": times[:1]})
    for found in (
        tl.coalesce(given),
        tl.split(given, every="1 day"),
        tl.temporal_join(given, given),
        tl.stab(given, times[0]),
    ):
        assert found.schema.field("start").type == pa.timestamp(unit)
        assert found.schema.field("when").type == pa.timestamp(unit)


def test_datasets_and_paths_are_tables(tmp_path):
    given = pa.table(PERIODS)
    writers = {
        "a.parquet": lambda place: parquet.write_table(given, place),
        "a.csv": lambda place: csv.write_csv(given, place),
        "a.feather": lambda place: feather.write_feather(given, str(place)),
    }
    for name, write in writers.items():
        write(tmp_path / name)
        for place in (str(tmp_path / name), tmp_path / name):
            found: object = tl.stab(place, 4)
            assert found == given.slice(1, 1), name
    folder = tmp_path / "parts"
    folder.mkdir()
    parquet.write_table(given, folder / "part-0.parquet")
    assert tl.join(folder, given, how="semi").equals(given)
    assert tl.stab(ds.dataset(folder), 4).equals(given.slice(1, 1))
    assert tl.stab(ds.dataset(folder).scanner(), 4).equals(given.slice(1, 1))


@pytest.mark.parametrize("path", ["", "nowhere.parquet", "/", "setup.cfg", "\0"])
def test_texts_that_are_no_tables_are_refused(path):
    with pytest.raises(tl.TimeloomError, match="names no file with a table|cannot be read"):
        tl.stab(path, 1)


def test_files_that_hold_no_table_are_refused(tmp_path):
    (tmp_path / "a.parquet").write_text("no")
    with pytest.raises(tl.InvalidInputError, match="cannot be read as an Arrow table"):
        tl.stab(tmp_path / "a.parquet", 1)


def test_verbs_are_methods_of_frames():
    frame = pd.DataFrame(PERIODS)
    assert frame.timeloom.stab(4).equals(tl.stab(frame, 4))
    assert frame.timeloom.explain("join", frame)["left rows"] == 3
    polars = pl.DataFrame(PERIODS)
    assert polars.timeloom.join(polars, "before").equals(tl.join(polars, polars, "before"))
    assert isinstance(polars.lazy().timeloom.coalesce(), pl.LazyFrame)
    assert "nearest" in dir(frame.timeloom)
    with pytest.raises(AttributeError, match="Did you mean 'coalesce'"):
        frame.timeloom.coalesc()
