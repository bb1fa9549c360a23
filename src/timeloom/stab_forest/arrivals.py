"""Events on their way into a forest: in which order they may arrive, and which are not settled yet."""

from typing import Literal, get_args

import numpy as np

from timeloom.errors import InvalidInputError, UsageError, did_you_mean
from timeloom.kernels.order import Ticks
from timeloom.model.ticks import FOREVER, MIN_TICK

Order = Literal["start_end", "start", "watermark"]

_MEND = "sort the events first, or build a new forest from all of them with StabForest.build"


class Arrivals:
    """The order that a forest asks for, and the events that were accepted but not yet indexed, by id."""

    def __init__(self, order: Order) -> None:
        if order not in get_args(Order):
            raise UsageError(f"order={order!r} is unknown. {did_you_mean(str(order), get_args(Order))}")
        self.order = order
        self.pending: dict[int, tuple[int, int]] = {}
        self.last_start = self.last_end = MIN_TICK
        self.watermark = MIN_TICK

    def accept(self, event: int, start: int, end: int) -> None:
        """Take one event in, or refuse it because it comes too late."""
        if self.order == "watermark":
            if start < self.watermark:
                raise self._late(start, "event")
        elif start < self.last_start:
            raise self._early(start)
        elif start == self.last_start and end < self.last_end and self.order == "start_end":
            raise self._unsorted(start, end, self.last_end)
        self._remember(start, end)
        self.pending[event] = (start, end)

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
            closed = ends[(starts == starts[-1]) & (ends < FOREVER)]
            self._remember(int(starts[-1]), int(closed[-1]) if closed.size else FOREVER)

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
        settled = self.pending
        if self.order == "watermark":
            settled = {event: times for event, times in self.pending.items() if times[0] < self.watermark}
            self.pending = {event: times for event, times in self.pending.items() if event not in settled}
        else:
            self.pending = {}
        times = np.array(list(settled.values()), np.int64).reshape(-1, 2)
        return times[:, 0].copy(), times[:, 1].copy(), np.array(list(settled), np.int64)

    def _remember(self, start: int, end: int) -> None:
        """An open event is sorted to the end of its start, so it says nothing about the ends to come."""
        if start != self.last_start:
            self.last_start, self.last_end = start, MIN_TICK
        if end != FOREVER:
            self.last_end = end

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
