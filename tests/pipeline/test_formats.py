"""Every file format there is: by name and by suffix, in commands and in pipelines, on both engines."""

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import csv, feather, orc, parquet

from timeloom.cli.main import main
from timeloom.errors import InvalidInputError, StorageError, UsageError
from timeloom.pipeline.definition.check import load
from timeloom.pipeline.definition.faults import PipelineError
from timeloom.pipeline.definition.secrets import Secrets
from timeloom.pipeline.execution import run_file
from timeloom.pipeline.formats.registry import BY_SUFFIX, FORMATS, by_suffix, format_of
from timeloom.pipeline.tables.counting import count_rows
from timeloom.pipeline.tables.files import read_table, write_table

TABLE = pa.table(
    {"n": [1, None, 3], "text": ["tab\there", 'quote " and ,', "é\nline"], "part": ["a", "b", "a"]},
    pa.schema({"n": pa.int64(), "text": pa.string(), "part": pa.string()}),
)


def inflated(path):
    content = Path(path).read_bytes()
    return gzip.decompress(content) if path.endswith(".gz") else content


def tabbed(path):
    return csv.read_csv(pa.BufferReader(inflated(path)), parse_options=csv.ParseOptions(delimiter="\t", **LINES))


LINES = {"newlines_in_values": True}
OTHERS = {
    "csv": lambda path: csv.read_csv(pa.BufferReader(inflated(path)), parse_options=csv.ParseOptions(**LINES)),
    "tsv": tabbed,
    "json": lambda path: pa.Table.from_pylist([json.loads(line) for line in inflated(path).splitlines()]),
    "json_array": lambda path: pa.Table.from_pylist(json.loads(inflated(path))),
    "parquet": parquet.read_table,
    "orc": orc.read_table,
    "arrow": feather.read_table,
}
"""Readers that know nothing of ours; a gzipped format has that of its content."""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def same(found):
    assert found.select(TABLE.column_names).to_pylist() == TABLE.to_pylist()


@pytest.mark.parametrize("name", FORMATS)
def test_others_read_what_is_written_and_so_do_we(here, name):
    for number, suffix in enumerate(FORMATS[name].suffixes):
        path = f"t{number}{suffix}"
        assert write_table(path, TABLE.to_batches(max_chunksize=1), TABLE.schema, name) == 3
        same(OTHERS[name.removesuffix(".gz")](path))
        same(read_table(path, name))
        same(read_table(path))
        assert count_rows(here / path, name) == 3


@pytest.mark.parametrize("name", FORMATS)
def test_tables_without_rows(here, name):
    path = f"t{FORMATS[name].suffixes[0]}"
    empty = TABLE.schema.empty_table()
    assert write_table(path, empty.to_batches(), empty.schema, name) == 0
    assert count_rows(here / path, name) == 0
    if FORMATS[name].texts == "some":
        with pytest.raises(StorageError, match=f"cannot be read as {name}"):
            read_table(path, name)
    else:
        assert read_table(path, name).num_rows == 0


@pytest.mark.parametrize("suffix", BY_SUFFIX)
def test_a_command_tells_the_format_by_the_suffix(here, suffix):
    rows = pa.table({"key": ["a", "b"], "start": [1, 2], "end": [5, 9]})
    write_table(f"in{suffix}", rows.to_batches(), rows.schema)
    assert main(["coalesce", f"in{suffix}", "-o", f"out{suffix}"]) == 0
    assert read_table(f"out{suffix}").to_pylist() == rows.to_pylist()


def pipeline(sources, sinks, engine):
    return yaml.safe_dump({"engine": engine, "sources": sources, "sinks": sinks, "report": "r"})


def sources():
    """A file of each format, written by our own hand; schemas, since texts have no types."""
    schema = {"n": "bigint", "text": "string", "part": "string"}
    found = {}
    for name, form in FORMATS.items():
        path = f"in/{name}{form.suffixes[0]}"
        write_table(path, TABLE.to_batches(), TABLE.schema, name)
        found[name.replace(".", "_")] = {"path": path, "format": name, "schema": schema}
    return found


@pytest.mark.parametrize("partitioned", [False, True])
def test_a_pipeline_reads_and_writes_each_format(here, partitioned):
    (here / "in").mkdir()
    given = sources()
    sinks = {
        name: {"path": f"out/{name}", "format": source["format"], "partition_by": ["part"]}
        if partitioned
        else {"path": f"out/{name}{FORMATS[source['format']].suffixes[0]}", "format": source["format"]}
        for name, source in given.items()
        if FORMATS[source["format"]].directory is not None or not partitioned
    }
    (here / "p.yml").write_text(pipeline(given, sinks, "local"))
    run_file("p.yml")
    for name, sink in sinks.items():
        found = read_table(sink["path"], sink["format"])
        key = [("n", "ascending")]
        plain = TABLE.sort_by(key).select(["n", "text", "part"]).to_pylist()
        assert found.sort_by(key).select(["n", "text", "part"]).to_pylist() == plain, name


