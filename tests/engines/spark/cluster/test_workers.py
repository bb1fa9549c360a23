"""What surrounds a task in a worker: rows stay, answers are asked for at once, what is loaded freezes, memory stays."""

import gc
import os
import pickle
import socket
import subprocess
import sys

import pyarrow as pa
import pytest

from timeloom.engines.spark.cluster import workers
from timeloom.engines.spark.cluster.workers import Prompt, acknowledge

BATCHES = [pa.RecordBatch.from_pydict({"n": [number]}) for number in (1, 2)]


def doubled(batches):
    for batch in batches:
        yield pa.RecordBatch.from_pydict({"n": [2 * batch["n"][0].as_py()]})


@pytest.fixture
def connection():
    """A connection over loopback, whose small writes are held back as usual."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as near:
        far, _ = server.accept()
        with far:
            yield near


def test_connections_send_at_once_and_stay_open(connection):
    assert not connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    acknowledge()
    assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    connection.sendall(b"still open")


def test_other_open_files_are_left_alone(tmp_path):
    with (tmp_path / "file").open("w") as file, socket.socket(socket.AF_UNIX) as local:
        acknowledge()
        file.write("still open")
        assert local.fileno() in map(int, os.listdir(workers.OPEN_FILES))


def test_a_task_gives_its_own_rows_and_freezes_what_is_loaded_only_when_more_is(monkeypatch):
    frozen = []
    monkeypatch.setattr(gc, "freeze", lambda: frozen.append(1))
    monkeypatch.setattr(workers._LOADED, "modules", 0)
    task = pickle.loads(pickle.dumps(Prompt(doubled)))
    for _ in range(3):
        assert [batch["n"].to_pylist() for batch in task(iter(BATCHES))] == [[2], [4]]
    assert len(frozen) == 1


PAGES = """
import resource

import numpy as np
import pyarrow as pa

from timeloom.engines.spark.cluster.workers import keep_memory

keep_memory()
before = 0
for _ in range(5):
    arrays = [np.ones(1 << 20) for _ in range(4)] + [pa.array(np.ones(1 << 20)).take(pa.array([0] * (1 << 20)))]
    del arrays
    after = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    found, before = after - before, after
print(found)
"""


def test_arrays_of_later_tasks_have_the_pages_of_earlier_ones():
    ran = subprocess.run([sys.executable, "-c", PAGES], capture_output=True, text=True, check=True)
    assert int(ran.stdout) < 1000  # five arrays of 2,048 pages each
