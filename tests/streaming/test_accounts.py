"""The accounts that all tests of streams keep: an event that is lost without a word fails them."""

import pyarrow as pa
import pytest

from timeloom.streaming import StreamCoalesce, StreamJoin
from timeloom.streaming.final.rows import StreamRows
from timeloom.streaming.intake import Intake

EVENTS = pa.table({"key": [1, 1], "id": [1, 2], "time": [3, 4], "event": ["start", "start"]})
LOST = "an event is lost, or counted twice"


@pytest.mark.parametrize("options", [{}, {"on": "key"}, {"how": "left"}, {"on": "key", "how": "full"}], ids=repr)
def test_joins_that_lose_an_event(options, monkeypatch):
    take, whole = Intake.take, StreamJoin("overlaps", **options)
    whole.push(EVENTS, EVENTS, until=5)
    assert whole.tally == (4, 4, 0, 0)
    monkeypatch.setattr(Intake, "take", lambda *args: take(*args)[:-1])
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
