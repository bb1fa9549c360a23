"""The streaming count semi-join: how many right rows each left row shares an instant with, without any pair.

Two counters are carried along: right rows started so far, and right rows ended so far. A right row meets a left row
unless it ended by the left one's start, or starts no earlier than the left one's end. So the count is the rows
started before the end, less the rows ended by the start (interval count semi-joins paper, section 3.2).
"""

from typing import NamedTuple

import numpy as np

from timeloom.kernels.order import Ticks
from timeloom.model.ticks import FOREVER
from timeloom.streaming.intake import Events, Ids, Intake, Refused


class Counted(NamedTuple):
    """Left rows that have ended: their ids, counts and ends; and the events that were refused."""

    ids: Ids
    counts: Ids
    instants: Ticks
    refused: tuple[Refused, ...]


class EndpointCount:
    """Count, for each left row at its end, the right rows that it shares an instant with.

    The state is one number per open left row, and the ids of open rows.
    """

    def __init__(self) -> None:
        self.intake = Intake()
        self._started = 0
        self._ended = 0
        self._gone_before: dict[int, int] = {}

    @property
    def state_size(self) -> int:
        """Left rows that are open."""
        return len(self._gone_before)

    def push(self, left: Events, right: Events, until: int | None = None) -> Counted:
        """Take events of both sides; answer the left rows that have ended by the last complete instant."""
        return self._advance(left, right, self.intake.complete(left, right, until))

    def close(self) -> Counted:
        """End both streams: what is open never ends, and is counted so."""
        return self._advance(Events.none(), Events.none(), FOREVER)

    def _advance(self, left: Events, right: Events, complete: int) -> Counted:
        (lefts, rights), refused = self.intake.take(left, right, complete)
        gone = self._ended + np.searchsorted(rights.ended.ends, lefts.started.starts, side="right")
        self._gone_before.update(zip(lefts.started.handles.tolist(), gone.tolist(), strict=True))
        come = self._started + np.searchsorted(rights.started.starts, lefts.ended.ends, side="left")
        before = [self._gone_before.pop(handle) for handle in lefts.ended.handles.tolist()]
        self._started += rights.started.ids.size
        self._ended += rights.ended.ids.size
        return Counted(lefts.ended.ids, come - np.array(before, np.int64), lefts.ended.ends, refused)
