"""The public class: events go in, in the order of time; stabs, multi-stabs and joins come out."""

import os
from typing import Any, Literal, overload

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from timeloom.errors import InvalidInputError, UsageError, did_you_mean
from timeloom.kernels.order import Ticks
from timeloom.kernels.skip_join import skip_join
from timeloom.kernels.stab_forest import NODES, dummies, in_use
from timeloom.kernels.stab_forest_multi import THRESHOLD, multi_stab, new_marks, reach_of, stab_many
from timeloom.kernels.stab_forest_stab import count_at, count_many, stab
from timeloom.model.period import PeriodLike
from timeloom.model.ticks import FOREVER, MAX_TICK, MIN_TICK
from timeloom.stab_forest.arrivals import Arrivals, Order
from timeloom.stab_forest.handle import Handle
from timeloom.stab_forest.index import EventIndex
from timeloom.stab_forest.instants import Window, many_events, many_ticks, one_end, one_tick, read_window, table_events
from timeloom.stab_forest.persistence import load_forest, save_forest

Variant = Literal["auto", "events", "index"]

VARIANTS = ("auto", "events", "index")
BUFFER = 4096
NOTHING = np.zeros(0, np.int64)


class StabForest:
    """A dynamic index of events, for events that arrive in the order of time.

    An event is a half-open period ``[start, end)`` of int64 ticks; its id is its place in the order of arrival, from
    0. Appending costs amortised logarithmic time, a stab logarithmic time and its result, and the space is linear.

    Parameters
    ----------
    order
        ``"start_end"``: events arrive in ascending (start, end). ``"start"``: in ascending start, with ends in
        any order. ``"watermark"``: in any order, as long as none starts before the watermark; queries see only
        what started before the watermark (see `advance`).

    Notes
    -----
    Ids are returned in the order in which the structure meets them (see `docs/stab_forest.md`); sort them where the
    order matters.

    Examples
    --------
    >>> forest = StabForest.build([0, 2, 4], [3, 4, 9])
    >>> forest.append(5, 6)
    3
    >>> sorted(forest.stab(2).tolist()), sorted(forest.stab(4).tolist())
    ([0, 1], [2])
    >>> visit = forest.begin(7)
    >>> sorted(forest.stab(100).tolist())
    [4]
    >>> forest.finish(visit, 8)
    >>> forest.stab(100).size, len(forest)
    (0, 5)
    """

    def __init__(self, *, order: Order = "start_end") -> None:
        self._arrivals = Arrivals(order)
        self._index = EventIndex()
        self._next = 0

    @classmethod
    def build(
        cls,
        starts: Any,
        ends: ArrayLike | None = None,
        *,
        period: PeriodLike = ("start", "end"),
        order: Order = "start_end",
    ) -> "StabForest":
        """Index many events at once, in any order: arrays of starts and ends, or a table with a period.

        Ids are positions in the input.

        >>> StabForest.build([7, 1], [9, 8]).stab(1).tolist()
        [1]
        """
        forest = cls(order=order)
        first, last = table_events(starts, period) if ends is None else many_events(starts, ends)
        forest._index = EventIndex.of(first, last)
        forest._next = first.size
        if first.size:
            forest._arrivals.settle_at(forest._index.starts(), forest._index.ends())
            if order == "watermark":
                forest._arrivals.watermark = forest._arrivals.last_start + 1
        return forest

    def __len__(self) -> int:
        return self._next

    def __repr__(self) -> str:
        return f"StabForest({len(self)} events, order={self._arrivals.order!r})"

    @property
    def nbytes(self) -> int:
        """The bytes in use: event list, nodes, lists and ids."""
        index = self._settled()
        held = sum(part.nbytes for part in in_use(index.forest).values())
        return held + (0 if index.ids is None else 4 * len(index))

    def describe(self) -> dict[str, Any]:
        """What the forest holds and how it stands, by name.

        >>> StabForest.build([0, 2, 2], [3, 4, 9]).describe()["heights"]
        [1]
        """
        index = self._settled()
        starts, ends = index.starts(), index.ends()
        known = ends[ends < FOREVER]
        nodes = int(index.forest.counts[NODES])
        return {
            "events": len(self),
            "not settled": len(self._arrivals),
            "open": int(ends.size - known.size),
            "order": self._arrivals.order,
            "first start": int(starts[0]) if starts.size else None,
            "last start": int(starts[-1]) if starts.size else None,
            "last end": int(known.max()) if known.size else None,
            "distinct starts": nodes + bool(starts.size),
            "heights": [(dummy & -dummy).bit_length() for dummy in dummies(nodes)],
            "bytes": self.nbytes,
        }

    def events(self) -> tuple[Ticks, Ticks]:
        """The starts and ends of all settled events, by id; events not settled yet are left out.

        >>> [part.tolist() for part in StabForest.build([7, 1], [9, 8]).events()]
        [[7, 1], [9, 8]]
        """
        index = self._settled()
        starts, ends = index.starts().copy(), index.ends().copy()
        if index.ids is None:
            return starts, ends
        by_id = np.argsort(index.ids[: len(index)], kind="stable")
        return starts[by_id], ends[by_id]

    def table(self) -> pa.Table:
        """The settled events as a table of ``event``, ``start`` and ``end``; open ends are null.

        A forest exports this table by itself, so every verb takes a forest where it takes a table.

        >>> StabForest.build([7, 1], [9, 8]).table().to_pylist()[1]
        {'event': 1, 'start': 1, 'end': 8}
        """
        starts, ends = self.events()
        return pa.table({"event": np.arange(starts.size), "start": starts, "end": pa.array(ends, mask=ends == FOREVER)})

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table().__arrow_c_stream__(requested_schema)

    def append(self, start: int, end: int | None = None) -> int:
        """Add an event that starts no earlier than the last one; None as the end leaves it open.

        Returns
        -------
        int
            The event's id.
        """
        if not (type(start) is type(end) is int and MIN_TICK <= start < end <= MAX_TICK):
            start = one_tick(start, "start")
            end = one_end(end, start)
        event = self._next
        self._arrivals.accept(event, start, end)
        self._next += 1
        if event % BUFFER == 0:
            self._settled()
        return event

    @overload
    def extend(self, starts: ArrayLike, ends: ArrayLike) -> None: ...
    @overload
    def extend(self, starts: Any, *, period: PeriodLike = ...) -> None: ...

    def extend(self, starts: Any, ends: ArrayLike | None = None, *, period: PeriodLike = ("start", "end")) -> None:
        """Add many events: arrays of starts and ends, or a table with a period.

        Either all of them are added or, if one is out of order, none.
        """
        first, last = table_events(starts, period) if ends is None else many_events(starts, ends)
        self._arrivals.accept_many(first, last)
        ids = np.arange(self._next, self._next + first.size)
        self._next += first.size
        if self._arrivals.order == "watermark":
            self._arrivals.wait(first, last, ids)
        else:
            self._settled().add(first, last, ids)

    def begin(self, start: int) -> Handle:
        """Add an event whose end is not known yet: it is active from its start on until it is finished."""
        return self._issue(self.append(start), int(start))

    def handle(self, event: int) -> Handle:
        """A handle of an open event, by id: for events that were appended open, or after loading."""
        at = self._arrivals.find(event)
        if at >= 0:
            start, end = self._arrivals.starts[at], self._arrivals.ends[at]
        elif 0 <= event < self._next:
            position = self._settled().locate(event)
            start, end = int(self._index.starts()[position]), int(self._index.ends()[position])
        else:
            raise InvalidInputError(f"there is no event {event}; expected an id from 0 to {self._next - 1}")
        if end != FOREVER:
            raise InvalidInputError(f"event {event} ended at {end} already; only open events have handles")
        return self._issue(event, start)

    def finish(self, handle: Handle, end: int) -> None:
        """Set the end of an open event.

        Ends that arrive in the order of time cost logarithmic time. An end before the latest start is accepted, too,
        but may make the next query rebuild the index.
        """
        if not isinstance(handle, Handle):
            raise UsageError(f"{handle!r} is no handle; expected what begin() returned")
        if handle.owner is not self:
            raise UsageError(f"{handle!r} belongs to another forest; finish it with the forest that began it")
        if handle.id not in self._index.places:
            raise InvalidInputError(f"event {handle.id} is finished already; an event ends only once")
        last = one_end(end, handle.start)
        if last == FOREVER:
            raise InvalidInputError(f"end={end!r} leaves event {handle.id} open; expected an end before {FOREVER}")
        if self._arrivals.order != "watermark":
            self._settled()
        at = self._arrivals.find(handle.id)
        if at >= 0:
            self._arrivals.ends[at] = last
            del self._index.places[handle.id]
        else:
            self._index.finish(handle.id, last)

    def advance(self, watermark: int) -> None:
        """Promise, in order ``"watermark"``, that no more events start before this instant: they are settled now."""
        self._arrivals.advance(one_tick(watermark, "watermark"))
        self._settled()

    def stab(self, t: int, *, window: Window | None = None) -> Ticks:
        """The events active at an instant: those with ``start <= t < end``. An empty forest has none."""
        begin, end = read_window(window)
        instant = one_tick(t, "t")
        index = self._settled()
        return index.names(stab(index.forest, instant)) if begin <= instant < end else NOTHING

    def count(self, t: int) -> int:
        """How many events are active at an instant, without listing them."""
        return int(count_at(self._settled().forest, one_tick(t, "t")))

    def count_many(self, ts: ArrayLike) -> Ticks:
        """How many events are active at each of many instants, without listing them."""
        return count_many(self._settled().forest, many_ticks(ts, "ts"))

    def stab_many(self, ts: ArrayLike, *, c: int = THRESHOLD) -> tuple[Ticks, Ticks]:
        """The events active at each of many instants, which need no order.

        Returns
        -------
        offsets, ids
            The events active at ``ts[j]`` are ``ids[offsets[j]:offsets[j + 1]]``.

        Examples
        --------
        >>> offsets, ids = StabForest.build([0, 2], [3, 4]).stab_many([3, 0, 9])
        >>> offsets.tolist(), ids.tolist()
        ([0, 1, 2, 2], [1, 0])
        """
        index = self._settled()
        offsets, positions = stab_many(index.forest, many_ticks(ts, "ts"), _threshold(c))
        return offsets, index.names(positions)

    def multi_stab(
        self, ts: ArrayLike, *, c: int = THRESHOLD, variant: Variant = "auto", window: Window | None = None
    ) -> Ticks:
        """The events active at any of many instants, each event once.

        Parameters
        ----------
        ts
            Instants in any order; repeats add nothing.
        c
            The threshold constant: an instant up to ``c`` times the height of the index ahead is reached by reading
            the event list, one farther away through the index.
        variant
            ``"auto"`` chooses by the threshold; ``"events"`` and ``"index"`` always do the one or the other.
        window
            Only instants in ``[begin, end)`` count.

        Examples
        --------
        >>> StabForest.build([0, 2, 4], [3, 4, 9]).multi_stab([5, 1, 2]).tolist()
        [0, 1, 2]
        """
        begin, end = read_window(window)
        instants = np.unique(many_ticks(ts, "ts"))
        instants = instants[(instants >= begin) & (instants < end)]
        index = self._settled()
        found, _ = multi_stab(index.forest, instants, self._reach(c, variant), new_marks())
        return index.names(found)

    def overlapping(self, begin: int, end: int | None = None) -> Ticks:
        """The events active at any instant of a window ``[begin, end)``: one stab, and what starts later inside.

        >>> StabForest.build([0, 2, 4], [3, 4, 9]).overlapping(3, 5).tolist()
        [1, 2]
        """
        first, last = read_window((begin, end))
        index = self._settled()
        later = np.arange(*np.searchsorted(index.starts(), [first + 1, last]))
        return index.names(np.concatenate([stab(index.forest, first), later]))

    def skip_join(
        self,
        other: "StabForest | tuple[ArrayLike, ArrayLike]",
        c: int = THRESHOLD,
        variant: Variant = "auto",
        window: Window | None = None,
    ) -> tuple[Ticks, Ticks]:
        """All pairs of intersecting events of two forests, or of a forest and arrays of starts and ends.

        Stretches of one side that lie in a gap of the other are leapt over by stabs. A forest may be joined with
        itself: each event then also pairs with itself.

        Parameters
        ----------
        other
            A forest, or a pair of arrays in any order, whose rows are the ids.
        c, variant
            As for `multi_stab`: ``"events"`` is the paper's SkipJoin-E, ``"index"`` its SkipJoin-I.
        window
            Only pairs that intersect within ``[begin, end)``.

        Returns
        -------
        left, right
            The ids of the pairs.

        Examples
        --------
        >>> left, right = StabForest.build([0, 5], [3, 9]).skip_join(([2, 3], [6, 4]))
        >>> sorted(zip(left.tolist(), right.tolist()))
        [(0, 0), (1, 0)]
        """
        if not isinstance(other, StabForest):
            if not isinstance(other, tuple) or len(other) != 2:
                raise UsageError(f"{type(other).__name__} cannot be joined; expected a StabForest or (starts, ends)")
            other = StabForest.build(*other)
        begin, end = read_window(window)
        ours, theirs = self._settled(), other._settled()
        reaches = self._reach(c, variant), other._reach(c, variant)
        left, right = skip_join(ours.forest, theirs.forest, *reaches, begin, end)
        return ours.names(left), theirs.names(right)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the forest to one Arrow IPC file, with a format version and a checksum."""
        save_forest(path, self._settled(), self._arrivals, self._next)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "StabForest":
        """Read a forest that `save` wrote; its arrays stay in the file until they are needed.

        Raises
        ------
        StorageError
            If the file is missing, damaged, truncated, or of a later format.
        """
        index, arrivals, events = load_forest(path)
        forest = cls(order=arrivals.order)
        forest._index, forest._arrivals, forest._next = index, arrivals, events
        return forest

    def _settled(self) -> EventIndex:
        """The index with everything in it that queries may see."""
        if self._arrivals:
            self._index.add(*self._arrivals.take())
        self._index.refresh()
        return self._index

    def _issue(self, event: int, start: int) -> Handle:
        """Make a handle and note where its event stands; one that still waits is noted when it settles."""
        self._index.places[event] = -1 if self._arrivals.find(event) >= 0 else self._index.locate(event)
        return Handle(event, start, self)

    def _reach(self, c: int, variant: Variant) -> int:
        if variant not in VARIANTS:
            raise UsageError(f"variant={variant!r} is unknown. {did_you_mean(str(variant), VARIANTS)}")
        if variant == "auto":
            return reach_of(_threshold(c), int(self._index.forest.counts[NODES]))
        return len(self._index) if variant == "events" else 0


def _threshold(c: int) -> int:
    if not isinstance(c, int) or c < 1:
        raise UsageError(f"c={c!r} is no threshold; expected an integer of at least 1")
    return c
