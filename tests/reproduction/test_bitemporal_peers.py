"""The thesis's competitors hold the rows of the reference, and slide as it does."""

from typing import Any

import numpy as np
import pytest
from benchmarks.bench_bitemporal import batches, loaded_timeline
from benchmarks.data.orders import Orders, orders
from benchmarks.peers.bitemporal import RTree, Scan, SearchedTrees, Trees

from reference.bitemporal import valid_rows
from timeloom.model.ticks import FOREVER

MAKERS: dict[str, Any] = {
    "timeline": loaded_timeline,
    "trees": SearchedTrees,
    "trees that keep sets": Trees,
    "R-tree": RTree,
    "scan": Scan,
}
DATA = orders(300, seed=3)


COLUMNS = DATA.app_start, DATA.app_end, DATA.sys_start, DATA.sys_end
ROWS = [
    tuple(None if value == FOREVER else value for value in row)
    for row in zip(*map(np.ndarray.tolist, COLUMNS), strict=True)
]


def snapshot(sys, app):
    return sorted(valid_rows(ROWS, (0, sys), (0, app)))


@pytest.mark.parametrize("name", list(MAKERS))
def test_windows_and_slides_are_those_of_the_reference(name):
    peer = MAKERS[name](DATA)
    sys, app = DATA.latest // 2, DATA.instants // 2
    held = set(peer.initial(sys, app).tolist())
    assert sorted(held) == snapshot(sys, app)
    for step in range(12):
        entered, left = peer.slide_sys() if step % 3 == 0 else peer.slide_app()
        sys, app = (sys + 1, app) if step % 3 == 0 else (sys, app + 1)
        held = (held | set(entered.tolist())) - set(left.tolist())
        assert sorted(held) == snapshot(sys, app)


@pytest.mark.parametrize("make", [Trees, lambda empty: RTree(empty, DATA)], ids=["trees", "R-tree"])
def test_trees_that_take_batches_hold_the_same(make):
    peer = make(Orders(*(np.empty(0, np.int64) for _ in range(4)), DATA.instants))
    for rows, ended in batches(DATA):
        peer.append(DATA, range(rows.start, rows.stop), ended.tolist())
    for sys, app in ((DATA.latest, DATA.instants // 2), (DATA.latest // 3, DATA.instants // 4)):
        assert sorted(peer.initial(sys, app).tolist()) == snapshot(sys, app)
