"""The shift pipeline in a directory of its own; and when tests with a database run: when they are asked for."""

from glob import glob
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from shift_pipeline import PIPELINE, SHIFTS, times


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.yml").write_text(PIPELINE)
    (tmp_path / "shifts.csv").write_text(SHIFTS)
    starts, ends = (
        times("09:00:00", "12:30:00", "20:00:00", "11:00:00"),
        times("09:10:00", "12:40:00", "20:01:00", "13:00:00"),
    )
    parquet.write_table(pa.table({"call": [1, 2, 3, 4], "from": starts, "to": ends}), "calls.parquet")
    return tmp_path


SERVER, DRIVER = "/usr/lib/postgresql/*/bin/initdb", Path("/usr/share/java/postgresql.jar")
_TOLD = pytest.StashKey[str]()


def pytest_collection_modifyitems(config, items):
    """Tests with a database are for ``make postgres``; without a server they are not counted."""
    asked = "postgres" in config.option.markexpr
    if asked and glob(SERVER) and DRIVER.exists():
        return
    apart = [item for item in items if item.get_closest_marker("postgres")]
    if apart:
        config.hook.pytest_deselected(items=apart)
        items[:] = [item for item in items if item not in apart]
        if asked:
            config.stash[_TOLD] = "no PostgreSQL was found: apt-get install postgresql libpostgresql-jdbc-java"


def pytest_terminal_summary(terminalreporter, config):
    if _TOLD in config.stash:
        terminalreporter.write_line(config.stash[_TOLD])
