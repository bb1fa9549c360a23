"""Keys that share states on Spark: the same answers as a state for each key, in pages that grow in number."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streaming.stores import Store
from timeloom.errors import StorageError
from timeloom.model.names import relation
from timeloom.model.ticks import FOREVER, MIN_TICK
from timeloom.streaming import pages
from timeloom.streaming.buckets import MILLISECOND
from timeloom.streaming.intake import REASONS, Events
from timeloom.streaming.join_plan import Plan
from timeloom.streaming.operator import EndpointJoin
from timeloom.streaming.processor import JoinProcessor
from timeloom.streaming.storage import VERSION, seal, unseal
from timeloom.streaming.wanted import Wanted

RELATIONS = ("intersects", "overlaps", "during | after", "equals", "before")


class JoinStore(Store):
    """A store whose tasks join."""

    def run(self, plan: Plan, rows: list[tuple], watermark: int) -> list[tuple]:
        """A micro-batch of one bucket in a task of its own: events first, then timers."""
        found = self.batch(JoinProcessor(plan), ("7",), [frame_of(rows)] if rows else [], watermark)
        rows = (row[1:] for one in found for row in one.itertuples())
        return sorted((tuple(map(plain, row)) for row in rows), key=repr)


def plain(value: object) -> object:
    if pd.isna(value):
        return None
    return value.item() if isinstance(value, np.generic) else value


def frame_of(rows: list[tuple]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["key", "side", "number", "time", "starting"])
    frame["time"] *= MILLISECOND
    return frame.assign(end=FOREVER, verdict=0, id=None, p0=frame["number"].astype(str))


def apart(plan: Plan, joins: dict[str, EndpointJoin], rows: list[tuple], watermark: int) -> list[tuple]:
    """The same with a join for each key; one that is not kept is as far as the watermark is."""
    complete, found = watermark * MILLISECOND if watermark else MIN_TICK, []
    due = {key for key, join in joins.items() if join.next_instant <= complete}
    for key in sorted({row[0] for row in rows} | due):
        join = joins.get(key)
        if join is None:
            join = joins[key] = plan.join()
            join.intake.clock = complete
        out = join.push(*(events_of([row for row in rows if row[:2] == (key, side)]) for side in (0, 1)), complete)
        found += [(key, *row, None) for row in zip(*(part.tolist() for part in out[:3]), strict=True)]
        for row, at, side in zip(out.rows.tolist(), out.row_instants.tolist(), out.row_sides.tolist(), strict=True):
            found.append((key, *((None, row) if side else (row, None)), at, None))
        for side, events, verdicts in out.refused:
            for row, at, verdict in zip(events.ids.tolist(), events.times.tolist(), verdicts.tolist(), strict=True):
                found.append((key, *((None, row) if side else (row, None)), at, REASONS[verdict]))
        if join.is_idle:
            del joins[key]
    return found


def events_of(rows: list[tuple]) -> Events:
    _, _, ids, times, starting = zip(*rows, strict=True) if rows else [()] * 5
    ticks = np.array(times, np.int64) * MILLISECOND
    return Events.endpoints(np.array(ids, np.int64), ticks, np.array(starting, np.bool_))


def plan_of(name: str, how: str, columns: tuple[str, ...] = ()) -> Plan:
    wanted = Wanted(how, ("key",), columns, knows_keys=False)
    sides = ("events", "events")
    return Plan(relation(name), how, sides, ("key",), (True, True), asked=wanted, payload=(columns, ()))


events = st.tuples(st.sampled_from("abcde"), st.integers(0, 1), st.integers(0, 2), st.integers(1, 12), st.booleans())
histories = st.lists(st.tuples(st.lists(events, max_size=8), st.integers(0, 3)), min_size=2, max_size=6)


@settings(max_examples=80, deadline=None)
@given(
    history=histories,
    name=st.sampled_from(RELATIONS),
    how=st.sampled_from(["inner", "left", "full", "anti"]),
    large=st.sampled_from([pages.LARGE, 1500]),
)
def test_the_answers_of_a_state_for_each_key(history, name, how, large):
    """New, idle and returning keys, late events by the clock of their key, timers: nothing depends on who shares."""
    plan, store, joins, watermark = plan_of(name, how), JoinStore(), {}, 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "LARGE", large)
        for rows, passed in history:
            watermark += passed
            expected = apart(plan, joins, rows, watermark)
            assert store.run(plan, rows, watermark) == sorted(expected, key=repr)
    kept = {page for _, page in store.values if page != (pages.DIRECTORY,)}
    assert bool(joins) == bool(kept)


@settings(max_examples=40, deadline=None)
@given(history=histories, how=st.sampled_from(["inner", "full"]))
def test_columns_do_not_depend_on_pages(history, how):
    plan, answers = plan_of("overlaps", how, ("price",)), []
    for large in (pages.LARGE, 1500):
        store, watermark = JoinStore(), 0
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pages, "LARGE", large)
            answers.append([])
            for rows, passed in history:
                watermark += passed
                answers[-1].append(store.run(plan, rows, watermark))
    assert answers[0] == answers[1]


def test_many_keys_take_few_messages():
    """Each of 2,000 keys has an open row; a batch on all of them reads and writes one state, or few pages."""
    plan, store = plan_of("intersects", "inner"), JoinStore()
    rows = [(f"key {at}", 0, at, 1, True) for at in range(2000)]
    assert store.run(plan, rows, 0) == []
    before = store.messages
    others = [(key, 1, row, 2, True) for key, _, row, _, _ in rows]
    assert len(store.run(plan, others, 3)) == 2000
    written = {page for _, page in store.values}
    assert store.messages - before <= 4 * len(written) + 4
    assert len(written) < 20


def test_a_key_with_many_rows_does_not_make_pages(monkeypatch):
    """Pages that only one key fills cannot be shared out: more of them would be empty."""
    monkeypatch.setattr(pages, "LARGE", 1500)
    plan, store = plan_of("intersects", "inner"), JoinStore()
    for batch in range(6):
        store.run(plan, [("heavy", 0, 100 * batch + row, batch + 1, True) for row in range(100)], 0)
    assert {page for _, page in store.values} == {(0,)}
    for batch in range(6):
        store.run(plan, [(f"light {row}", 0, 1, batch + 7, True) for row in range(12 * batch, 12 * batch + 12)], 0)
    shared = {page for _, page in store.values}
    assert 2 < len(shared) <= 17
    for batch in range(6):
        store.run(plan, [("heavy", 0, 1000 + batch, 20, True)], 0)
    assert {page for _, page in store.values} == shared


def test_states_of_others_are_refused():
    plan, store = plan_of("intersects", "inner"), JoinStore()
    store.run(plan, [("a", 0, 1, 1, True)], 0)
    with pytest.raises(StorageError, match="streaming state is that of another query"):
        store.run(plan_of("during", "inner"), [("a", 0, 2, 1, True)], 0)
    (version, body, known) = store.values[("7",), (0,)]
    assert version == VERSION
    for changed in ((version, body[:-1] + b"x", known), (version, body, known.replace('"a"', '"b"'))):
        store.values[("7",), (0,)] = changed
        with pytest.raises(StorageError, match="damaged"):
            store.run(plan, [("a", 0, 2, 1, True)], 0)
    store.values[("7",), (0,)] = (VERSION + 1, body, known)
    with pytest.raises(StorageError, match=f"is of version {VERSION + 1}, but this is version {VERSION}"):
        store.run(plan, [("a", 0, 2, 1, True)], 0)


@pytest.mark.parametrize(
    "forge",
    [
        lambda arrays, known: (arrays[:-1], known),
        lambda arrays, known: ([arrays[0][:0], *arrays[1:]], known),
        lambda arrays, known: ([arrays[0], arrays[1] + 1, *arrays[2:]], known),
        lambda arrays, known: (arrays, known.replace('"a"', '"b"')),
        lambda arrays, known: (arrays, known.replace('"a"', "1")),
        lambda arrays, known: (arrays, "[]"),
        lambda arrays, known: (arrays, "{"),
        lambda arrays, known: ([*arrays[:3], arrays[3] + 5, *arrays[4:]], known),
    ],
)
def test_forged_states_are_refused(forge):
    plan, store = plan_of("overlaps", "full"), JoinStore()
    store.run(plan, [("a", 0, 1, 3, True), ("b", 0, 1, 3, True)], 2)
    _, body, known = store.values[("7",), (0,)]
    arrays, text = forge(unseal(bytes(body), plan.query, known), known)
    store.values[("7",), (0,)] = (VERSION, seal(arrays, plan.query, text), text)
    with pytest.raises(StorageError, match="malformed"):
        store.run(plan, [("a", 0, 2, 3, True)], 2)
