"""Which rows decide: a share of all, by what they say alone."""

import numpy as np

from timeloom.kernels.order import NOTHING
from timeloom.kernels.slicing.deciding import deciding_rows


def decided(starts, ends, keys, parts):
    low, high = starts.copy(), np.where(starts % 10 == 9, starts - 1, ends - 1)
    rows = np.empty(starts.size, np.int32)
    return rows[: deciding_rows((starts, ends, low, high), keys, parts, rows)]


def drawn(rows, seed=1):
    draw = np.random.default_rng(seed)
    starts = draw.integers(0, rows, rows)
    return starts, starts + draw.integers(1, 30, rows), draw.integers(-(2**62), 2**62, rows)


def test_all_rows_that_are_somewhere_decide_where_no_share_is_asked_for():
    starts, ends, _ = drawn(1000)
    assert decided(starts, ends, NOTHING, 1).tolist() == np.flatnonzero(starts % 10 != 9).tolist()


def test_about_the_share_decides():
    starts, ends, keys = drawn(4096)
    for told in (NOTHING, keys):
        assert 0.5 < decided(starts, ends, told, 16).size * 16 / (0.9 * 4096) < 2


def test_what_rows_say_decides_and_not_where_they_stand():
    starts, ends, keys = drawn(2000)
    order = np.random.default_rng(2).permutation(2000)
    once, again = decided(starts, ends, keys, 8), decided(starts[order], ends[order], keys[order], 8)
    assert sorted(once.tolist()) == sorted(order[again].tolist())
