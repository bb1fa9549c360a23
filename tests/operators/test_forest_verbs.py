"""Verbs with a stab-forest on either side, against brute force and against the same verb on plain tables."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timeloom as tl
from drawing import LIMITS, periods
from reference.relations import PARAMETERS, RELATIONS, anti_rows, join_pairs, outer_pairs, semi_rows
from rows import table
from timeloom.engines.indexes.plan import Plan
from timeloom.kernels.stab_forest.layout import FOREVER
from timeloom.kernels.stab_forest.rectangle import search_many

HOWS = ["inner", "left", "right", "full", "semi", "anti"]


def grown(rows, ends_at, name, payload=True):
    """A forest whose events began one by one, in the order of time, and got their ends in another order."""
    order = sorted(range(len(rows)), key=lambda row: rows[row][0])
    numbers = pa.table({name: pa.array([], pa.int64())})
    forest = tl.StabForest.build([], [], payload=numbers, order="start") if payload else tl.StabForest(order="start")
    handles = []
    for row in order:
        handles.append(forest.begin(rows[row][0], **({"payload": {name: row}} if payload else {})))
    forest.stab(0)
    for at in sorted(range(len(order)), key=lambda at: ends_at[at % len(ends_at)] if ends_at else at):
        forest.finish(handles[at], rows[order[at]][1])
    return forest


def numbered(rows, name):
    return table(rows, number=name).select([name, "start", "end"])


def expected(pairs, left, right, how):
    if how == "semi":
        return sorted((i,) for i in semi_rows(pairs))
    if how == "anti":
        return sorted((i,) for i in anti_rows(pairs, len(left)))
    return sorted(outer_pairs(pairs, len(left), len(right), how), key=str)


def found(result, how):
    names = ["i"] if how in ("semi", "anti") else ["i", "j"]
    return sorted(zip(*(result[name].to_pylist() for name in names), strict=True), key=str)


@pytest.fixture
def never_by_tables(monkeypatch):
    """Fail where a verb leaves the index and reads all events."""

    def refuse(*_):
        raise AssertionError("the events were read as a table")

    monkeypatch.setattr(tl.StabForest, "__arrow_c_stream__", refuse)


@pytest.mark.parametrize("name", RELATIONS)
@pytest.mark.usefixtures("never_by_tables")
@settings(max_examples=8)
@given(data=st.data())
def test_every_relation_and_kind_of_join_through_a_forest(name, data):
    left, right = data.draw(periods()), data.draw(periods())
    options = {limit: data.draw(LIMITS) for limit in PARAMETERS.get(name, ())}
    how, side = data.draw(st.sampled_from(HOWS)), data.draw(st.sampled_from(["left", "right", "both"]))
    ends_at = data.draw(st.lists(st.integers(0, 9), max_size=5))
    one = numbered(left, "i") if side == "right" else grown(left, ends_at, "i")
    other = numbered(right, "j") if side == "left" else grown(right, ends_at, "j")
    pairs = join_pairs(left, right, RELATIONS[name], **options)
    for _ in range(2):
        assert found(tl.join(one, other, name, how=how, **options), how) == expected(pairs, left, right, how)
    if side != "left":
        counted = tl.count_join(one, other, name, **options)
        counts = dict(zip(counted["i"].to_pylist(), counted["count"].to_pylist(), strict=True))
        assert counts == {i: sum(i == pair[0] for pair in pairs) for i in range(len(left))}


@settings(max_examples=40)
@given(rows=periods(), ends_at=st.lists(st.integers(0, 9), max_size=5), at=st.lists(st.integers(-1, 14), max_size=4))
def test_stabs_through_a_forest(rows, ends_at, at):
    forest = grown(rows, ends_at, "i")
    for instants in (at, at[0] if at else 3):
        wanted = instants if isinstance(instants, list) else [instants]
        active = [i for i, (start, end) in enumerate(rows) if any(start <= t < end for t in wanted)]
        result = tl.stab(forest, at=instants)
        assert sorted(result["i"].to_pylist()) == active
        assert result.schema.names == ["start", "end", "i"]


@settings(max_examples=40)
@given(
    left=periods(),
    right=periods(),
    how=st.sampled_from(HOWS),
    begin=st.integers(-1, 12),
    length=st.one_of(st.none(), st.integers(1, 6)),
    indexed=st.booleans(),
)
def test_windows_of_joins(left, right, how, begin, length, indexed):
    """Pairs count if they share an instant of the window; whoever has no such pair has none."""
    window = (begin, None if length is None else begin + length)
    last = 10**9 if length is None else begin + length
    pairs = [
        (i, j)
        for i, r in enumerate(left)
        for j, s in enumerate(right)
        if max(r[0], s[0], begin) < min(r[1], s[1], last)
    ]
    other = grown(right, [3, 1], "j") if indexed else numbered(right, "j")
    result = tl.join(numbered(left, "i"), other, how=how, window=window)
    assert found(result, how) == expected(pairs, left, right, how)


def test_windows_are_refused_where_they_mean_nothing():
    rows = numbered([(1, 3)], "i")
    for other in (rows, tl.StabForest.build([1], [3])):
        with pytest.raises(tl.UsageError, match="share none"):
            tl.join(rows, other, "before", window=(1, 2))
        with pytest.raises(tl.InvalidInputError, match="empty"):
            tl.join(rows, other, window=(2, 2))
        with pytest.raises(tl.UsageError, match="no begin"):
            tl.join(rows, other, window=(None, 2))
        with pytest.raises(tl.UsageError, match="window"):
            tl.join(rows, other, window=3)
        with pytest.raises(tl.UsageError, match="does not fit"):
            tl.join(rows, other, window=(date(2024, 1, 1), None))


AXES = {
    "dates": lambda tick: date(2024, 1, 1) + timedelta(days=tick),
    "timestamps": lambda tick: datetime(2024, 1, 1) + timedelta(seconds=tick),
    "zoned": lambda tick: datetime(2024, 1, 1, tzinfo=UTC) + timedelta(seconds=tick),
}


@pytest.mark.parametrize("axis", AXES)
def test_verbs_take_and_give_the_forests_axis(axis):
    of = AXES[axis]
    forest = tl.StabForest.build([of(0), of(2)], [of(3), None])
    few = pa.table({"start": [of(1)], "end": [of(2)]})
    joined = tl.join(few, forest, overlap=True)
    assert joined["id"].to_pylist() == [0]
    assert joined["overlap_end"].to_pylist() == [of(2)]
    assert joined.schema.field("start_right").type == forest.table().schema.field("start").type
    assert tl.stab(forest, at=of(2))["end"].to_pylist() == [of(3), None]
    assert tl.count_join(few, forest)["count"].to_pylist() == [1]
    assert tl.join(few, forest, window=(of(1), of(2)))["id"].to_pylist() == [0]
    for call in (
        lambda: tl.join(pa.table({"start": [1], "end": [2]}), forest),
        lambda: tl.count_join(pa.table({"start": [1], "end": [2]}), forest),
        lambda: tl.stab(forest, at=1),
    ):
        with pytest.raises((tl.InvalidInputError, tl.UsageError), match="axis|fit"):
            call()


def test_days_and_zoned_instants_are_read_as_by_tables():
    """Parts of tables, zones of their own, and rows that must be refused."""
    for kind in (pa.date32(), pa.date64(), pa.timestamp("us", "Europe/Paris"), pa.timestamp("ms", "UTC")):
        day = 1 if kind == pa.date32() else 86_400_000 if kind in (pa.date64(), pa.timestamp("ms", "UTC")) else 10**6

        def column(values, kind=kind, day=day):
            ticks = [None if value is None else value * day for value in values]
            return pa.array(ticks, pa.int32() if kind == pa.date32() else pa.int64()).cast(kind)

        forest = tl.StabForest.build(column(range(0, 90, 3)), column(range(2, 92, 3)))
        rows = pa.table({"start": column([0, 4, 31]), "end": column([1, 9, 40])})
        for few in (rows, rows.slice(1), rows.slice(2, 1), pa.concat_tables([rows, rows.slice(1)])):
            for how in ("inner", "left", "anti"):
                ours, theirs = (
                    tl.join(few, side, how=how, overlap=how == "inner") for side in (forest, forest.table())
                )
                assert ours.schema == theirs.schema
                assert sorted(map(str, ours.to_pylist())) == sorted(map(str, theirs.to_pylist()))
        with pytest.raises(tl.InvalidInputError, match="row"):
            tl.join(pa.table({"start": column([3, 5]), "end": column([4, 5])}), forest)
        until = pa.table({"start": column([80]), "end": column([None])})
        assert tl.join(until, forest).num_rows == tl.join(until, forest.table()).num_rows > 0


def test_other_columns_keys_and_policies_still_read_the_forest_as_a_table():
    stays = pa.table({"guest": ["Ann", "Bob"], "since": [1, 4], "until": [5, 9]})
    forest = tl.StabForest.build(stays, payload=stays, period=("since", "until"))
    visits = pa.table({"guest": ["Bob"], "start": [2], "end": [6]})
    assert tl.join(visits, forest, right_period=("since", "until"))["guest_right"].to_pylist() == ["Ann", "Bob"]
    assert tl.join(visits, forest, on="guest", right_period=("since", "until")).num_rows == 1
    with pytest.raises(tl.InvalidInputError, match="no column 'start'"):
        tl.join(visits, forest)
    kept = tl.join(visits, forest, right_period=("since", "until"), on_invalid="quarantine")
    assert kept.result.num_rows == 2
    merged: Any = tl.coalesce(forest, period=("since", "until"))
    assert merged.num_rows == 2


def test_options_that_were_refused_once_are_refused_again():
    forest, few = tl.StabForest.build([1], [3]), pa.table({"start": [1], "end": [2]})
    assert tl.join(few, forest, overlap=True).num_columns == 7
    for _ in range(2):
        with pytest.raises(tl.UsageError, match="overlap"):
            tl.join(few, forest, overlap=1)
    assert tl.join(few, forest, "intersects").num_columns == 5
    assert tl.join(few, forest, ["intersects"]).num_columns == 5


@pytest.mark.parametrize("spread", [3, 2_000, 200_000])
def test_large_forests_answer_like_tables(spread):
    random = np.random.default_rng(spread)
    starts = random.integers(0, 100_000, 20_000)
    ends = starts + 1 + np.minimum(1 / random.random(starts.size), spread).astype(np.int64)
    ends[random.random(starts.size) < 0.01] = FOREVER
    forest = tl.StabForest.build(starts, ends)
    begins = random.integers(0, 100_000, 40)
    few = pa.table({"start": begins, "end": begins + random.integers(1, 300, 40)})
    events = forest.table()
    for name in ("intersects", "during", "contains", "meets", "met_by", "equals", "overlaps", "finishes", "starts"):
        ours = tl.join(few, forest, name)
        theirs = tl.join(few, events, name)
        assert sorted(map(str, ours.to_pylist())) == sorted(map(str, theirs.to_pylist())), name
        assert tl.count_join(few, forest, name).equals(tl.count_join(few, events, name)), name


def test_conditions_of_the_match_hold_beside_a_forest():
    forest, few = tl.StabForest.build([1, 4, 5], [3, 9, 6]), numbered([(2, 6)], "i")
    events = forest.table()
    for options in ({"where": "id > 0"}, {"min_overlap": 2}, {"overlap": "length"}, {"max_gap": 1}):
        for how in ("inner", "left"):
            ours, theirs = (tl.join(few, side, how=how, **options) for side in (forest, events))
            assert sorted(map(str, ours.to_pylist())) == sorted(map(str, theirs.to_pylist())), options
    assert tl.nearest(few, forest).num_rows == tl.nearest(few, events).num_rows == 1


def test_columns_are_picked_in_any_order():
    forest, few = tl.StabForest.build([1, 4], [3, 9]), numbered([(1, 3)], "i")
    names = ["end_right", "start_right", "id", "end", "start", "i"]
    assert tl.join(few, forest, columns=names).to_pylist() == [dict(zip(names, [3, 1, 0, 3, 1, 0], strict=True))]
    assert tl.join(few, forest, columns=["id"], how="right")["id"].to_pylist() == [0, 1]
    assert tl.join(few, forest, columns=[]).num_rows == 1


def test_explain_tells_of_the_index():
    forest, few = tl.StabForest.build(range(99), range(1, 100)), numbered([(1, 3)], "i")
    for told in (tl.explain(tl.join, few, forest), tl.explain(tl.count_join, few, forest)):
        assert (told["algorithm"], told["right rows"]) == ("index", 99)
    assert tl.explain(tl.join, forest, few)["driver"].startswith("right rows")
    assert tl.explain(tl.join, few, forest, algorithm="sweep")["algorithm"] == "sweep"


def test_a_join_touches_what_it_finds_however_many_events_there_are():
    """The same few rows find the same events among twice as many, and no more events are looked at."""
    taken = []
    for count in (2**12, 2**15):
        starts = 10 * np.arange(count)
        with tl.StabForest.build(starts, starts + 5).__timeloom_index__() as events:
            limits = Plan(_request()).bounds(events.kind.axis, False)[0]
            rows = np.array([20_000, 30_000]), np.array([20_100, 30_100])
            _, found, steps = search_many(events.forest, *rows, *limits)
            assert found.size == 20
            taken.append(steps)
    assert taken[0] == taken[1] <= 40


def _request():
    from timeloom.model.join import JoinRequest
    from timeloom.model.naming import Keys
    from timeloom.model.period import Period
    from timeloom.model.policy import Policy

    return JoinRequest(tl.relation("intersects"), Keys(), "inner", Period(), Period(), Policy())
