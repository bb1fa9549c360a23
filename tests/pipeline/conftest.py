"""The shift pipeline in a directory of its own."""

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
