"""All verbs work on a Connect session as on a classic one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tree import TESTS


@pytest.mark.spark
@pytest.mark.processes
@pytest.mark.timeout(600)
def test_the_same_through_connect(tmp_path):
    environment = {
        **os.environ,
        "SPARK_LOCAL_DIRS": str(tmp_path),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_TESTING": "1",  # any free port, so that two runs do not meet
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONPATH": str(TESTS),
    }
    script = Path(__file__).with_name("connect_session.py")
    run = subprocess.run(
        [sys.executable, script], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "the same through Connect" in run.stdout, run.stderr[-3000:]
