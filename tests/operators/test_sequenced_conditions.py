"""Sequenced joins with a condition, instant by instant against plain rows."""

import random

import pyarrow as pa
import pytest

import timeloom as tl

HOWS = ("inner", "left", "right", "full", "semi", "anti")
LAST = 14


def rows(seed, count):
    draw = random.Random(seed)
    made = []
    for number in range(count):
        start = draw.randrange(10)
        made.append((start, start + draw.choice([1, 1, 2, 4]), draw.choice("ab"), draw.choice([1, 2, None]), number))
    return made


def table(made, number):
    columns = list(zip(*made, strict=True)) or [()] * 5
    kinds = {"start": pa.int64(), "end": pa.int64(), "key": pa.string(), "size": pa.int64(), number: pa.int64()}
    return pa.table([pa.array(column, kind) for column, kind in zip(columns, kinds.values(), strict=True)], list(kinds))


def partners(row, others, keyed):
    """The right rows that a left row is a partner of, whatever the time: key and condition."""
    same = [other for other in others if not keyed or other[2] == row[2]]
    return [other for other in same if row[3] is not None and other[3] is not None and row[3] <= other[3]]


def at_each_instant(left, right, how, keyed):
    """(instant, left row, right row) for all instants; None for an absent row."""
    found = set()
    for at in range(LAST):
        ours = [row for row in left if row[0] <= at < row[1]]
        theirs = [row for row in right if row[0] <= at < row[1]]
        pairs = {(row[4], other[4]) for row in ours for other in partners(row, theirs, keyed)}
        some = {row for row, _ in pairs}, {other for _, other in pairs}
        if how in ("inner", "left", "right", "full"):
            found |= {(at, *pair) for pair in pairs}
        if how in ("left", "full", "anti"):
            found |= {(at, row[4], None) for row in ours if row[4] not in some[0]}
        if how in ("right", "full"):
            found |= {(at, None, row[4]) for row in theirs if row[4] not in some[1]}
        if how == "semi":
            found |= {(at, row, None) for row in some[0]}
    return found


def told(result, how):
    """The same of a result, which must have no row for an instant twice and only maximal periods of rows alone."""
    listed = [(row["start"], row["end"], row.get("r"), row.get("s")) for row in result.to_pylist()]
    spread = [(at, ours, theirs) for start, end, ours, theirs in listed for at in range(start, end)]
    assert len(set(spread)) == len(spread)
    alone = {(start, ours, theirs) for start, _, ours, theirs in listed if ours is None or theirs is None}
    assert not alone & {(end, ours, theirs) for _, end, ours, theirs in listed}
    return set(spread)


def called(left, right, how, keyed, **options):
    options |= {"on": "key"} if keyed else {}
    if how == "anti":
        return tl.temporal_antijoin(left, right, where="size <= size_right", **options)
    return tl.temporal_join(left, right, how=how, where="size <= size_right", **options)


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("algorithm", ["auto", "dip"])
def test_partners_are_those_for_which_the_condition_holds(how, algorithm):
    for seed in range(12):
        left, right = rows(seed, 7), rows(-1 - seed, 8 if seed else 0)
        for keyed in (False, True):
            found = called(table(left, "r"), table(right, "s"), how, keyed, algorithm=algorithm)
            assert told(found, how) == at_each_instant(left, right, how, keyed), (seed, keyed)


def test_rows_alone_keep_their_place_and_the_condition_sees_the_shared_period():
    left = pa.table({"start": [5, 0], "end": [9, 4], "r": [1, 2]})
    right = pa.table({"start": [0], "end": [7], "s": [1]})
    kept = tl.temporal_antijoin(left, right, where="start >= 5")
    assert kept.to_pylist() == [{"start": 7, "end": 9, "r": 1}, {"start": 0, "end": 4, "r": 2}]
    plan = tl.explain(tl.temporal_antijoin, left, right, where="r = s")
    assert plan.facts["judged by"] == "r = s"
    assert tl.explain(tl.temporal_join, left, right, where="r = s").facts["judged by"] == "r = s"


def test_what_a_condition_cannot_read_is_refused():
    one = pa.table({"start": [1], "end": [2], "x": [1]})
    with pytest.raises(tl.UsageError, match="reads 'y', which the result does not have"):
        tl.temporal_join(one, one, where="y = 1")
    with pytest.raises(tl.UsageError, match="reads 'start_right'"):
        tl.temporal_antijoin(one, one, where="start_right = 1")
    with pytest.raises(tl.UsageError, match="where= is for two tables"):
        tl.temporal_join([one, one, one], where="x = 1")
    assert tl.temporal_antijoin(one, one, where="xl < x_r", suffixes=("l", "_r")).num_rows == 1
