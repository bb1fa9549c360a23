"""A task's memory is bounded by its partition and its batches, not by its result."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.spark
@pytest.mark.processes
@pytest.mark.timeout(600)
def test_a_result_of_a_hundred_times_its_input_in_workers_of_a_gibibyte(tmp_path):
    environment = {**os.environ, "SPARK_LOCAL_DIRS": str(tmp_path), "SPARK_LOCAL_IP": "127.0.0.1"}
    script = Path(__file__).with_name("limited_session.py")
    command = [sys.executable, str(script)]
    run = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "all pairs within the limit" in run.stdout, run.stderr[-3000:]
