"""Partners that start or end together are found without looking at the other active rows."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.certainty import certain_from
from reference.relations import RELATIONS, join_pairs
from timeloom.kernels.joins.sweep_join import Counters
from timeloom.kernels.streaming.gapless import (
    FIRST_ALIKE,
    NEXT_ALIKE,
    START,
    append,
    bucket_of,
    chain,
    empty_maps,
    grown,
    remove_element,
    unchain,
)
from timeloom.model.names import relation
from timeloom.streaming.deciding import ARRIVALS
from timeloom.streaming.intake import Events
from timeloom.streaming.operator import EndpointJoin

TOGETHER = ("equals", "starts", "started_by", "finishes", "finished_by")
Span = tuple[int, int]
LASTING = 10**6


def events(table: list[Span]) -> Events:
    """The endpoints of rows by time; a row whose end is LASTING does not end."""
    points = sorted((time, row, at == 0) for row, span in enumerate(table) for at, time in enumerate(span))
    known = [point for point in points if point[0] < LASTING]
    times, ids, starting = (np.array([point[at] for point in known], np.int64) for at in range(3))
    return Events.endpoints(ids, times, starting.astype(np.bool_))


def swept(name: str, left: list[Span], right: list[Span], *, lazy: bool = True) -> tuple[list[list[int]], Counters]:
    """All pairs with their instants, and what finding them cost; every event is used."""
    join, sides = EndpointJoin(relation(name), lazy=lazy), (events(left), events(right))
    out = join.push(*sides, until=LASTING)
    assert out.refused == ()
    assert out.used == sum(side.ids.size for side in sides)
    return sorted(np.stack(out[:3]).T.tolist()), join.counters


SOME = [(5 * at, 5 * at + length) for at in range(40) for length in (7, 9, 10, 12, 17)]


def lasting(count: int) -> list[Span]:
    """Periods that are active all the time and start when no other row does."""
    return [(-1000 - 3 * at, LASTING) for at in range(count)]


@pytest.mark.parametrize("lazy", [True, False])
@pytest.mark.parametrize("name", [*TOGETHER, "meets", "met_by"])
def test_active_rows_that_do_not_match_cost_nothing(name, lazy):
    expected, few = swept(name, SOME, SOME, lazy=lazy)
    assert few.pairs == len(expected) >= 40
    found, many = swept(name, SOME + lasting(700), SOME + lasting(700), lazy=lazy)
    assert found == expected
    assert many == few


@pytest.mark.parametrize("name", [*TOGETHER, "meets", "met_by"])
def test_only_rows_that_start_or_end_together_are_read(name):
    """An open row that started with one that ends now is its partner, and so is one that starts when another ends; of
    those that end together some are not."""
    expected, counters = swept(name, SOME, SOME + lasting(500))
    by_end = name in ("equals", "finishes", "finished_by")
    assert counters.getnext == (sum(r[1] == s[1] for r in SOME for s in SOME) if by_end else len(expected))


def given_to(arrival: str, rows: list[Span], crowd: int) -> Events:
    """Rows as a side delivers them, and as many that are active all the time; rows known at their ends are not."""
    lasting_ones = [(-1000 - 3 * at, LASTING + 1 + 7 * at) for at in range(crowd)]
    if arrival == "events":
        return events(rows + [(start, LASTING) for start, _ in lasting_ones])
    every = rows + (lasting_ones if arrival == "start" else [])
    starts, ends = (np.array([row[at] for row in every], np.int64) for at in range(2))
    order = np.argsort(starts if arrival == "start" else ends, kind="stable")
    return Events.rows(order, starts[order], ends[order])


def answered(name: str, how: str, arrivals: tuple[str, str], crowds: tuple[int, int]) -> tuple[list, Counters]:
    """Pairs and single rows of the few rows among the crowds, and what the few have cost."""
    join = EndpointJoin(relation(name), how=how, left=arrivals[0], right=arrivals[1])
    sides = [given_to(arrival, SOME, crowd) for arrival, crowd in zip(arrivals, crowds, strict=True)]
    before = [side.pick(side.times < -500) if len(side.times) else side for side in sides]
    join.push(*before, until=-500)
    begun = Counters(*vars(join.counters).values())
    out = join.push(*(side.pick(side.times >= -500) for side in sides), until=LASTING - 1)
    spent = Counters(
        *(now - then for now, then in zip(vars(join.counters).values(), vars(begun).values(), strict=True))
    )
    pairs = [(i, j, at) for i, j, at in np.stack(out[:3]).T.tolist()]
    return sorted(pairs) + sorted(np.stack([out.rows, out.row_instants, out.row_sides]).T.tolist()), spent


SEARCHED = {
    ("finishes", ("events", "start")): ("right", "full"),
    ("finished_by", ("start", "events")): ("left", "full", "anti"),
}
"""Where a row whose end is known, and near, may have any partner that is open: all of these are looked through."""


@pytest.mark.parametrize("arrivals", list(product(ARRIVALS, ARRIVALS)))
@pytest.mark.parametrize("name", TOGETHER)
def test_crowds_of_active_rows_cost_no_kind_of_join_anything(name, arrivals):
    for how in {"left", "right", "full", "semi", "anti"} - set(SEARCHED.get((name, arrivals), ())):
        small, large = (answered(name, how, arrivals, (crowd, crowd)) for crowd in (40, 400))
        assert small[0] == large[0]
        assert large[1].getnext <= small[1].getnext + 2 * len(SOME), how


ticks = st.integers(0, 9)
tables = st.lists(st.tuples(ticks, ticks).filter(lambda span: span[0] < span[1]), max_size=40)


@pytest.mark.parametrize("name", TOGETHER)
@settings(max_examples=20, deadline=None)
@given(left=tables, right=tables, spread=st.sampled_from([1, 64, 1 << 16]))
def test_crowds_at_the_same_instants(name, left, right, spread):
    """Many rows share their endpoints, and starts that differ share their chains."""
    expected = sorted(
        [i, j, certain_from(relation(name).holds, left[i], right[j]) * spread]
        for i, j in join_pairs(left, right, RELATIONS[name])
    )
    wide = [[(start * spread, end * spread) for start, end in table] for table in (left, right)]
    join = EndpointJoin(relation(name))
    out = join.push(*(events(table) for table in wide), until=10 * spread)
    assert sorted(np.stack(out[:3]).T.tolist()) == expected
    assert out.used == 2 * (len(left) + len(right))
    assert join.state_size == 0


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 300)), max_size=80))
def test_chains_hold_exactly_the_rows_of_a_start(steps):
    maps, rows, key = empty_maps(2, 4, by=START), [], 0
    for adds, number in steps:
        if adds or not rows:
            maps = grown(maps) if len(rows) == maps.shape[2] else maps
            append(maps, 1, key, number % 7, 1000, key)
            chain(maps, 1)
            rows.append((key, number % 7))
            key += 1
        else:
            element = number % len(rows)
            unchain(maps, 1, element)
            remove_element(maps, 1, element)
            rows[element] = rows[-1]
            rows.pop()
    for start in range(7):
        at, found = int(maps[1, FIRST_ALIKE, bucket_of(start, maps.shape[2] - 1)]), []
        while at >= 0:
            found += [rows[at][0]] if rows[at][1] == start else []
            at = int(maps[1, NEXT_ALIKE, at])
        assert sorted(found) == [row for row, own in sorted(rows) if own == start]
