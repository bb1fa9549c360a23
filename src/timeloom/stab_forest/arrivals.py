"""Events on their way into a forest: in which order they may arrive, and which are not settled yet."""

from bisect import bisect_left
from typing import Literal, get_args

import numpy as np

from timeloom.engines.tables.ticks import TimeType
from timeloom.errors import InvalidInputError, UsageError, did_you_mean, shown
from timeloom.kernels.order import Ticks
from timeloom.model.ticks import FOREVER, MIN_TICK
from timeloom.stab_forest.instants import written

Order = Literal["start_end", "start", "watermark"]

_MEND = "sort the events first, or build a new forest from all of them with StabForest.build"


class Arrivals:
    """The order that a forest asks for, its axis, and the events accepted but not yet indexed, by ascending id.

    ``due`` says that some of them can be indexed; in order ``"watermark"`` the others wait.
    """

    def __init__(self, order: Order, axis: TimeType | None = None) -> None:
        if order not in get_args(Order):
            raise UsageError(f"order={shown(order)} is unknown. {did_you_mean(order, get_args(Order))}")
        self.order = order
        self.axis = axis
        self.due = False
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
        else:
            self.due = True
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
                f"the watermark {self._show(watermark)} lies {self.watermark - watermark} ticks before the present "
                f"one, {self._show(self.watermark)}; expected it to advance"
            )
        self.watermark = watermark
        self.due = bool(self.ids)

    def settled(self) -> tuple[Ticks, Ticks, Ticks]:
        """The events that can be indexed: starts, ends, ids. They stay here until they are dropped."""
        waiting = np.array(self.starts, np.int64), np.array(self.ends, np.int64), np.array(self.ids, np.int64)
        if self.order != "watermark":
            return waiting
        starts, ends, ids = (column[waiting[0] < self.watermark] for column in waiting)
        return starts, ends, ids

    def drop_settled(self) -> None:
        """Forget the events that have been indexed."""
        kept = []
        if self.order == "watermark":
            kept = [row for row, start in enumerate(self.starts) if start >= self.watermark]
        self.starts, self.ends, self.ids = (
            [column[row] for row in kept] for column in (self.starts, self.ends, self.ids)
        )
        self.due = False

    def _show(self, tick: int) -> str:
        return str(written(tick, self.axis))

    def _late(self, start: int, what: str) -> InvalidInputError:
        return InvalidInputError(
            f"late arrival: the {what} starts at {self._show(start)}, {self.watermark - start} ticks before the "
            + f"watermark {self._show(self.watermark)}; expected no start before it. Advance the watermark later, "
            + "or keep late events apart"
        )

    def _early(self, start: int, last: int | None = None, where: str = "") -> InvalidInputError:
        last = self.last_start if last is None else last
        return InvalidInputError(
            f"{where}start {self._show(start)} is out of order, {last - start} ticks before the last start "
            + f"{self._show(last)}; expected starts that never decrease. Use StabForest(order='watermark') for events "
            + f"that arrive out of order, {_MEND}"
        )

    def _unsorted(self, start: int, end: int, last: int, where: str = "") -> InvalidInputError:
        return InvalidInputError(
            f"{where}the event [{self._show(start)}, {self._show(end)}) is out of order: it ends {last - end} ticks "
            + f"before the last event of the same start, [{self._show(start)}, {self._show(last)}); expected ascending "
            + f"(start, end). Use order='start' to accept any end, {_MEND}"
        )
