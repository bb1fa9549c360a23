"""Events on their way into a forest: in which order they may arrive, and which are not settled yet."""

from array import array
from heapq import heapify, heappop, heappush
from typing import Literal, get_args

import numpy as np

from timeloom.engines.tables.ticks import TimeType
from timeloom.errors import InvalidInputError, UsageError, did_you_mean, shown
from timeloom.kernels.order import Ticks
from timeloom.model.ticks import FOREVER, MIN_TICK
from timeloom.stab_forest.instants import written
from timeloom.stab_forest.intake import Intake

Order = Literal["start_end", "start", "watermark"]

_MEND = "sort the events first, or build a new forest from all of them with StabForest.build"


class Arrivals:
    """The order that a forest asks for, its axis, and the events accepted but not yet indexed.

    ``due`` says that some of them can be indexed. In order ``"watermark"`` the others wait, the earliest start on top
    of a heap; in the other orders all are due, and ``starts`` and ``ends`` are theirs.
    """

    def __init__(self, order: Order, axis: TimeType | None = None) -> None:
        if order not in get_args(Order):
            raise UsageError(f"order={shown(order)} is unknown. {did_you_mean(order, get_args(Order))}")
        self.order = order
        self.axis = axis
        self.due = False
        self.last_start = self.last_end = MIN_TICK
        self.watermark = MIN_TICK
        self.starts, self.ends = array("q"), array("q")
        self._first = 0
        self._heap: list[tuple[int, int]] = []
        self._periods: dict[int, tuple[int, int]] = {}

    def __len__(self) -> int:
        return len(self.starts) + len(self._heap)

    def period(self, event: int) -> tuple[int, int] | None:
        """The start and the end of an event that is here, or None."""
        if 0 <= event - self._first < len(self.starts):
            return self.starts[event - self._first], self.ends[event - self._first]
        return self._periods.get(event)

    def finish(self, event: int, end: int) -> None:
        """Give an event that is here another end."""
        if event in self._periods:
            self._periods[event] = self._periods[event][0], end
        else:
            self.ends[event - self._first] = end

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
        if self.order == "watermark":
            heappush(self._heap, (start, event))
            self._periods[event] = start, end
            return
        if not self.starts:
            self._first = event
        self.starts.append(start)
        self.ends.append(end)

    def collect(self, intake: Intake) -> None:
        """Take in the events of an intake, which is closed."""
        if intake.starts:
            self.due = True
            self.last_start, self.last_end = intake.last_start, intake.last_end
            self._first = self._first if self.starts else intake.first
            self.starts.fromlist(intake.starts)
            self.ends.fromlist(intake.ends)

    def wait(self, starts: Ticks, ends: Ticks, ids: Ticks) -> None:
        """Keep many accepted events until the watermark passes them."""
        events = list(zip(starts.tolist(), ids.tolist(), strict=True))
        self._periods.update(zip(ids.tolist(), zip(starts.tolist(), ends.tolist(), strict=True), strict=True))
        if len(events) * len(self._heap).bit_length() < len(self._heap):
            for event in events:
                heappush(self._heap, event)
        else:
            self._heap += events
            heapify(self._heap)

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
        self.due = bool(self._heap) and self._heap[0][0] < watermark

    def take(self) -> tuple[Ticks, Ticks, Ticks]:
        """The events that can be indexed now: starts, ends, ids. They are no longer here."""
        self.due = False
        if self.order != "watermark":
            starts, ends = np.array(self.starts, np.int64), np.array(self.ends, np.int64)
            self.starts, self.ends = array("q"), array("q")
            return starts, ends, np.arange(self._first, self._first + starts.size)
        ids = []
        while self._heap and self._heap[0][0] < self.watermark:
            ids.append(heappop(self._heap)[1])
        return self._columns(ids, [self._periods.pop(event) for event in ids])

    def forget(self, before: int) -> int:
        """Drop the events that wait and have ended by an instant; answers how many."""
        ended = {event for event, (_, end) in self._periods.items() if end <= before}
        if ended:
            self._periods = {event: period for event, period in self._periods.items() if event not in ended}
            self._heap = [entry for entry in self._heap if entry[1] not in ended]
            heapify(self._heap)
        return len(ended)

    def waiting(self) -> tuple[Ticks, Ticks, Ticks]:
        """The events that wait for the watermark, by ascending id: starts, ends, ids."""
        ids = sorted(self._periods)
        return self._columns(ids, [self._periods[event] for event in ids])

    def _columns(self, ids: list[int], periods: list[tuple[int, int]]) -> tuple[Ticks, Ticks, Ticks]:
        starts, ends = np.array(periods, np.int64).reshape(-1, 2).T
        return np.ascontiguousarray(starts), np.ascontiguousarray(ends), np.array(ids, np.int64)

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
