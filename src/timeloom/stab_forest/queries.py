"""What a forest can be asked: stabs, multi-stabs, windows and joins, one by one or many at once."""

from typing import Any

import numpy as np

from timeloom.engines.tables.ticks import TimeType
from timeloom.errors import UsageError
from timeloom.kernels.order import Ticks, distinct
from timeloom.kernels.stab_forest.multi_stab import THRESHOLD
from timeloom.kernels.stab_forest.stab import count_at, stab
from timeloom.model.options import bind, checked, checked_late
from timeloom.model.ticks import MAX_TICK, MIN_TICK
from timeloom.stab_forest.arrivals import Arrivals
from timeloom.stab_forest.batches import counts, stabs, union, window_counts, windows
from timeloom.stab_forest.index import EventIndex
from timeloom.stab_forest.instants import (
    INTEGER,
    Instant,
    Window,
    many_events,
    many_ticks,
    one_tick,
    read_window,
    require_axis,
)
from timeloom.stab_forest.reaching import Variant, pairs, reach, threshold_of
from timeloom.stab_forest.sharing import SharedIndex

NOTHING = np.zeros(0, np.int64)


class Queries:
    """The questions that a `StabForest` answers. Each sees one complete state of it and changes nothing."""

    _shared: SharedIndex

    def stab(self, t: Instant, *, window: Window | None = None) -> Ticks:
        """The events active at an instant: those with ``start <= t < end``. An empty forest has none."""
        shared = self._shared
        axis = shared.arrivals.axis
        instant = t if type(t) is int and axis is INTEGER and MIN_TICK <= t <= MAX_TICK else one_tick(t, axis, "t")
        if window is not None:
            begin, end = read_window(window, axis)
            if not begin <= instant < end:
                return NOTHING.copy()
        index = shared.pin_for(axis)
        try:
            return index.names(stab(index.forest, instant))
        finally:
            shared.release(index)

    def count(self, t: Instant) -> int:
        """How many events are active at an instant, without listing them."""
        axis = self._shared.arrivals.axis
        instant = one_tick(t, axis, "t")
        return self._shared.read(lambda index: int(count_at(index.forest, instant)), axis)

    def count_many(self, ts: Any) -> Ticks:
        """How many events are active at each of many instants, without listing them."""
        axis = self._shared.arrivals.axis
        instants = many_ticks(ts, axis, "ts")
        return self._shared.read(lambda index: counts(index, instants), axis)

    def stab_many(self, ts: Any, *, c: int = THRESHOLD) -> tuple[Ticks, Ticks]:
        """The events active at each of many instants, which need no order.

        Returns
        -------
        offsets, ids
            The events active at ``ts[j]`` are ``ids[offsets[j]:offsets[j + 1]]``.

        Examples
        --------
        >>> import timeloom as tl
        >>> offsets, ids = tl.StabForest.build([0, 2], [3, 4]).stab_many([3, 0, 9])
        >>> offsets.tolist(), ids.tolist()
        ([0, 1, 2, 2], [1, 0])
        """
        axis = self._shared.arrivals.axis
        instants, threshold = many_ticks(ts, axis, "ts"), threshold_of(c)

        return self._shared.read(lambda index: stabs(index, instants, threshold), axis)

    @checked
    def multi_stab(
        self, ts: Any, *, c: int = THRESHOLD, variant: Variant = "auto", window: Window | None = None
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
        >>> import timeloom as tl
        >>> tl.StabForest.build([0, 2, 4], [3, 4, 9]).multi_stab([5, 1, 2]).tolist()
        [0, 1, 2]
        """
        axis = self._shared.arrivals.axis
        begin, end = read_window(window, axis)
        instants = distinct(many_ticks(ts, axis, "ts"))
        instants = instants[(instants >= begin) & (instants < end)]
        return self._shared.read(lambda index: union(index, instants, reach(index, c, variant)), axis)

    def overlapping(self, begin: Instant, end: Instant | None = None) -> Ticks:
        """The events active at any instant of a window ``[begin, end)``: one stab, and what starts later inside.

        >>> import timeloom as tl
        >>> tl.StabForest.build([0, 2, 4], [3, 4, 9]).overlapping(3, 5).tolist()
        [1, 2]
        """
        axis = self._shared.arrivals.axis
        first, last = read_window((begin, end), axis)

        def active(index: EventIndex) -> Ticks:
            later = np.arange(*np.searchsorted(index.starts(), [first + 1, last]))
            return index.names(np.concatenate([stab(index.forest, first), later]))

        return self._shared.read(active, axis)

    def overlapping_many(self, begins: Any, ends: Any) -> tuple[Ticks, Ticks]:
        """The events active at any instant of each of many windows ``[begin, end)``, which need no order.

        Returns
        -------
        offsets, ids
            The events of window ``j`` are ``ids[offsets[j]:offsets[j + 1]]``.

        Examples
        --------
        >>> import timeloom as tl
        >>> offsets, ids = tl.StabForest.build([0, 2, 4], [3, 4, 9]).overlapping_many([3, 0], [5, 1])
        >>> offsets.tolist(), sorted(ids[:2].tolist()), ids[2:].tolist()
        ([0, 2, 3], [1, 2], [0])
        """
        axis, first, last = self._windows(begins, ends)
        return self._shared.read(lambda index: windows(index, first, last), axis)

    def count_overlapping(self, begins: Any, ends: Any) -> Ticks:
        """How many events are active at any instant of each of many windows, without listing them.

        >>> import timeloom as tl
        >>> tl.StabForest.build([0, 2, 4], [3, 4, 9]).count_overlapping([3, 0], [5, 1]).tolist()
        [2, 1]
        """
        axis, first, last = self._windows(begins, ends)
        return self._shared.read(lambda index: window_counts(index, first, last), axis)

    def _windows(self, begins: Any, ends: Any) -> tuple[TimeType | None, Ticks, Ticks]:
        kind, first, last = many_events(begins, ends)
        require_axis(self._shared.arrivals.axis, kind, "the windows")
        return self._shared.arrivals.axis, first, last

    @checked_late
    def skip_join(
        self,
        other: "Queries | tuple[Any, Any]",
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
        >>> import timeloom as tl
        >>> left, right = tl.StabForest.build([0, 5], [3, 9]).skip_join(([2, 3], [6, 4]))
        >>> sorted(zip(left.tolist(), right.tolist()))
        [(0, 0), (1, 0)]
        """
        if not (isinstance(other, Queries) and window is None and type(c) is int and type(variant) is str):
            other, c, variant, window = bind(Queries.skip_join, self, other, c, variant, window).args[1:]
        theirs = _side(other)
        axis, other_axis = self._shared.arrivals.axis, theirs.arrivals.axis
        require_axis(axis, other_axis, "the other side")
        begin, end = read_window(window, axis or other_axis)

        def found(ours: EventIndex) -> tuple[Ticks, Ticks]:
            if theirs is self._shared:
                return pairs(ours, ours, c, variant, begin, end)
            return theirs.read(lambda index: pairs(ours, index, c, variant, begin, end), other_axis)

        return self._shared.read(found, axis)


def _side(other: "Queries | tuple[Any, Any]") -> SharedIndex:
    """A forest, or arrays of starts and ends as one."""
    if isinstance(other, Queries):
        return other._shared
    if not isinstance(other, tuple) or len(other) != 2:
        raise UsageError(f"{type(other).__name__} cannot be joined; expected a StabForest or (starts, ends)")
    kind, starts, ends = many_events(*other)
    return SharedIndex(Arrivals("start_end", kind), EventIndex.of(starts, ends), starts.size)
