"""The joins and the sequenced verbs work on a Connect session as on a classic one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.spark
@pytest.mark.processes
@pytest.mark.timeout(600)
def test_joins_through_connect(tmp_path):
    environment = {**os.environ, "SPARK_LOCAL_DIRS": str(tmp_path), "SPARK_LOCAL_IP": "127.0.0.1"}
    environment |= {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    script = Path(__file__).with_name("connect_session.py")
    command = [sys.executable, str(script)]
    run = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "the same rows through Connect" in run.stdout, run.stderr[-3000:]
