"""The accounts that all tests of streams keep: an event that is lost without a word fails them."""

from inspect import unwrap

import numpy as np
import pyarrow as pa
import pytest

from timeloom.model.names import relation
from timeloom.streaming import EndpointCount, LiveForest, StreamCoalesce, StreamJoin
from timeloom.streaming.final.rows import StreamRows
from timeloom.streaming.intake import Events, Intake
from timeloom.streaming.join_plan import Plan
from timeloom.streaming.many_keys import ManyKeys
from timeloom.streaming.shared_state import SharedState

EVENTS = pa.table({"key": [1, 1], "id": [1, 2], "time": [3, 4], "event": ["start", "start"]})
LOST = "an event is lost, or counted twice"


@pytest.mark.parametrize("options", [{}, {"on": "key"}, {"how": "left"}, {"on": "key", "how": "full"}], ids=repr)
def test_joins_that_lose_an_event(options, monkeypatch):
    due, whole = Intake.due, StreamJoin("overlaps", **options)

    def forgetful(*args):
        left, right = due(*args)
        return left, tuple(column[:-1] for column in right)

    whole.push(EVENTS, EVENTS, until=5)
    assert whole.tally == (4, 4, 0, 0)
    monkeypatch.setattr(Intake, "due", forgetful)
    with pytest.raises(AssertionError, match=LOST):
        StreamJoin("overlaps", **options).push(EVENTS, EVENTS, until=5)


def test_final_results_that_lose_an_event(monkeypatch):
    advanced = StreamRows.advanced

    def forgetful(rows, batch, late, complete):
        after, refused, used = advanced(rows, batch, late, complete)
        return after, refused, max(0, used - 1)

    whole = StreamCoalesce()
    whole.push(EVENTS, until=5)
    assert whole.tally == (2, 2, 0, 0)
    monkeypatch.setattr(StreamRows, "advanced", forgetful)
    with pytest.raises(AssertionError, match=LOST):
        StreamCoalesce().push(EVENTS, until=5)


def test_counts_and_indexes_that_lose_an_event(monkeypatch):
    """A start, an end without a start, and an event that is held: each has its place in the tally."""
    rows = pa.table({"id": [1, 2, 3], "time": [3, 4, 9], "event": ["start", "end", "start"]})
    live, count = LiveForest(), EndpointCount()
    events = Events.endpoints(np.array([1, 2, 3]), np.array([3, 4, 9]), np.array([True, False, True]))
    live.push(rows, until=5)
    count.push(events, Events.none(), until=5)
    assert live.tally == count.tally == (3, 1, 1, 1)
    take = Intake.take
    monkeypatch.setattr(Intake, "take", lambda *args: take(*args)[:-1])
    with pytest.raises(AssertionError, match=LOST):
        LiveForest().push(rows, until=5)
    with pytest.raises(AssertionError, match=LOST):
        EndpointCount().push(events, Events.none(), until=5)


def test_tasks_of_spark_that_lose_an_event(monkeypatch):
    """What a worker pushes is counted there, in every query."""
    plan = Plan(relation("overlaps"), "inner", ("events", "events"), ("key",), (True, True))
    take, one = Intake.take, Events.endpoints(np.array([1]), np.array([3]), np.array([True]))
    monkeypatch.setattr(Intake, "take", lambda *args: take(*args)[:-1])
    monkeypatch.setattr(ManyKeys, "push", unwrap(ManyKeys.push))
    state = SharedState(plan.join, plan.integers)
    numbers = state.numbers(["a"], 0)
    with pytest.raises(AssertionError, match="an event was lost"):
        state.push((one, Events.none()), (numbers, numbers[:0]), 5)
