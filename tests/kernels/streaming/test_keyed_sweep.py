"""Pools of rows at rest: they grow, and what is taken out is used again."""

import numpy as np

from timeloom.kernels.streaming.gapless import NAME, append, contents, empty_maps
from timeloom.kernels.streaming.keyed_sweep import (
    LIVE_SIZE,
    NEXT,
    OPEN_SIZE,
    empty_pool,
    load,
    roomier,
    rows_of,
    store,
    taken_back,
    used_of,
)
from timeloom.kernels.streaming.open_rows import empty_rows, enter, rows_in, slot_of


def test_pools_grow_and_are_used_again():
    pool = empty_pool(3, 4)
    free = [pool[0, NEXT]]
    pool[0, NEXT] = pool[free[0], NEXT]
    larger = roomier(pool)
    seen, at = [], larger[0, NEXT]
    while at >= 0:
        seen.append(at)
        at = larger[at, NEXT]
    assert sorted(seen) == [2, 3, 4, 5]
    assert taken_back(larger, free[0]) == 2
    assert larger[0, NEXT] == free[0]


def test_rows_of_keys_are_stored_and_loaded_again():
    lists, live, opened = np.full((3, 4), -1, np.int64), empty_pool(LIVE_SIZE, 4), empty_pool(OPEN_SIZE, 4)
    maps, table = empty_maps(2, 8), empty_rows(4)
    for key, size in ((0, 3), (2, 6)):
        for row in range(size):
            append(maps, 1, 10 * key + row, row, 99, 100 + row)
        enter(table, 0, slot_of(table, 0, key), key, key, 5)
        live, opened, table = store(lists, key, live, opened, maps, table)
        assert (contents(maps, 1).shape[1], len(rows_in(table, 0))) == (0, 0)
    keys, handles = rows_of(lists, 1, live)[:2]
    assert keys.tolist() == [0] * 3 + [2] * 6
    assert sorted(handles.tolist()) == [0, 1, 2, 20, 21, 22, 23, 24, 25]
    assert sorted(used_of(lists, 1, live, NAME).tolist()) == [100, 100, 101, 101, 102, 102, 103, 104, 105]
    assert used_of(lists, 2, opened, 0).tolist() == [0, 2]
    maps, table = load(lists, 2, live, opened, maps, table)
    assert sorted(contents(maps, 1)[NAME].tolist()) == [100, 101, 102, 103, 104, 105]
    assert rows_in(table, 0).tolist() == [[2, 2, 5]]
