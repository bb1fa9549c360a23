"""Ticks at the edges of int64, where keys and ticks together do not fit into one axis."""

import numpy as np
import pyarrow as pa
import pytest

import timeloom as tl

FAR = 2**62
EARLY, LATE = -FAR, FAR


@pytest.fixture
def rows():
    return pa.table(
        {
            "key": ["a", "a", "b", "b"],
            "v": [1, 2, 3, 4],
            "start": [EARLY, 0, EARLY, LATE - 1],
            "end": pa.array([LATE, 5, 3, None], pa.int64()),
        }
    )


def values(table):
    return [tuple(row.values()) for row in table.to_pylist()]


@pytest.mark.parametrize("algorithm", ["auto", "dip"])
def test_aggregates(rows, algorithm):
    found = tl.temporal_aggregate(rows, {"total": ("v", "sum")}, by="key", algorithm=algorithm)
    assert values(found) == [
        ("a", EARLY, 0, 1),
        ("a", 0, 5, 3),
        ("a", 5, LATE, 1),
        ("b", EARLY, 3, 3),
        ("b", LATE - 1, None, 4),
    ]
    window = tl.temporal_aggregate(rows, {"n": "count"}, by="key", within=(4, LATE), fill=True, algorithm=algorithm)
    assert values(window) == [("a", 4, 5, 2), ("a", 5, LATE, 1), ("b", 4, LATE - 1, 0), ("b", LATE - 1, LATE, 1)]


@pytest.mark.parametrize("algorithm", ["auto", "dip"])
def test_joins(rows, algorithm):
    others = pa.table({"key": ["a", "b", None], "start": [LATE - 2, 2, 0], "end": [LATE, LATE, 9]})
    alone = tl.temporal_antijoin(rows, others, on="key", columns=["v", "start", "end"], algorithm=algorithm)
    assert values(alone) == [(1, EARLY, LATE - 2), (2, 0, 5), (3, EARLY, 2), (4, LATE, None)]
    joined = tl.temporal_join(rows, others, on="key", columns=["v", "start", "end"], algorithm=algorithm)
    assert sorted(values(joined)) == [(1, LATE - 2, LATE), (3, 2, 3), (4, LATE - 1, LATE)]


def test_coalesce_and_gaps(rows):
    assert values(tl.coalesce(rows, by="key")) == [("a", EARLY, LATE), ("b", EARLY, 3), ("b", LATE - 1, None)]
    assert values(tl.gaps(rows, by="key")) == [("b", 3, LATE - 1)]
    assert values(tl.gaps(rows, by="key", within=(-(2**63), None))) == [
        ("a", -(2**63), EARLY),
        ("a", LATE, None),
        ("b", -(2**63), EARLY),
        ("b", 3, LATE - 1),
    ]


def test_more_pieces_than_ticks_can_count_are_refused():
    whole = pa.table({"start": [EARLY, EARLY], "end": [LATE, LATE]})
    with pytest.raises(tl.UsageError, match="would be cut into about 18,446,744,073,709,551,616 pieces"):
        tl.split(whole, every=1)
    with pytest.raises(tl.UsageError, match="pieces; give a wider grid"):
        tl.temporal_aggregate(whole, {"n": "count"}, every=1)


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
@pytest.mark.parametrize("every", ["day", "week", "month", "year"])
def test_calendars_end_before_the_ticks_do(every, zone):
    instants = np.array([-(2**63) + 1, -(2**63) + 10**12, 2**63 - 10**12, 2**63 - 2], "datetime64[us]")
    ends = pa.array(instants).cast(pa.timestamp("us", "UTC"))
    for first, last in ((0, 1), (2, 3), (0, 3)):
        rows = pa.table({"start": ends[first : first + 1], "end": ends[last : last + 1]})
        with pytest.raises(tl.UsageError, match=f"every='{every}' makes lines beyond the ticks that there are"):
            tl.split(rows, every=every, zone=zone)


def test_infinities_of_both_signs_have_no_mean():
    rows = pa.table({"v": [float("inf"), float("-inf")], "start": [0, 0], "end": [5, 5]})
    found = tl.temporal_aggregate(rows, {"mean": ("v", "time_avg")}, every=10)["mean"].to_pylist()
    assert np.isnan(found).all()
