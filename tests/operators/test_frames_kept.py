"""Frames come back as what they were, and tables may lie in files; the verbs are methods of frames, too."""

import datetime as dt
import gzip

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyarrow import csv, feather, parquet

import timeloom as tl
import timeloom.accessors
from timeloom.operators.registry import verbs

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


ONE = {
    "check": {},
    "coalesce": {},
    "depth": {"by": "k"},
    "gaps": {"by": "k"},
    "lanes": {"by": "k"},
    "sliding_windows": {"sys": tl.Slide(1, 2, 1), "app": tl.Slide(1, 2, 1), "steps": 3},
    "split": {"every": 2},
    "stab": {"at": 3},
    "temporal_aggregate": {"aggregates": {"n": "count", "most": ("start", "max")}, "by": "k"},
}
TWO = {
    "as_of": {"at": "start", "on": "k"},
    "count_join": {"on": "k"},
    "join": {"on": "k", "how": "left"},
    "nearest": {"on": "k"},
    "temporal_antijoin": {"on": "k"},
    "temporal_except": {},
    "temporal_intersect": {},
    "temporal_join": {"on": "k", "how": "left"},
    "temporal_union": {},
    "top_k": {"k": 2},
}
TABLE = pa.table({"k": ["x", "y", "x"], **PERIODS})
AXES = {"sys_start": TABLE["start"], "sys_end": TABLE["end"], "app_start": TABLE["start"], "app_end": TABLE["end"]}
HISTORY = pa.table({"k": TABLE["k"], **AXES})
KINDS = {
    "pandas": lambda table, _: table.to_pandas(),
    "extension types": lambda table, _: table.to_pandas().convert_dtypes(),
    "arrow types": lambda table, _: table.to_pandas(types_mapper=pd.ArrowDtype),
    "categories": lambda table, _: table.to_pandas().astype({"k": "category"}),
    "polars": lambda table, _: pl.from_arrow(table),
    "lazy": lambda table, _: pl.from_arrow(table).lazy(),
    "enum": lambda table, _: pl.from_arrow(table).with_columns(pl.col("k").cast(pl.Enum(["y", "x"]))),
    "dataset": lambda _, place: ds.dataset(place),
    "path": lambda _, place: str(place),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_verb_takes_every_kind_of_table(tmp_path, kind):
    assert {*ONE, *TWO} == set(verbs())
    for name, options in {**ONE, **TWO}.items():
        table = HISTORY if name == "sliding_windows" else TABLE
        parquet.write_table(table, tmp_path / "t.parquet")
        inputs = [KINDS[kind](table, tmp_path / "t.parquet") for _ in range(1 if name in ONE else 2)]
        found, verb = getattr(tl, name)(*inputs, **options), getattr(tl, name)
        assert type(found) is (pa.Table if kind in ("dataset", "path") else type(inputs[0])), name
        if "k" in options and isinstance(found, pd.DataFrame | pl.DataFrame):
            assert found["k"].dtype == inputs[0]["k"].dtype, name
        rows = found.collect() if kind == "lazy" else found
        plain = rows if isinstance(rows, pa.Table) else pa.table(rows)
        expected = verb(*([table] * len(inputs)), **options)
        assert [*map(str, plain.to_pylist())] == [*map(str, pa.table(expected).to_pylist())], name
        if hasattr(inputs[0], "timeloom"):
            method = getattr(inputs[0].timeloom, name)
            assert type(method(*inputs[1:], **options)) is type(found), name


def test_texts_with_days_are_the_same_in_every_format(tmp_path):
    days = [dt.date(2024, 1, 1), dt.date(2024, 1, 3)]
    for name, text in {
        "a.csv": "start,end\n2024-01-01,2024-01-03\n",
        "a.tsv": "start\tend\n2024-01-01\t2024-01-03\n",
        "a.json": '[{"start": "2024-01-01", "end": "2024-01-03"}]',
        "a.jsonl": '{"start": "2024-01-01", "end": "2024-01-03"}',
    }.items():
        packed = tmp_path / f"{name}.gz"
        (tmp_path / name).write_text(text)
        packed.write_bytes(gzip.compress(text.encode()))
        for place in (tmp_path / name, packed):
            found = tl.coalesce(place)
            assert found.schema.types == [pa.date32(), pa.date32()], place
            assert [found["start"][0].as_py(), found["end"][0].as_py()] == days
    instants = tmp_path / "b.json"
    instants.write_text('{"start": "2024-01-01", "end": "2024-01-03 08:00:00"}')
    with pytest.raises(tl.TimeloomError, match="axis|type"):
        tl.coalesce(instants)
    with pytest.raises(tl.UsageError, match="the input is the folder .* of several formats"):
        tl.coalesce(tmp_path)


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


@pytest.mark.parametrize("path", ["", "nowhere.parquet", "docs/decisions", "setup.cfg", "\0"])
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
