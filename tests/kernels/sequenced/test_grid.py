"""Pieces of periods between lines, against a walk from tick to tick."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from timeloom.kernels.order import sealed
from timeloom.kernels.sequenced.grid import count_cells, write_pieces

PERIODS = st.lists(st.tuples(st.integers(-12, 12), st.integers(1, 9)), max_size=8)
LINES = st.one_of(
    st.tuples(st.integers(1, 5), st.integers(-4, 4), st.just([])),
    st.tuples(st.just(0), st.just(0), st.sets(st.integers(-12, 20), max_size=6).map(lambda at: [-99, *sorted(at), 99])),
)


def cell(tick, step, origin, known):
    """The cell of a tick: the last line that is not after it."""
    return (tick - origin) // step if step else max(number for number, line in enumerate(known) if line <= tick)


@given(PERIODS, LINES)
def test_each_tick_of_a_row_is_in_the_piece_of_its_cell(periods, lines):
    starts = sealed(np.array([start for start, _ in periods], np.int64))
    ends = sealed(np.array([start + length for start, length in periods], np.int64))
    grid = lines[0], lines[1], sealed(np.array(lines[2], np.int64))
    firsts, counts = np.empty(len(periods), np.int64), np.empty(len(periods), np.int64)
    count_cells(starts, ends, *grid, 0, len(periods), firsts, counts)
    rows, (cells, begins, stops) = np.empty(counts.sum(), np.int32), np.empty((3, counts.sum()), np.int64)
    offsets = np.cumsum(counts) - counts
    write_pieces(starts, ends, *grid, firsts, counts, offsets, 0, len(periods), rows, cells, begins, stops)
    pieces = zip(rows.tolist(), cells.tolist(), begins.tolist(), stops.tolist(), strict=True)
    found = [(row, tick, number) for row, number, begin, stop in pieces for tick in range(begin, stop)]
    assert (stops > begins).all()
    assert found == [
        (row, tick, cell(tick, *lines))
        for row, (start, length) in enumerate(periods)
        for tick in range(start, start + length)
    ]
    assert len(set(zip(rows.tolist(), cells.tolist(), strict=True))) == rows.size
