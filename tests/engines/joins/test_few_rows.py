"""Scans that call no kernel find the pairs of those that do."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timeloom as tl
from drawing import periods
from timeloom.engines.joins.drivers import exact_pieces
from timeloom.engines.joins.few_rows import few_scans, stretches
from timeloom.engines.joins.forward_scan import drive
from timeloom.engines.joins.problem import Problem, Side
from timeloom.engines.spark.slicing.join_parts import cover
from timeloom.model.ticks import FOREVER, MAX_TICK

EXACT = ["intersects", tl.iseql.start_preceding(delta=3), tl.iseql.end_following(epsilon=2), tl.iseql.before(delta=4)]


def side(rows, keys):
    starts, ends = (np.array([row[at] for row in rows], np.int64) for at in (0, 1))
    return Side(starts, ends, None if keys is None else np.array(keys[: len(rows)], np.int64))


def pairs_of(scan):
    begins, counts = scan.runs()
    for owner, begin, count in zip(scan.owners.tolist(), begins.tolist(), counts.tolist(), strict=True):
        for other in scan.axis.ids[begin : begin + count].tolist():
            yield (other, owner) if scan.driver.flip else (owner, other)


@pytest.mark.parametrize("relation", EXACT, ids=str)
@settings(max_examples=60, deadline=None)
@given(
    periods(max_size=12),
    periods(max_size=12),
    st.one_of(st.none(), st.lists(st.integers(-1, 2), min_size=12, max_size=12)),
    st.integers(1, 5),
)
def test_pairs_are_those_of_kernels(relation, left, right, keys, most):
    for part in cover(tl.relation(relation).boxes()):
        problem = Problem.of(side(left, keys), side(right, keys), 3 if keys else 0)
        pieces = exact_pieces(part.box)
        expected = Counter(pair for scan in drive(problem, pieces) for pair in pairs_of(scan))
        scans = few_scans(problem, pieces)
        assert Counter(pair for scan in scans for pair in pairs_of(scan)) == expected
        names = np.arange(len(left)), np.arange(len(right))
        listed = [page for scan in scans for page in scan.listed(*names, most)]
        assert Counter(pair for page in listed for pair in zip(*map(np.ndarray.tolist, page), strict=True)) == expected
        assert all(page[0].size <= max(most, len(left), len(right)) for page in listed)


@pytest.mark.parametrize("end", [FOREVER, MAX_TICK - 5])
def test_near_the_ends_of_the_axis_kernels_are_asked(end):
    problem = Problem.of(side([(1, end)], None), side([(0, end)], None))
    assert few_scans(problem, exact_pieces(cover(tl.relation("intersects").boxes())[0].box)) is None


def test_stretches_are_written_one_after_the_other():
    assert stretches(np.array([3, 9, 9]), np.array([5, 9, 11])).tolist() == [3, 4, 9, 10]
