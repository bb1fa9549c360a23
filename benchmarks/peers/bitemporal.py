"""The thesis's peers: bitemporal timeline index, two search trees, an R-tree, and a table scan (its appendix A).

Each answers the same questions: the rows of an initial window, and what enters and leaves at a slide.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import rtree
from sortedcontainers import SortedDict

from benchmarks.data.orders import Orders
from timeloom.bitemporal.columns import TimeColumns
from timeloom.kernels.jit import compiled
from timeloom.model.ticks import FOREVER

Delta = tuple[np.ndarray, np.ndarray]


class AppTimeline(NamedTuple):
    """The rows visible at one system time, as signed events in order of application time."""

    times: np.ndarray
    offsets: np.ndarray
    events: np.ndarray


class TimelineIndex:
    """BiTL: a system timeline, appended to, and an application timeline that is made when it is needed."""

    def __init__(self, orders: Orders) -> None:
        self.orders = orders
        self.table = TimeColumns()
        self.events = np.empty(0, np.int32)
        self.times = np.empty(0, np.int64)
        self.offsets = np.empty(0, np.int64)
        self.size = self.versions = 0
        self.sys = self.app = 0
        self.timeline: AppTimeline | None = None

    def append(self, rows: np.ndarray, starts: np.ndarray, ended: np.ndarray, at: np.ndarray) -> None:
        """Take a batch of validations and invalidations, each in order of system time."""
        added = rows.size + ended.size
        if self.size + added > self.events.size:
            self.events = np.resize(self.events, max(self.size + added, self.events.size * 5 // 4))
            self.times = np.resize(self.times, self.events.size)
            self.offsets = np.resize(self.offsets, self.events.size)
        self.size, self.versions = append_events(
            rows, starts, ended, at, self.events, self.times, self.offsets, self.size, self.versions
        )

    def initial(self, sys: int, app: int) -> np.ndarray:
        """Scan the system timeline, make the application timeline, and scan that."""
        visible = visible_rows(self.events, self._upto(sys), len(self.orders))
        self.timeline = self._app_timeline(np.flatnonzero(visible))
        self.sys, self.app = sys, app
        return scan(self.timeline.times, self.timeline.offsets, self.timeline.events, app, len(self.orders))

    def slide_sys(self) -> Delta:
        """Make the application timeline of the new events, merge it, and read what changed up to the window's end."""
        assert self.timeline is not None
        begin, end = self._upto(self.sys), self._upto(self.sys + 1)
        self.sys += 1
        new = self.events[begin:end]
        times, signed = self._signed(new[new & 1 == 0] >> 1, new[new & 1 == 1] >> 1)
        merged = merge(*self.timeline, times, signed)
        self.timeline = AppTimeline(*merged)
        return net(signed[: np.searchsorted(times, self.app, side="right")])

    def slide_app(self) -> Delta:
        """Read the events at the next application time."""
        assert self.timeline is not None
        self.app += 1
        at = np.searchsorted(self.timeline.times, self.app)
        if at == self.timeline.times.size or self.timeline.times[at] != self.app:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        events = self.timeline.events[self.timeline.offsets[at] : self.timeline.offsets[at + 1]]
        return events[events > 0] - 1, -events[events < 0] - 1

    def _upto(self, sys: int) -> int:
        at = np.searchsorted(self.times[: self.versions], sys, side="right")
        return int(self.offsets[at - 1]) if at else 0

    def _signed(self, begun: np.ndarray, ended: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Events at application times, sorted; a row r counts as r + 1, so that it has a sign."""
        starts, ends = self.orders.app_start, self.orders.app_end
        parts = [(starts, begun, 1), (ends, begun, -1), (starts, ended, -1), (ends, ended, 1)]
        times = np.concatenate([column[rows] for column, rows, _ in parts])
        signed = np.concatenate([sign * (rows.astype(np.int32) + 1) for _, rows, sign in parts])
        known = times != FOREVER
        order = np.argsort(times[known], kind="stable")
        return times[known][order], signed[known][order]

    def _app_timeline(self, rows: np.ndarray) -> AppTimeline:
        times, signed = self._signed(rows, rows[:0])
        first = (
            np.flatnonzero(np.concatenate([[True], times[1:] != times[:-1]])) if times.size else np.empty(0, np.int64)
        )
        return AppTimeline(times[first], np.append(first, times.size), signed)

    @property
    def nbytes(self) -> int:
        """Both timelines, without room to grow."""
        made = sum(array.nbytes for array in self.timeline) if self.timeline else 0
        return self.size * 4 + self.versions * 16 + made


@compiled
def append_events(rows, starts, ended, at, events, times, offsets, size, versions):
    i = j = 0
    while i < rows.size or j < ended.size:
        ends = j < ended.size and (i == rows.size or at[j] <= starts[i])
        time = at[j] if ends else starts[i]
        if versions == 0 or times[versions - 1] != time:
            times[versions] = time
            versions += 1
        if ends:
            events[size] = 2 * ended[j] + 1
            j += 1
        else:
            events[size] = 2 * rows[i]
            i += 1
        size += 1
        offsets[versions - 1] = size
    return size, versions


@compiled
def visible_rows(events, upto, rows):
    visible = np.zeros(rows, np.bool_)
    for i in range(upto):
        visible[events[i] >> 1] = events[i] & 1 == 0
    return visible


def scan(times, offsets, events, app, rows):
    return np.flatnonzero(inside_at(times, offsets, events, app, rows)) - 1


@compiled
def inside_at(times, offsets, events, upto, rows):
    """Which rows, each at its number and one, are visible after all events up to a time."""
    inside = np.zeros(rows + 1, np.bool_)
    for k in range(times.size):
        if times[k] > upto:
            break
        for i in range(offsets[k], offsets[k + 1]):
            inside[abs(events[i])] = events[i] > 0
    return inside


@compiled
def merge(times, offsets, events, new_times, new_events):
    """Two timelines as one; opposite events of a row at one time cancel."""
    all_times = np.empty(times.size + new_times.size, np.int64)
    all_offsets = np.zeros(times.size + new_times.size + 1, np.int64)
    all_events = np.empty(events.size + new_events.size, np.int32)
    k = j = size = count = 0
    while k < times.size or j < new_times.size:
        if k < times.size and (j == new_times.size or times[k] <= new_times[j]):
            time = times[k]
        else:
            time = new_times[j]
        began = size
        if k < times.size and times[k] == time:
            for i in range(offsets[k], offsets[k + 1]):
                all_events[size] = events[i]
                size += 1
            k += 1
        while j < new_times.size and new_times[j] == time:
            cancelled = False
            for i in range(began, size):
                if all_events[i] == -new_events[j]:
                    all_events[i] = all_events[size - 1]
                    size -= 1
                    cancelled = True
                    break
            if not cancelled:
                all_events[size] = new_events[j]
                size += 1
            j += 1
        if size > began:
            all_times[count] = time
            count += 1
            all_offsets[count] = size
    return all_times[:count], all_offsets[: count + 1], all_events[:size]


def net(signed: np.ndarray) -> Delta:
    """What enters and what leaves, opposite events cancelled."""
    rows, counts = np.unique(np.abs(signed), return_inverse=True)
    total = np.zeros(rows.size, np.int64)
    np.add.at(total, counts, np.sign(signed))
    return rows[total > 0].astype(np.int64) - 1, rows[total < 0].astype(np.int64) - 1


class Trees:
    """Two search trees of time to signed rows, one for each time. They keep the rows visible on either axis as sets."""

    def __init__(self, orders: Orders) -> None:
        self.sys_tree, self.app_tree = SortedDict(), SortedDict()
        self.append(orders, range(len(orders)), np.flatnonzero(orders.sys_end != FOREVER).tolist())
        self.sys = self.app = 0
        self.visible: tuple[set[int], set[int]] = (set(), set())

    def append(self, orders: Orders, rows: range, ended: list[int]) -> None:
        """Take rows that begin, and rows that end; an end that is not known yet has no event."""
        part = slice(rows.start, rows.stop)
        columns = orders.sys_start[part].tolist(), orders.app_start[part].tolist(), orders.app_end[part].tolist()
        for row, begun, start, end in zip(rows, *columns, strict=True):
            self.sys_tree.setdefault(begun, []).append(row + 1)
            self.app_tree.setdefault(start, []).append(row + 1)
            if end != FOREVER:
                self.app_tree.setdefault(end, []).append(-row - 1)
        for row in ended:
            self.sys_tree.setdefault(int(orders.sys_end[row]), []).append(-row - 1)

    def initial(self, sys: int, app: int) -> np.ndarray:
        """Scan both trees and intersect."""
        self.sys, self.app = sys, app
        self.visible = (self._scan(self.sys_tree, sys), self._scan(self.app_tree, app))
        return np.array(sorted(self.visible[0] & self.visible[1]), np.int64) - 1

    def slide_sys(self) -> Delta:
        self.sys += 1
        return self._slide(self.sys_tree, self.sys, *self.visible)

    def slide_app(self) -> Delta:
        self.app += 1
        return self._slide(self.app_tree, self.app, self.visible[1], self.visible[0])

    def _slide(self, tree: SortedDict, time: int, moving: set[int], fixed: set[int]) -> Delta:
        entered, left = set(), set()
        for event in tree.get(time, ()):
            (entered if event > 0 else left).add(abs(event))
        entered, left = entered - left - moving, (left - entered) & moving
        moving |= entered
        moving -= left
        return tuple(np.array(sorted(rows & fixed), np.int64) - 1 for rows in (entered, left))  # type: ignore[return-value]

    def _scan(self, tree: SortedDict, upto: int) -> set[int]:
        found: set[int] = set()
        for events in (tree[time] for time in tree.irange(maximum=upto)):
            for event in events:
                (found.add if event > 0 else found.discard)(abs(event))
        return found


class SearchedTrees(Trees):
    """The thesis's: what a slide finds in one tree is filtered by the other, whose leaves are scanned to the window."""

    def __init__(self, orders: Orders) -> None:
        super().__init__(orders)
        self.rows = len(orders)
        self.leaves = {True: leaves(self.sys_tree), False: leaves(self.app_tree)}

    def slide_sys(self) -> Delta:
        self.sys += 1
        return self._filtered(self.sys_tree.get(self.sys, ()), self.leaves[False], self.app)

    def slide_app(self) -> Delta:
        self.app += 1
        return self._filtered(self.app_tree.get(self.app, ()), self.leaves[True], self.sys)

    def _filtered(self, events: Sequence[int], others: AppTimeline, upto: int) -> Delta:
        inside = inside_at(*others, upto, self.rows)
        entered, left = net(np.array(events, np.int64))
        return entered[inside[entered + 1]], left[inside[left + 1]]


def leaves(tree: SortedDict) -> AppTimeline:
    """What the leaves of a tree hold, one after the other."""
    events = [np.array(tree[time], np.int32) for time in tree]
    offsets = np.cumsum([0, *map(len, events)])
    return AppTimeline(np.array(list(tree), np.int64), offsets, np.concatenate([*events, np.empty(0, np.int32)]))


class RTree:
    """Rectangles of both periods; a window's rows are those that hold its corner. ``whole`` says how far times "
    "reach."""

    def __init__(self, orders: Orders, whole: Orders | None = None) -> None:
        self.columns = whole or orders
        self.far = float(self.columns.latest + 10), float(4 * self.columns.instants + 1000)
        options = rtree.index.Property(dimension=2, leaf_capacity=200)
        rows = zip(*(column.tolist() for column in self._times(orders)), strict=True)
        filled = ((row, self._rectangle(*times), None) for row, times in enumerate(rows))
        self.tree = rtree.index.Index(*((filled,) if len(orders) else ()), properties=options)
        self.sys = self.app = 0

    def append(self, orders: Orders, rows: range, ended: list[int]) -> None:
        """Insert rectangles of rows that begin, still open; those of rows that end are put in anew."""
        for row in rows:
            begun, _, start, end = (int(column[row]) for column in self._times(orders))
            self.tree.insert(row, self._rectangle(begun, FOREVER, start, end))
        for row in ended:
            begun, closed, start, end = (int(column[row]) for column in self._times(orders))
            self.tree.delete(row, self._rectangle(begun, FOREVER, start, end))
            self.tree.insert(row, self._rectangle(begun, closed, start, end))

    def _times(self, orders: Orders) -> tuple[np.ndarray, ...]:
        return orders.sys_start, orders.sys_end, orders.app_start, orders.app_end

    def _rectangle(self, begun: int, ended: int, start: int, end: int) -> tuple[float, float, float, float]:
        return begun, start, min(ended - 0.5, self.far[0]), min(end - 0.5, self.far[1])

    def initial(self, sys: int, app: int) -> np.ndarray:
        self.sys, self.app = sys, app
        return self._corner(sys, app)

    def slide_sys(self) -> Delta:
        self.sys += 1
        orders = self.columns
        low, high = np.searchsorted(orders.sys_start, [self.sys, self.sys + 1])
        entered = low + np.flatnonzero((orders.app_start[low:high] <= self.app) & (orders.app_end[low:high] > self.app))
        before = self._corner(self.sys - 1, self.app)
        return entered, before[orders.sys_end[before] == self.sys]

    def slide_app(self) -> Delta:
        self.app += 1
        orders = self.columns
        now, before = self._corner(self.sys, self.app), self._corner(self.sys, self.app - 1)
        return now[orders.app_start[now] == self.app], before[orders.app_end[before] == self.app]

    def _corner(self, sys: int, app: int) -> np.ndarray:
        return np.sort(np.fromiter(self.tree.intersection((sys, app, sys, app)), np.int64))


class Scan:
    """No index at all."""

    def __init__(self, orders: Orders) -> None:
        self.orders = orders
        self.sys = self.app = 0

    def initial(self, sys: int, app: int) -> np.ndarray:
        self.sys, self.app = sys, app
        return np.flatnonzero(self._inside(sys, app))

    def slide_sys(self) -> Delta:
        """Rows are in the order of transactions: those that begin are looked up, those that end are scanned for."""
        self.sys += 1
        low, high = np.searchsorted(self.orders.sys_start, [self.sys, self.sys + 1])
        return self._valid(np.arange(low, high)), self._valid(np.flatnonzero(self.orders.sys_end == self.sys))

    def _valid(self, rows: np.ndarray) -> np.ndarray:
        """Those of some rows that hold at the application time, and lasted at all."""
        orders = self.orders
        held = (orders.app_start[rows] <= self.app) & (self.app < orders.app_end[rows])
        return rows[held & (orders.sys_start[rows] < orders.sys_end[rows])]

    def slide_app(self) -> Delta:
        """No order helps: both windows are scanned."""
        before, after = self._inside(self.sys, self.app), self._inside(self.sys, self.app + 1)
        self.app += 1
        return np.flatnonzero(after & ~before), np.flatnonzero(before & ~after)

    def _inside(self, sys: int, app: int) -> np.ndarray:
        orders = self.orders
        return (orders.sys_start <= sys) & (sys < orders.sys_end) & (orders.app_start <= app) & (app < orders.app_end)
