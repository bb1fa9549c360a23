"""Counts and windows work on a Connect session as on a classic one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.spark
@pytest.mark.processes
def test_counts_through_connect(tmp_path):
    environment = {**os.environ, "SPARK_LOCAL_DIRS": str(tmp_path), "SPARK_LOCAL_IP": "127.0.0.1"}
    environment |= {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    script = Path(__file__).with_name("counts_through_connect.py")
    run = subprocess.run(
        [sys.executable, script],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert "the same counts through Connect" in run.stdout, run.stderr[-3000:]
