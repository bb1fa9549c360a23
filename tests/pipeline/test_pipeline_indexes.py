"""Indexes in files as sources of pipelines."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

import timeloom as tl
from timeloom.errors import StorageError
from timeloom.pipeline.definition.faults import PipelineError
from timeloom.pipeline.execution import run_file

PLANS = pa.table(
    {
        "plan": ["a", "b", "c"],
        "fee": [5, 7, 9],
        "sys_start": [1, 2, 4],
        "sys_end": pa.array([4, None, None], pa.int64()),
        "app_start": [10, 12, 11],
        "app_end": [20, 14, 13],
    }
)
STAYS = pa.table({"who": ["x", "y", "z"], "start": [1, 2, 8], "end": [5, 9, 9]})
WINDOWS = "[SYS, START 1, RANGE 2, SLIDE 1] [APP, START 10, RANGE 2, SLIDE 1] STEPS 2"
FEES = f"select sum(fee) as fees from plans {WINDOWS} where fee > 5"

PIPELINE = f"""
engine: local
sources:
  plans: {{path: plans.index}}
  stays: {{path: stays.idx}}
  few: {{path: few.parquet, period: [start, end]}}
steps:
  fees: {{sql: "{FEES}"}}
  known: {{as_of: {{left: plans, sys: 3, app: 12}}}}
  met: {{join: {{left: few, right: stays}}}}
  there: {{stab: {{df: stays, at: 3}}}}
sinks:
  fees: {{path: fees.parquet}}
  known: {{path: known.parquet}}
  met: {{path: met.parquet}}
  there: {{path: there.parquet}}
  all: {{from: plans, path: all.parquet}}
report: report
"""


@pytest.fixture
def indexes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tl.BitemporalIndex(PLANS).save("plans.index")
    tl.StabForest.build(STAYS, payload=STAYS).save("stays.idx")
    parquet.write_table(pa.table({"n": [1, 2], "start": [0, 8], "end": [2, 9]}), "few.parquet")
    Path("indexes.yml").write_text(PIPELINE)


def rows(table):
    return sorted(map(repr, table.to_pylist()))


def test_verbs_and_queries_go_through_the_index(indexes):
    run_file("indexes.yml")
    few = parquet.read_table("few.parquet")
    expected = {
        "fees": tl.sql(FEES, plans=PLANS),
        "known": tl.as_of(PLANS, sys=3, app=12),
        "met": tl.join(few, STAYS),
        "there": tl.stab(STAYS, at=3),
        "all": PLANS,
    }
    for name, table in expected.items():
        assert rows(parquet.read_table(f"{name}.parquet")) == rows(table), name


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            "engine: local",
            "engine: spark",
            "Spark reads no indexes, which are of one process; write its rows to a table",
        ),
        ("{path: stays.idx}", "{path: stays.idx, keys: who}", "an index knows its columns and periods.*leave keys out"),
        ("{path: fees.parquet}", "{path: fees.index}", "format"),
    ],
)
def test_what_an_index_is_not_is_refused_before_anything_runs(indexes, old, new, told):
    Path("indexes.yml").write_text(PIPELINE.replace(old, new))
    with pytest.raises(PipelineError, match=told):
        run_file("indexes.yml")
    assert not Path("fees.parquet").exists()


@pytest.mark.parametrize("content", [None, b"", b"no index at all"])
def test_a_file_that_is_no_index_is_refused_by_name(indexes, content):
    Path("stays.idx").unlink()
    if content is not None:
        Path("stays.idx").write_bytes(content)
    with pytest.raises(StorageError, match=r"stays\.idx"):
        run_file("indexes.yml")


def test_the_plan_says_whether_an_index_answers(indexes):
    assert tl.explain(tl.as_of, tl.BitemporalIndex.load("plans.index"), sys=3)["algorithm"] == "index"
    plan = tl.explain(tl.as_of, PLANS, sys=3, app=12)
    assert (plan.engine, plan.facts) == ("local", {"algorithm": "stab", "sys": 3, "app": 12})
