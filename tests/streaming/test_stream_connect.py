"""The streaming join works on a Connect session as on a classic one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.spark
@pytest.mark.processes
def test_a_stream_through_connect(tmp_path):
    tests = Path(__file__).parents[1]
    environment = {**os.environ, "SPARK_LOCAL_DIRS": str(tmp_path), "SPARK_LOCAL_IP": "127.0.0.1"}
    environment |= {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable, "PYTHONPATH": str(tests)}
    script = Path(__file__).with_name("stream_through_connect.py")
    run = subprocess.run(
        [sys.executable, script, tmp_path],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert "the same pairs through Connect" in run.stdout, run.stderr[-3000:]
