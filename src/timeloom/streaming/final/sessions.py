"""Streaming coalescing: sessions of equal rows, each leaving when no row can join it any more."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from timeloom.engines.local.coalesce import coalesce
from timeloom.engines.tables.keys import group_keys
from timeloom.engines.tables.taking import take_rows
from timeloom.engines.tables.ticks import column_ticks, shift_ticks
from timeloom.errors import UsageError
from timeloom.kernels.order import Ticks
from timeloom.model.naming import column_names
from timeloom.model.neighbours import read_distance
from timeloom.model.options import checked
from timeloom.model.period import Period
from timeloom.model.policy import Policy
from timeloom.model.sequenced import CoalesceRequest
from timeloom.model.ticks import FOREVER, MAX_TICK, MIN_TICK, Span, ticks_of
from timeloom.streaming.deciding import EVENTS
from timeloom.streaming.final.rows import Live, Role, StreamRows
from timeloom.streaming.final.stream import FinalStream, Step, position_of, refuse_late_rows
from timeloom.streaming.guarding import guarded
from timeloom.streaming.wanted import Columns

GONE = -1
"""The number of a row whose merged period never ends and has left already; it takes in what comes later."""


class StreamCoalesce(FinalStream):
    """Merge the periods of equal rows of a stream; each merged period leaves as soon as it is final.

    Parameters
    ----------
    by
        The columns whose values must be equal, nulls being equal to each other. Start and end events have them.
    max_gap
        Also merge periods that are this far apart, at the most: then a session is over this long after its last end.
    arrives, event_columns
        As in `StreamAggregate`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> sessions = StreamCoalesce(by="user", max_gap=10)
    >>> clicks = pa.table({"user": ["a", "a", "a"], "id": [1, 2, 3], "start": [0, 8, 30], "end": [5, 12, 31]})
    >>> sessions = StreamCoalesce(by="user", max_gap=10, arrives="start")
    >>> sessions.push(clicks, until=35).to_pylist()
    [{'user': 'a', 'start': 0, 'end': 12, 'at': 22}]
    """

    @checked
    def __init__(
        self,
        *,
        by: "str | Sequence[str] | None" = None,
        max_gap: "Span | str | None" = None,
        arrives: str = EVENTS,
        event_columns: dict[str, str] | None = None,
    ) -> None:
        refuse_late_rows("stream_coalesce", {"arrives": arrives})
        names, values = Columns.of(event_columns), column_names("by", by)
        self._gap = read_distance("max_gap", max_gap)
        self._request = CoalesceRequest(values, Period(names.start, names.end), Policy(), self._gap)
        if clash := {"at", "reason", names.id} & {*values}:
            raise UsageError(f"the result has a column {min(clash)!r} already; rename that column of by=")
        role = Role("input", arrives, names, values, nulls=True)
        super().__init__([role], f"coalesce {self._request}, {role}")

    @checked
    @guarded
    def push(self, rows: object | None = None, until: Any = None) -> pa.Table:
        """Take a table; answer the merged periods that are final. ``until`` as in `StreamAggregate.push`."""
        return self._push([rows], until)

    def _final(self, streams: list[StreamRows], complete: int) -> Step:
        rows = streams[0]
        codes, _ = group_keys(rows.live.table, list(self._request.by or ()))
        groups, starts, ends = self._merged(rows.live, codes)
        gap = 0 if self._gap is None else min(ticks_of(self._gap, self._type.axis), MAX_TICK)
        over = shift_ticks(ends, gap)
        if rows.role.arrival != EVENTS:
            over = _endless_known(rows.live, codes, groups, over)
        final = over <= complete
        leaders = position_of(groups, starts, codes, rows.live.starts)
        final &= rows.live.numbers[leaders] != GONE
        table = take_rows(rows.live.table.select(list(self._request.by or ())), pa.array(leaders[final]))
        first, last = self.time_columns(starts[final], ends[final])
        columns = {name: table[name] for name in table.column_names}
        columns |= {self._request.period.start: first, self._request.period.end: last}
        wake = int(over[~final & (over > complete)].min(initial=FOREVER))
        rows = self._compact(rows, codes, groups[final], ends[final])
        if complete == FOREVER:
            rows = rows.keep(np.zeros(len(rows.live.starts), np.bool_))
        return Step(columns, over[final], [rows], wake=wake)

    def _merged(self, live: Live, codes: Ticks) -> tuple[Ticks, Ticks, Ticks]:
        """The groups, starts and ends of what the verb of tables makes of rows."""
        start, end = self.time_columns(live.starts, live.ends)
        request = CoalesceRequest(("group",), Period("start", "end"), Policy(), self._gap)
        found = coalesce(pa.table({"group": codes, "start": start, "end": end}), request)
        starts, _ = column_ticks(found["start"], self._type, truncate=False)
        ends, is_open = column_ticks(found["end"], self._type, truncate=False)
        return np.asarray(found["group"]).astype(np.int64), starts, np.where(is_open, FOREVER, ends)

    def _compact(self, rows: StreamRows, codes: Ticks, groups: Ticks, ends: Ticks) -> StreamRows:
        """Let go of what has left, and keep one row for all ended rows that belong together so far."""
        last = np.full(int(codes.max(initial=-1)) + 1, MIN_TICK)
        np.maximum.at(last, groups, ends)
        endless = last[codes] == FOREVER
        kept = (rows.live.ends > last[codes]) | endless
        rows, codes, endless = rows.keep(kept), codes[kept], endless[kept]
        ended = (rows.live.ends < FOREVER) | (rows.role.arrival != EVENTS)
        numbers, starts, merged = self._merged(rows.live.only(ended), codes[ended])
        leaders = np.flatnonzero(ended)[position_of(numbers, starts, codes[ended], rows.live.starts[ended])]
        chosen, new, handles = ~ended, rows.live.ends.copy(), rows.live.numbers.copy()
        chosen[leaders] = True
        new[leaders] = merged
        handles[endless] = GONE
        return replace(rows, live=rows.live._replace(ends=new, numbers=handles).only(chosen))


def _endless_known(live: Live, codes: Ticks, groups: Ticks, over: Ticks) -> Ticks:
    """A whole row without an end is known to have none, so what it is merged into is final at once."""
    first = np.full(int(codes.max(initial=-1)) + 1, FOREVER)
    endless = live.ends == FOREVER
    np.minimum.at(first, codes[endless], live.starts[endless])
    return np.where(over == FOREVER, first[groups], over)
