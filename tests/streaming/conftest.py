"""Every event that a test here gives to a stream is accounted for: used, refused with a reason, or held for later."""

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

import pytest

from timeloom.streaming import EndpointCount, LiveForest, StreamJoin
from timeloom.streaming.final.stream import FinalStream
from timeloom.streaming.intake import Tally
from timeloom.streaming.many_keys import ManyKeys
from timeloom.streaming.operator import EndpointJoin

Method = Callable[..., Any]


def balanced_arrays(method: Method) -> Method:
    """Let a step of a join on arrays compare the events that it was given with what it answers."""

    @wraps(method)
    def step(join: EndpointJoin | ManyKeys, *args: Any) -> Any:
        sides = args[:2] if isinstance(join, EndpointJoin) else args[0]
        given = join.intake.waiting + sum(side.ids.size for side in sides)
        answer = method(join, *args)
        emitted = answer if isinstance(join, EndpointJoin) else answer.emitted
        refused = sum(len(part.verdicts) for part in emitted.refused)
        assert given == emitted.used + refused + join.intake.waiting, "an event is lost, or counted twice"
        return answer

    return step


def balanced_tables(method: Method) -> Method:
    """Let a step of a stream of tables compare its tally with that before it; saved streams count anew."""

    @wraps(method)
    def step(stream: StreamJoin | FinalStream, *args: Any, **options: Any) -> Any:
        with stream._lock:
            before = stream.tally
            answer = method(stream, *args, **options)
            events, *fates = Tally(*(now - then for now, then in zip(stream.tally, before, strict=True)))
            frames = [frame for frame in (*args, *options.values()) if hasattr(frame, "num_rows")]
            assert events == sum(fates), "an event is lost, or counted twice"
            assert not frames or events >= sum(frame.num_rows for frame in frames), "a row of a table is lost"
            return answer

    return step


def balanced_counts(method: Method) -> Method:
    """Let a step of a count compare the events that it was given with what it answers, and with its tally."""

    @wraps(method)
    def step(count: EndpointCount, left: Any, right: Any, complete: int) -> Any:
        given, before = left.ids.size + right.ids.size + count.intake.waiting, count.tally
        answer = method(count, left, right, complete)
        refused = sum(len(part.verdicts) for part in answer.refused)
        assert given == answer.used + refused + count.intake.waiting, "an event is lost, or counted twice"
        assert_balanced(before, count.tally, left.ids.size + right.ids.size)
        return answer

    return step


def balanced_index(method: Method) -> Method:
    """Let a live index compare the rows of a table with what became of them."""

    @wraps(method)
    def step(live: LiveForest, events: Any, until: Any) -> int:
        before = live.tally
        refused: int = method(live, events, until)
        assert_balanced(before, live.tally, events.num_rows)
        assert live.tally.refused - before.refused == refused
        return refused

    return step


def assert_balanced(before: Tally, after: Tally, given: int) -> None:
    assert after.events - before.events == given, "an event is lost, or counted twice"
    assert after.events == after.used + after.held + after.refused, "an event is lost, or counted twice"


@pytest.fixture(scope="module", autouse=True)
def every_event_is_accounted_for() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EndpointJoin, "_advance", balanced_arrays(EndpointJoin._advance))
        patch.setattr(ManyKeys, "push", balanced_arrays(ManyKeys.push))
        for name in ("push", "close"):
            patch.setattr(StreamJoin, name, balanced_tables(getattr(StreamJoin, name)))
        patch.setattr(FinalStream, "_advance", balanced_tables(FinalStream._advance))
        patch.setattr(EndpointCount, "_advance", balanced_counts(EndpointCount._advance))
        patch.setattr(LiveForest, "_push", balanced_index(LiveForest._push))
        yield
