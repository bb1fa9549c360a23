"""What pipelines expect of tables: a run fails, sets rows aside, or tells."""

import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from shift_pipeline import report
from timeloom.errors import InvalidInputError
from timeloom.pipeline.definition.faults import PipelineError
from timeloom.pipeline.execution import run_file

FILE = """
name: rooms
engine: local
sources:
  stays:
    path: stays.parquet
    period: [start, end]
{expect}
steps:
  merged:
    coalesce: {{df: stays, max_gap: 1}}
{step}
sinks:
  stays: {{path: out/stays.csv}}
  merged: {{path: out/merged.csv}}
quarantine: {{path: out/rejected, format: csv}}
report: out/report
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = {"room": ["a", "a", "a", "b"], "start": [0, 3, 9, 0], "end": [4, 6, 10, 5]}
    parquet.write_table(pa.table(rows), "stays.parquet")

    def write(expect="", step=""):
        (tmp_path / "p.yml").write_text(FILE.format(expect=expect, step=step))
        return tmp_path

    return write


def test_a_run_fails_if_a_source_is_not_as_expected(here):
    here("    expect: {by: room}")
    with pytest.raises(
        InvalidInputError, match="'stays' does not meet its expectations: 1 × overlap .room=a, fault=overlap"
    ):
        run_file("p.yml")


def test_rows_at_fault_are_set_aside(here):
    place = here("    expect: {by: room, otherwise: quarantine}")
    run_file("p.yml")
    assert csv.read_csv("out/stays.csv")["start"].to_pylist() == [9, 0]
    assert csv.read_csv("out/rejected/stays.expect/part-0.csv")["start"].to_pylist() == [0, 3]
    (source,) = report(place)["sources"]
    assert (source["admitted"], source["quarantined"], source["balanced"]) == (2, 2, True)
    assert source["faults"] == {"overlap": 1}


def test_a_run_only_tells(here):
    place = here(
        "    expect: {by: room, gaps: true, otherwise: warn}", "    expect: {by: room, gaps: true, otherwise: warn}"
    )
    run_file("p.yml")
    (source,), (step,) = report(place)["sources"], report(place)["steps"]
    assert source["faults"] == {"gap": 1, "overlap": 1}
    assert step["faults"] == {"gap": 1}
    assert "does not meet its expectations" in step["note"]
    assert "does not meet its expectations" in (place / "out/report/report.html").read_text()


def test_results_of_steps_are_expected_to_be_something_too(here):
    here(step="    expect: {by: room, gaps: true}")
    with pytest.raises(InvalidInputError, match="'merged' does not meet its expectations: 1 × gap"):
        run_file("p.yml")
    here(step="    expect: {by: room}")
    run_file("p.yml")


def test_tables_as_expected_pass(here):
    place = here("    expect: {overlaps: false, duplicates: true}")
    run_file("p.yml")
    assert report(place)["sources"][0]["faults"] == {}


@pytest.mark.parametrize(
    ("expect", "words"),
    [
        ("    expect: {bye: room}", "sources.stays.expect.bye: unknown key"),
        ("    expect: {otherwise: ignore}", "fail"),
        ("    expect: {within: [0, 5]}", "give gaps: true, too"),
        ("    expect: 5", "expect"),
    ],
)
def test_faults_of_the_file_are_found_before_anything_runs(here, expect, words):
    here(expect)
    with pytest.raises(PipelineError, match=words):
        run_file("p.yml")
