"""Snapshots of long tables: whatever lies in checkpoints, in slabs, or waits as it came, equals a scan."""

import numpy as np
import pyarrow as pa
import pytest

import timeloom as tl
from timeloom.kernels.bitemporal.believed import SLAB

ROWS = 60_000


def scanned(history, sys, app):
    """The rows by the definition."""
    starts, ends = history["sys_start"].to_numpy(), history["sys_end"].fill_null(2**62).to_numpy()
    found = (starts <= sys) & (sys < ends)
    if app is not None:
        found &= (history["app_start"].to_numpy() <= app) & (app < history["app_end"].fill_null(2**62).to_numpy())
    return history.take(np.flatnonzero(found))


@pytest.mark.parametrize(("alive", "longest"), [(2, 30), (40, 30), (40, 2_000), (3000, 500)])
def test_snapshots_equal_a_scan(alive, longest):
    rng = np.random.default_rng(alive)
    starts = np.sort(rng.integers(0, 1000, ROWS))
    ends = starts + 1 + rng.geometric(1 / alive, ROWS)
    app = rng.integers(0, 1000, ROWS)
    lasting = rng.integers(1, longest, ROWS)
    history = pa.table(
        {
            "k": np.arange(ROWS),
            "app_start": app,
            "app_end": pa.array(app + lasting, mask=rng.random(ROWS) < 0.001),
            "sys_start": starts,
            "sys_end": pa.array(ends, mask=ends > 1000),
        }
    )
    table = tl.BitemporalTable.from_history(history, "k")
    assert len(table._state.slabs) == ROWS // SLAB
    for sys in (0, 5, 300, 301, 777, 1000, 5000):
        for at in (None, 0, 17, 500, 999):
            assert table.as_of(sys=sys, app=at) == scanned(history, sys, at), (sys, at)
    before = table._state
    now = int(table.latest) + 1
    current = table.as_of()["k"].to_pylist()
    with table.batch() as batch:
        for key in current[:1500]:
            batch.delete(key, sys=now)
        batch.insert(history.slice(0, 9000).select(["k", "app_start", "app_end"]), sys=now)
        batch.update(int(history["k"][3].as_py()), {"app_end": None}, sys=now + 1, valid_at=int(app[3]))
    for at in (None, 17, 500):
        assert table.as_of(app=at) == scanned(table.history(), now + 1, at)
        assert before.as_of(None, at) == scanned(before.history, now - 1, at)
    table.delete(int(history["k"][5].as_py()), sys=now + 1)
    table.insert({"k": -1, "app_start": 0, "app_end": 1}, sys=now + 1)
    table.delete(-1, sys=now + 1)
    assert table.as_of(app=17) == scanned(table.history(), now + 1, 17)
