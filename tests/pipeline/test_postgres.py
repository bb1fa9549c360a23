"""A pipeline that writes to a real PostgreSQL, started here and with the driver given as the documentation says."""

import glob
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

pytestmark = [pytest.mark.postgres, pytest.mark.spark]
DRIVER = Path("/usr/share/java/postgresql.jar")
PORT = "54329"
PIPELINE = """\
name: duty
sources:
  shifts:
    path: shifts.csv
    schema: {who: string, start: timestamp, end: timestamp}
    period: [start, end]
steps:
  people: {depth: {df: shifts, name: people}}
sinks:
  people:
    url: "jdbc:postgresql://127.0.0.1:PORT/postgres"
    table: people
    mode: MODE
    options: {user: postgres, password: "${DB_PASSWORD}"}
spark: {conf: {spark.jars: DRIVER}}
report: out/report
"""


def programs():
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
    return Path(found[-1]) if found else Path("/nowhere")


def as_owner(*command):
    """PostgreSQL does not run as root; Debian's package has made a user for it."""
    switch = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
    return subprocess.run([*switch, *map(str, command)], check=True, capture_output=True, text=True).stdout


@pytest.fixture
def server():
    """A server in a directory that its own user may enter."""
    home = Path(tempfile.mkdtemp(prefix="timeloom-postgres-"))
    if os.getuid() == 0:
        shutil.chown(home, "postgres")
    as_owner(programs() / "initdb", "-D", home / "data", "-A", "trust", "-U", "postgres")
    control = programs() / "pg_ctl", "-D", home / "data", "-w"
    as_owner(*control, "-o", f"-p {PORT} -k {home} -h 127.0.0.1", "-l", home / "log", "start")
    yield lambda query: as_owner(programs() / "psql", "-h", home, "-p", PORT, "-U", "postgres", "-Atc", query)
    as_owner(*control, "-m", "immediate", "stop")
    shutil.rmtree(home)


def test_results_reach_a_database_whole(server, tmp_path):
    (tmp_path / "shifts.csv").write_text(
        "who,start,end\nAnn,2024-01-01 08:00:00,2024-01-01 12:00:00\nBob,2024-01-01 10:00:00,2024-01-01 16:00:00\n"
    )
    for mode, rows in (("error", "3"), ("overwrite", "3"), ("append", "6")):
        text = PIPELINE.replace("PORT", PORT).replace("MODE", mode).replace("DRIVER", str(DRIVER))
        (tmp_path / "p.yml").write_text(text)
        command = [sys.executable, "-m", "timeloom.cli", "run", "p.yml"]
        subprocess.run(command, cwd=tmp_path, env=os.environ | {"DB_PASSWORD": "opensesame"}, check=True)
        assert server("select count(*) from people").strip() == rows
    assert server("select max(people) from people").strip() == "2"
    assert "opensesame" not in (tmp_path / "out/report/report.json").read_text()
