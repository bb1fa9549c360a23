"""The skip-join in parts, wherever it is cut and whenever the caller hands it over: each pair once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.stabbing import half_open, join
from timeloom import StabForest
from timeloom.engines.joins import parallel_skip
from timeloom.engines.joins.parallel_skip import skip_join_by
from timeloom.kernels.joins.skip_join import forward_scan, new_state
from timeloom.kernels.joins.skip_parts import FEW, SkipJoin
from timeloom.kernels.stab_forest.build import build
from timeloom.kernels.stab_forest.multi_stab import new_marks

events = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 5)), max_size=25).map(
    lambda pairs: sorted((v, v + length) for v, length in pairs)
)


def columns(closed):
    return tuple(np.array(column, np.int64) for column in half_open(closed))


def pairs(found):
    return sorted(zip(*(part.tolist() for part in found), strict=True))


@given(events, events, st.sampled_from([0, 1, 3, 100]), st.integers(1, 6))
def test_parts_together_are_the_whole_and_have_no_pair_in_common(left, right, reach, number):
    whole = SkipJoin(build(*columns(left)), build(*columns(right)), reach, reach)
    found = []
    for part in whole.parts(new_state(), number):
        room = np.empty(whole.count(part), np.int64), np.empty(whole.count(part), np.int64)
        whole.fill(part, *room)
        found += pairs(room)
    assert sorted(found) == sorted(join(left, right))


@pytest.mark.parametrize(
    ("short", "rest", "few", "most", "sample"),
    [(0, 0, 8, 8, 0), (1, 0, 8, 8, 9), (3, 2, 2, 16, 2), (5, 0, 1, 1, 9), (2, 9, 1, 9, 9), (100, 0, 1, 100, 9)],
)
@given(left=events, right=events, reach=st.sampled_from([0, 1, 3, 100]), begin=st.integers(-1, 13))
def test_whatever_the_caller_does_by_itself_the_rest_follows(short, rest, few, most, sample, left, right, reach, begin):
    with pytest.MonkeyPatch.context() as changed:
        steps = {"SHORT": short, "REST": rest, "FEW": few, "ROOM": most, "SAMPLE": sample, "SMALL": 2}
        for name, value in steps.items():
            changed.setattr(parallel_skip, name, value)
        whole = SkipJoin(build(*columns(left)), build(*columns(right)), reach, reach)
        assert pairs(skip_join_by(lambda: 2, whole)) == sorted(join(left, right))
        within = sorted(join(left, right, (begin, begin + 3)))
        assert pairs(skip_join_by(lambda: 2, whole._replace(limit=begin + 4), begin)) == within


def test_ends_that_are_kept_apart_count_in_every_part():
    starts, random = np.arange(60_000), np.random.default_rng(5)
    forest = StabForest.build(starts, np.full(starts.size, 2**63 - 1))
    ends = np.full(starts.size, starts.size)
    for event in random.choice(starts.size, 300, replace=False).tolist():
        ends[event] = event + int(random.integers(1, 40))
        forest.finish(forest.handle(event), int(ends[event]))
    begins = np.sort(random.integers(0, starts.size, 40))
    expected = forward_scan(starts, ends, begins, begins + 1)
    for variant in ("auto", "events", "index"):
        assert pairs(forest.skip_join((begins, begins + 1), variant=variant)) == pairs(expected)


def test_a_stab_may_meet_more_events_than_there_is_room_for():
    left = [(0, 0), *((t, 5_000) for t in range(10, 10 + 3 * FEW)), (4_000, 4_000)]
    right = [(0, 0), (4_500, 4_500), (4_600, 4_700)]
    for one, other in ((left, right), (right, left)):
        whole = SkipJoin(build(*columns(one)), build(*columns(other)), 0, 0)
        expected = sorted(join(one, other))
        assert pairs(skip_join_by(lambda: 2, whole)) == expected
        assert sum(whole.count(part) for part in whole.parts(new_state(), 3)) == len(expected)
        marks = new_marks(2)
        assert pairs(skip_join_by(lambda: 1, whole, marks=marks)) == expected