def test_a_single_file_is_asked_for_where_there_is_no_directory(here):
    form = {"path": "out", "format": "json_array"}
    (here / "p.yml").write_text(pipeline({"a": {"path": "a.csv"}}, {"a": form}, "local"))
    with pytest.raises(PipelineError, match=r"json_array is one file: give a path that ends with \.json"):
        run_file("p.yml")
    (here / "in").mkdir()
    with pytest.raises(StorageError, match="cannot be read as json_array: it is a directory"):
        read_table("in", "json_array")


@pytest.mark.parametrize("name", FORMATS)
def test_what_spark_lacks_is_refused_by_name(here, name):
    form, path = FORMATS[name], f"a{FORMATS[name].suffixes[0]}"
    source = {"path": path, "format": name}
    (here / "p.yml").write_text(pipeline({"a": source}, {"a": {"path": "out", "format": name}}, "spark"))
    lacking = {f"Spark reads no {form.title} files": form.spark is None}
    lacking |= {f"Spark writes no {form.title} files": form.spark is None or not form.spark.writes}
    expected = [text for text, lacks in lacking.items() if lacks]
    try:
        load("p.yml", Secrets({}))
        faults = []
    except PipelineError as error:
        faults = [fault.message.partition(";")[0] for fault in error.faults]
    assert sorted(faults) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"a": 1}, 2]', "1 of 2 elements are no objects, the first is element 1"),
        ("[]", "it has no objects, so nothing tells its columns; give all their types"),
        ('[{"a": 1}', "Expecting ',' delimiter"),
        ("[1", "Expecting"),
    ],
)
def test_arrays_that_are_none_are_told(here, text, message):
    (here / "a.json").write_text(text)
    with pytest.raises(StorageError, match=f"'a.json' cannot be read as json: .*{message}"):
        read_table("a.json")


def test_one_object_is_no_array(here):
    (here / "a.json").write_text('{"a": 1}')
    assert read_table("a.json").to_pylist() == [{"a": 1}]
    with pytest.raises(StorageError, match="it holds one dict, expected an array of objects"):
        read_table("a.json", "json_array")


def test_arrays_and_lines_give_the_same_types(here):
    rows = [{"at": "2024-01-01T12:00:00", "x": 0.1, "big": 2**62, "deep": {"a": [1]}}, {"at": None, "x": 1e300}]
    (here / "a.json").write_text("\n " + json.dumps(rows, indent=2))
    (here / "b.json").write_text("\n".join(map(json.dumps, rows)))
    assert read_table("a.json") == read_table("b.json")


@given(st.sampled_from(sorted(BY_SUFFIX)), st.sampled_from(["a", "b.c", "x.csv", ".hidden"]), st.booleans())
def test_the_longest_suffix_counts(suffix, stem, upper):
    name = f"some/{stem}{suffix.upper() if upper else suffix}"
    assert by_suffix(name) is BY_SUFFIX[suffix]


@pytest.mark.parametrize("path", ["a", ".csv", "a.gz", "a.txt", "csv", "a.parquet.gz"])
def test_names_that_tell_nothing_are_refused(path):
    assert by_suffix(path) is None
    with pytest.raises(UsageError, match="has no suffix that tells its format"):
        format_of(path)


@pytest.mark.spark
def test_spark_reads_and_writes_each_format_that_it_has(here, spark):
    (here / "in").mkdir()
    had = {name: source for name, source in sources().items() if FORMATS[source["format"]].spark is not None}
    for source in had.values():
        if FORMATS[source["format"]].texts == "all":
            source["options"] = {"multiLine": True, "escape": '"'}
    sinks = {
        name: {"path": f"out/{name}", "format": source["format"], "options": source.get("options", {})}
        for name, source in had.items()
        if FORMATS[source["format"]].spark.writes
    }
    sinks["json_array"] = {"path": "out/json_array", "format": "parquet"}
    (here / "p.yml").write_text(pipeline(had, sinks, "spark"))
    run_file("p.yml", spark=spark)
    for name, sink in sinks.items():
        found = spark.read.format("parquet").load(str(here / sink["path"])) if sink["format"] == "parquet" else None
        found = read_table(sink["path"], sink["format"]) if found is None else found.toArrow()
        key = [("n", "ascending")]
        assert found.sort_by(key).to_pylist() == TABLE.sort_by(key).to_pylist(), name
        files = [file.name for file in (here / sink["path"]).rglob("part-*")]
        assert all(file.endswith(".gz") == sink["format"].endswith(".gz") for file in files), files


@pytest.mark.spark
def test_lines_that_pose_as_an_array_are_refused_on_spark(here, spark):
    (here / "a.json").write_text('{"a": 1}\n{"a": 2}\n')
    source = {"path": "a.json", "format": "json_array"}
    (here / "p.yml").write_text(pipeline({"a": source}, {"a": {"path": "out", "format": "parquet"}}, "spark"))
    with pytest.raises(InvalidInputError, match=r"a\.json holds no JSON array; .* take format: json"):
        run_file("p.yml", spark=spark)
