"""Events on their way into a forest: in which order they may arrive, and which are not settled yet."""

from bisect import bisect_left
from typing import Literal, get_args

import numpy as np

from timeloom.errors import InvalidInputError, UsageError, did_you_mean
from timeloom.kernels.order import Ticks
from timeloom.model.ticks import FOREVER, MIN_TICK

Order = Literal["start_end", "start", "watermark"]

_MEND = "sort the events first, or build a new forest from all of them with StabForest.build"


class Arrivals:
    """The order that a forest asks for, and the events that were accepted but not yet indexed, by ascending id."""

    def __init__(self, order: Order) -> None:
        if order not in get_args(Order):
            raise UsageError(f"order={order!r} is unknown. {did_you_mean(str(order), get_args(Order))}")
        self.order = order
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.ids: list[int] = []
        self.last_start = self.last_end = MIN_TICK
        self.watermark = MIN_TICK

    def __len__(self) -> int:
        return len(self.ids)

    def find(self, event: int) -> int:
        """Where an event waits, or -1 if it does not."""
        at = bisect_left(self.ids, event)
        return at if at < len(self.ids) and self.ids[at] == event else -1

    def accept(self, event: int, start: int, end: int) -> None:
        """Take one event in, or refuse it because it comes too late.

        An open event is sorted to the end of its start, so it says nothing about the ends to come.
        """
        if self.order == "watermark":
            if start < self.watermark:
                raise self._late(start, "event")
        elif start < self.last_start:
            raise self._early(start)
        elif start == self.last_start and end < self.last_end and self.order == "start_end":
            raise self._unsorted(start, end, self.last_end)
        if end != FOREVER:
            self.last_end = end
        elif start != self.last_start:
            self.last_end = MIN_TICK
        self.last_start = start
        self.starts.append(start)
        self.ends.append(end)
        self.ids.append(event)

    def wait(self, starts: Ticks, ends: Ticks, ids: Ticks) -> None:
        """Keep many accepted events until they are settled."""
        self.starts += starts.tolist()
        self.ends += ends.tolist()
        self.ids += ids.tolist()

    def accept_many(self, starts: Ticks, ends: Ticks) -> None:
        """Check many events at once; the caller takes them."""
        if self.order == "watermark":
            early = np.flatnonzero(starts < self.watermark)
            if early.size:
                raise self._late(int(starts[early[0]]), f"row {early[0]}")
            return
        before = np.concatenate([[np.int64(self.last_start)], starts[:-1]])
        wrong = np.flatnonzero(starts < before)
        if wrong.size:
            raise self._early(int(starts[wrong[0]]), int(before[wrong[0]]), f"row {wrong[0]}: ")
        if self.order == "start_end":
            ended = np.concatenate([[np.int64(self.last_end)], ends[:-1]])
            wrong = np.flatnonzero((starts == before) & (ends < ended) & (ended < FOREVER))
            if wrong.size:
                row = wrong[0]
                raise self._unsorted(int(starts[row]), int(ends[row]), int(ended[row]), f"row {row}: ")
        if starts.size:
            self.settle_at(starts, ends)

    def settle_at(self, starts: Ticks, ends: Ticks) -> None:
        """Remember the last start of some ordered events, and the last known end that belongs to it."""
        known = ends[(starts == starts[-1]) & (ends < FOREVER)]
        if starts[-1] != self.last_start:
            self.last_end = MIN_TICK
        self.last_start = int(starts[-1])
        self.last_end = int(known[-1]) if known.size else self.last_end

    def advance(self, watermark: int) -> None:
        """Promise that no event will start before the watermark."""
        if self.order != "watermark":
            raise UsageError(
                f"a forest in order {self.order!r} has no watermark; make one with StabForest(order='watermark')"
            )
        if watermark < self.watermark:
            raise InvalidInputError(
                f"the watermark {watermark} lies {self.watermark - watermark} ticks before the present one, "
                f"{self.watermark}; expected it to advance"
            )
        self.watermark = watermark

    def take(self) -> tuple[Ticks, Ticks, Ticks]:
        """Hand over the settled events: starts, ends, ids."""
        waiting = np.array(self.starts, np.int64), np.array(self.ends, np.int64), np.array(self.ids, np.int64)
        settled = np.ones(len(self), np.bool_)
        if self.order == "watermark":
            settled = waiting[0] < self.watermark
        self.starts, self.ends, self.ids = (column[~settled].tolist() for column in waiting)
        starts, ends, ids = (column[settled] for column in waiting)
        return starts, ends, ids

    def _late(self, start: int, what: str) -> InvalidInputError:
        return InvalidInputError(
            f"late arrival: the {what} starts at {start}, {self.watermark - start} ticks before the watermark "
            f"{self.watermark}; expected no start before it. Advance the watermark later, or keep late events apart"
        )

    def _early(self, start: int, last: int | None = None, where: str = "") -> InvalidInputError:
        last = self.last_start if last is None else last
        return InvalidInputError(
            f"{where}start {start} is out of order, {last - start} ticks before the last start {last}; expected starts "
            f"that never decrease. Use StabForest(order='watermark') for events that arrive out of order, {_MEND}"
        )

    def _unsorted(self, start: int, end: int, last: int, where: str = "") -> InvalidInputError:
        return InvalidInputError(
            f"{where}the event [{start}, {end}) is out of order: it ends {last - end} ticks before the last event of "
            f"the same start, [{start}, {last}); expected ascending (start, end). Use order='start' to accept any end, "
            f"{_MEND}"
        )
