"""Runs cut at windows and put into batches, against the plain definition."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from timeloom.kernels.slicing.run_windows import count_parts, mark_batches, place_parts

RUNS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 40)), max_size=15)


def parts_of(runs, window):
    """The parts of the runs, window by window, in the order of the runs."""
    parts = []
    for row, (begin, count) in enumerate(runs):
        for at in sorted({place >> window for place in range(begin, begin + count)}):
            inside = [place for place in range(begin, begin + count) if place >> window == at]
            parts.append((at, row, inside[0], len(inside)))
    return sorted(parts, key=lambda part: part[0])


@given(RUNS, st.integers(0, 5), st.integers(1, 50))
def test_parts_lie_together_by_window_and_batches_are_full_or_end_with_one(runs, window, most):
    begins, counts = (np.array([run[at] for run in runs], np.int64) for at in (0, 1))
    expected = parts_of(runs, window)
    sizes = np.zeros(128, np.int64)
    count_parts(begins, counts, window, sizes)
    assert sizes.tolist() == np.bincount([at for at, *_ in expected], minlength=128).tolist()
    rows, firsts, lengths = np.empty((3, len(expected)), np.int64)
    place_parts(begins, counts, window, np.cumsum(sizes) - sizes, rows, firsts, lengths)
    assert list(zip(rows.tolist(), firsts.tolist(), lengths.tolist(), strict=True)) == [part[1:] for part in expected]
    edges, lows, highs = np.empty((3, len(expected) + 1), np.int64)
    found = mark_batches(firsts, lengths, window, most, edges, lows, highs)
    batches = np.split(np.arange(len(expected)), edges[1:found])
    for number in range(found):
        inside = batches[number]
        assert len({firsts[part] >> window for part in inside}) == 1
        assert (lows[number], highs[number]) == (min(firsts[inside]), max(firsts[inside] + lengths[inside]))
        assert lengths[inside[:-1]].sum() < most
        if number + 1 < found and firsts[inside[0]] >> window == firsts[batches[number + 1][0]] >> window:
            assert lengths[inside].sum() >= most
    assert found == (0 if not expected else len(batches))
