"""What is read as a period, and what is refused."""

import pyarrow as pa
import pytest

import timeloom as tl
from timeloom.pipeline.definition.periods import read_period

TABLE = pa.table({"a": [1, 5], "b": [4, 9], "start": [0, 0], "end": [9, 9]})


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ({"start": "a", "end": "b"}, tl.Period("a", "b")),
        ({"end": "b", "start": "a", "closed": "[]"}, tl.Period("a", "b", closed="both")),
        ({"start": "a", "end": "b", "open_end": [9, 99], "truncate": True}, tl.Period("a", "b", "left", (9, 99), True)),
        (["a", "b"], tl.Period("a", "b")),
    ],
)
def test_mappings_and_pairs_are_periods(given, read):
    assert tl.Period.of(given) == read_period(given) == read


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"start": "a", "end": "b", "close": "both"}, "unknown 'close'. Did you mean 'closed'"),
        ({"start": "a", "end": "b", 5: "both"}, "unknown 5"),
        ({"start": "a"}, "has no 'end'"),
        ({}, "has no 'start'"),
        ({"a", "b"}, "is no period"),
        ({"a": 1, "b": 2}.keys(), "is no period"),
        ((name for name in "ab"), "is no period"),
        (("a", "b", "c"), "has 3 parts"),
        (("a", 1), "end=1 is no column name"),
        ({"start": "a", "end": "b", "closed": ["both"]}, "closed=.* is unknown"),
        ({"start": "a", "end": "b", "truncate": 1}, "truncate=1 is no choice"),
    ],
)
def test_what_is_no_period_is_refused(given, words):
    with pytest.raises(tl.UsageError, match=words):
        tl.Period.of(given)
    with pytest.raises(ValueError, match=words):
        read_period(given)


PAIR = {"start": "a", "end": "b"}


@pytest.mark.parametrize(
    ("call", "count"),
    [
        (lambda period: tl.coalesce(TABLE, by=[], period=period), 2),
        (lambda period: tl.gaps(TABLE, period=period), 1),
        (lambda period: tl.depth(TABLE, period=period), 2),
        (lambda period: tl.temporal_aggregate(TABLE, {"n": "count"}, period=period), 2),
        (lambda period: tl.stab(TABLE, 5, period=period), 1),
        (lambda period: tl.join(TABLE, TABLE, period=period), 2),
        (lambda period: tl.join(TABLE, TABLE, left_period=period, right_period=period), 2),
        (lambda period: tl.temporal_join(TABLE, TABLE, period=period), 2),
        (lambda period: tl.temporal_antijoin(TABLE, TABLE.slice(1), period=period), 1),
        (lambda period: tl.count_join(TABLE, TABLE.slice(1), period=period).filter(pa.compute.field("count") > 0), 1),
        (lambda period: tl.top_k(TABLE, TABLE, 1, ties="all", period=period), 2),
    ],
)
def test_a_mapping_is_a_period_in_every_verb(call, count):
    assert call(PAIR).num_rows == count
    with pytest.raises(tl.UsageError, match="period takes two column names, start and end, or a Period"):
        call({"a", "b"})


@pytest.mark.parametrize("nothing", [{}, (), [], ""])
def test_an_empty_period_of_a_side_is_not_left_out(nothing):
    with pytest.raises(tl.UsageError, match="period="):
        tl.join(TABLE, TABLE, left_period=nothing, period=PAIR)


def test_sentinels_in_a_set_have_an_order():
    assert tl.Period(open_end={"9999-12-31", "2999-01-01"}).sentinels == ("2999-01-01", "9999-12-31")
