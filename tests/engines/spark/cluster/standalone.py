"""A real standalone cluster on loopback: one master and its workers, started from the PySpark package alone."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyspark

HOME = Path(pyspark.__file__).parent
MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"


class Cluster:
    """Processes of a cluster, stopped by their ids."""

    def __init__(self, folder, workers):
        self.folder = folder
        self.environment = {
            **os.environ,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_DIRS": str(folder / "local"),
            "SPARK_WORKER_DIR": str(folder / "work"),
            "SPARK_DAEMON_MEMORY": "256m",
            "PYSPARK_PYTHON": sys.executable,
        }
        self.processes: list[subprocess.Popen[bytes]] = []
        self.logs: dict[int, Path] = {}
        self.master = self._started("master", MASTER, "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        self.url = self._reported(self.master, r"Starting Spark master at (spark://\S+)")
        options = ["--host", "127.0.0.1", "--webui-port", "0", "--cores", "1", "--memory", "1g"]
        self.workers = [self._started(f"worker{n}", WORKER, *options, self.url) for n in range(workers)]
        for worker in self.workers:
            self._reported(worker, r"(Successfully registered with master)")

    def _started(self, name, *command):
        path = self.folder / f"{name}.log"
        with path.open("w") as log:
            process = subprocess.Popen(
                [str(HOME / "bin" / "spark-class"), *command],
                env=self.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.logs[process.pid] = path
        self.processes.append(process)
        return process

    def _reported(self, process, pattern, seconds=120):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = re.search(pattern, self.logs[process.pid].read_text())
            if found:
                return found.group(1)
            assert process.poll() is None, self.logs[process.pid].read_text()[-2000:]
            time.sleep(0.2)
        raise TimeoutError(self.logs[process.pid].read_text()[-2000:])

    def kill(self, process):
        """End a process and its executors at once, as a lost machine would."""
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def stop(self):
        for process in reversed(self.processes):
            if process.poll() is None:
                self.kill(process)
