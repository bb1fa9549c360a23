"""The join on a standalone cluster, whole and with a worker lost on the way."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from engines.spark.cluster.standalone import Cluster

pytestmark = [pytest.mark.spark, pytest.mark.processes, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    running = Cluster(tmp_path_factory.mktemp("cluster"), workers=2)
    yield running
    running.stop()


def test_the_same_rows_on_a_cluster(cluster, tmp_path):
    begun = tmp_path / "begun"
    script = Path(__file__).with_name("cluster_session.py")
    with (tmp_path / "driver.log").open("w") as log:
        driver = subprocess.Popen(
            [sys.executable, str(script), cluster.url, str(begun)],
            env=cluster.environment,
            cwd=tmp_path,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        cluster.processes.append(driver)
        end = time.monotonic() + 200
        while not begun.exists() and driver.poll() is None and time.monotonic() < end:
            time.sleep(0.1)
        cluster.kill(cluster.workers[0])
        driver.wait(timeout=400)
    told = (tmp_path / "driver.log").read_text()
    assert "the same rows on the cluster" in told
    assert "the same rows with a worker lost" in told
