"""Workers of a local session run the Python that runs the program, whatever ``python3`` is."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from timeloom.engines.spark.cluster import interpreter
from timeloom.errors import UsageError
from timeloom.pipeline.definition.models import Cluster
from timeloom.pipeline.engines import session
from timeloom.pipeline.engines.spark import SparkEngine


def without(*names):
    return {name: value for name, value in os.environ.items() if name not in names}


@pytest.mark.spark
@pytest.mark.processes
def test_a_plain_script_runs_though_another_python_comes_first_in_the_path(tmp_path):
    """The other one is no Python at all: a worker that ran it would die."""
    other = tmp_path / "python3"
    other.write_text("#!/bin/sh\nexit 3\n")
    other.chmod(0o755)
    environment = without("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "VIRTUAL_ENV") | {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(tmp_path),
    }
    command = [sys.executable, str(Path(__file__).with_name("plain_session.py"))]
    run = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.stdout.splitlines()[-1:] == ["[(1, 4, 1), (5, 9, 1)]"], run.stderr[-3000:]


@pytest.fixture
def connect(monkeypatch):
    """A local Connect session whose server was started by this process, without any setting."""
    interpreter._require.cache_clear()
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    monkeypatch.delenv("PYSPARK_DRIVER_PYTHON", raising=False)
    monkeypatch.setenv("SPARK_LOCAL_REMOTE", "1")
    monkeypatch.setattr(interpreter, "_classic_context", lambda spark: None)  # other tests may have one
    settings = {}
    kind = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session", "conf": settings})
    yield kind()
    interpreter._require.cache_clear()


def test_on_connect_one_sentence_says_what_to_set(connect, tmp_path, monkeypatch):
    (tmp_path / "python3").write_text("#!/bin/sh\necho True False\n")
    (tmp_path / "python3").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(UsageError, match=r'no Timeloom.*spark\.conf\.set\("spark\.sql\.execution\.pyspark\.python"'):
        interpreter.use_own_python(connect)
    connect.conf["spark.sql.execution.pyspark.python"] = sys.executable
    interpreter.use_own_python(connect)


def test_on_connect_a_python_that_has_all_is_fine(connect, tmp_path, monkeypatch):
    (tmp_path / "python3").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (tmp_path / "python3").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    interpreter.use_own_python(connect)


def test_rows_that_a_broken_python_would_write_are_refused(monkeypatch, spark, tmp_path):
    (tmp_path / "python3").write_text("#!/bin/sh\nexit 3\n")
    (tmp_path / "python3").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    context = SimpleNamespace(pythonExec="python3", master="local[2]")
    monkeypatch.setattr(interpreter, "_classic_context", lambda spark: context)
    interpreter._starts.cache_clear()
    session = SimpleNamespace(conf={})
    with pytest.raises(UsageError, match=r"made from a list of rows.*set PYSPARK_PYTHON=.*make the table from Arrow"):
        interpreter.use_own_python(session, [spark.createDataFrame([(1, 2)], "start int, end int")])
    interpreter.use_own_python(session, [spark.createDataFrame(pa.table({"start": [1], "end": [2]}))])
    assert context.pythonExec == sys.executable
    interpreter._starts.cache_clear()


@pytest.mark.parametrize(
    ("master", "settings", "expected"),
    [
        ("local[2]", {}, sys.executable),
        ("spark://host:7077", {}, "python3"),
        ("local[2]", {"spark.pyspark.python": "/opt/python"}, "python3"),
    ],
)
def test_only_a_local_session_without_a_choice_is_changed(monkeypatch, master, settings, expected):
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    context = SimpleNamespace(pythonExec="python3", master=master)
    monkeypatch.setattr(interpreter, "_classic_context", lambda spark: context)
    interpreter.use_own_python(SimpleNamespace(conf=settings))
    assert context.pythonExec == expected


@pytest.mark.parametrize("master", ["local[2]", "spark://host:7077"])
def test_a_named_python_that_cannot_run_is_refused_on_this_machine(monkeypatch, tmp_path, master):
    broken = tmp_path / "python3"
    broken.write_text("no program")
    broken.chmod(0o755)
    context = SimpleNamespace(pythonExec=str(broken), master=master)
    monkeypatch.setattr(interpreter, "_classic_context", lambda spark: context)
    monkeypatch.setenv("PYSPARK_PYTHON", str(broken))
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    if master.startswith("local"):
        words = f'PYSPARK_PYTHON=.*that is no Python.*set PYSPARK_PYTHON="{sys.executable}"'
        with pytest.raises(UsageError, match=words):
            interpreter.use_own_python(SimpleNamespace(conf={}))
        with pytest.raises(UsageError, match=words):
            session.start_session(Cluster(), "refused")
        monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    interpreter.use_own_python(SimpleNamespace(conf={}))


def test_a_pipeline_looks_at_the_python_of_a_session_that_it_is_given(monkeypatch, tmp_path):
    context = SimpleNamespace(pythonExec="python3", master="local[2]")
    monkeypatch.setattr(interpreter, "_classic_context", lambda spark: context)
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    SparkEngine(SimpleNamespace(conf={}, version="4.3"), Cluster(), "given", lambda: tmp_path)
    assert context.pythonExec == sys.executable
