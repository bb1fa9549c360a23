"""The temporal aggregate of a stream: each period leaves when nothing that may still come can change it."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from timeloom.engines.local.temporal_aggregate import temporal_aggregate
from timeloom.engines.tables.keys import group_keys
from timeloom.engines.tables.taking import take_rows
from timeloom.engines.tables.ticks import column_ticks
from timeloom.engines.tables.validity import free_name
from timeloom.errors import UsageError
from timeloom.kernels.order import Ticks
from timeloom.model.grids import Every, GridRequest
from timeloom.model.measures import read_timed
from timeloom.model.naming import column_names
from timeloom.model.options import checked
from timeloom.model.period import Period
from timeloom.model.policy import Policy
from timeloom.model.sequenced import AggregateRequest
from timeloom.model.ticks import FOREVER, MIN_TICK, Span
from timeloom.streaming.deciding import EVENTS
from timeloom.streaming.final.rows import Live, Role, StreamRows
from timeloom.streaming.final.stream import FinalStream, Step, is_among, refuse_late_rows
from timeloom.streaming.guarding import guarded
from timeloom.streaming.wanted import Columns


class StreamAggregate(FinalStream):
    """Aggregate a stream of periods over time; each result period leaves as soon as it is final.

    Parameters
    ----------
    aggregates, by, every, origin, zone
        As in `timeloom.temporal_aggregate`. Values are those of the start events; the columns of ``by`` are in start
        and end events.
    arrives
        ``"events"`` (columns ``id``, ``time`` and ``event``, which says start or end), or whole rows (``id``,
        ``start``, ``end``; a null end is open) that are known at their ``"start"``.
    event_columns
        Other names for these columns, such as ``{"id": "flight"}``.

    Examples
    --------
    >>> import pyarrow as pa
    >>> load = StreamAggregate({"n": "count", "total": ("mw", "sum")})
    >>> events = pa.table({"id": [1, 2, 1], "time": [0, 3, 5], "event": ["start", "start", "end"], "mw": [10, 4, None]})
    >>> [tuple(row.values()) for row in load.push(events, until=6).to_pylist()]  # start, end, n, total, at
    [(0, 3, 1, 10, 3), (3, 5, 2, 14, 5)]
    >>> [tuple(row.values()) for row in load.close().to_pylist()]
    [(5, None, 1, 4, None)]
    """

    @checked
    def __init__(
        self,
        aggregates: "Mapping[str, Any]",
        *,
        by: "str | Sequence[str] | None" = None,
        every: "Span | str | None" = None,
        origin: Any = None,
        zone: str | None = None,
        arrives: str = EVENTS,
        event_columns: dict[str, str] | None = None,
    ) -> None:
        refuse_late_rows("stream_aggregate", {"arrives": arrives})
        names, groups = Columns.of(event_columns), column_names("by", by)
        if every is None and (origin is not None or zone is not None):
            raise UsageError("origin= and zone= place buckets of time; give every=, too")
        grid = None if every is None else GridRequest(Every.of(every), origin, zone)
        self.by_calendar = grid is not None and grid.every is not None and grid.every.unit is not None
        self._request = AggregateRequest(
            read_timed(aggregates), groups, Period(names.start, names.end), Policy(), grid=grid
        )
        if clash := {"at", "reason", names.id} & {*groups, *(measure.name for measure in self._request.measures)}:
            raise UsageError(f"the result has a column {min(clash)!r} already; rename that group or aggregate")
        carried = tuple(measure.column for measure in self._request.measures if measure.column is not None)
        role = Role("input", arrives, names, groups, carried, nulls=True)
        super().__init__([role], f"temporal aggregate {self._request}, {role}")

    @checked
    @guarded
    def push(self, rows: object | None = None, until: Any = None) -> pa.Table:
        """Take a table; answer the periods that are final.

        ``until`` is an instant of which all events have been given; without it, all instants before the latest
        event are taken to be complete.
        """
        return self._push([rows], until)

    def _final(self, streams: list[StreamRows], complete: int) -> Step:
        rows, request = streams[0], self._request
        codes, count = group_keys(rows.live.table, list(request.by))
        if request.grid is not None:
            return self._buckets(rows, codes, complete)
        slack = 0 if rows.role.arrival == EVENTS else 1
        done = _last_endpoints(rows.live, codes, count, self.clock, slack)
        new = _last_endpoints(rows.live, codes, count, complete, slack)
        asked = (new > done)[codes]
        found, groups, starts, ends = self._batch(rows.live.only(asked), codes[asked], rows.live.ends[asked])
        kept = (ends <= new[groups]) & (ends > done[groups])
        groups, starts, ends = groups[kept], np.maximum(starts[kept], done[groups[kept]]), ends[kept]
        instants = ends
        if slack:
            known = is_among(groups, ends, codes, rows.live.ends) & (ends < FOREVER)
            instants = np.where(known, ends - 1, ends)
        columns = self._columns(found, kept, rows, codes, (groups, starts, ends))
        active = np.zeros(count, np.bool_)
        active[codes[rows.live.ends > new[codes]]] = True
        rows = rows.keep((rows.live.ends >= new[codes]) & active[codes])
        wake = int(rows.live.ends[rows.live.ends > complete + slack].min(initial=FOREVER)) - slack if slack else FOREVER
        return Step(columns, instants, [rows], wake=wake if wake < FOREVER - 1 else FOREVER)

    def _buckets(self, rows: StreamRows, codes: Ticks, complete: int) -> Step:
        """Buckets that are over, and that have not left yet; rows that reach into no later one are let go of."""
        over = complete if complete == FOREVER else complete + 1
        live = rows.live._replace(starts=np.maximum(rows.live.starts, self.since))
        ends = np.minimum(live.ends, over)
        if complete == FOREVER and (live.ends == FOREVER).any():
            ends = live.ends  # the batch verb refuses to fill eternity with buckets, and says so
        inside = live.starts < ends
        found, groups, starts, ends = self._batch(live.only(inside), codes[inside], ends[inside])
        kept = (ends <= over) & (starts >= self.since)
        since = int(ends[kept].max(initial=self.since))
        columns = self._columns(found, kept, rows, codes, (groups[kept], starts[kept], ends[kept]))
        after = rows.keep(rows.live.ends > since)
        return Step(columns, ends[kept] - 1, [after], since, over if len(after.live.starts) else FOREVER)

    def _batch(self, live: Live, codes: Ticks, ends: Ticks) -> tuple[pa.Table, Ticks, Ticks, Ticks]:
        """What the verb of tables says of these rows: the result, its groups, starts and ends."""
        request = self._request
        measured = [measure.column for measure in request.measures if measure.column is not None]
        group, start, end = (free_name(name, measured) for name in ("group", "start", "end"))
        times = self.time_columns(live.starts, ends)
        table = pa.table(
            {group: codes, start: times[0], end: times[1], **{name: live.table[name] for name in measured}}
        )
        changed = AggregateRequest(request.measures, (group,), Period(start, end), request.policy, grid=request.grid)
        found = temporal_aggregate(table, changed)
        starts, _ = column_ticks(found[start], self._type, truncate=False)
        ends, is_open = column_ticks(found[end], self._type, truncate=False)
        groups = np.asarray(found[group]).astype(np.int64)
        return found.drop_columns([group, start, end]), groups, starts, np.where(is_open, FOREVER, ends)

    def _columns(
        self, found: pa.Table, kept: Any, rows: StreamRows, codes: Ticks, periods: tuple[Ticks, Ticks, Ticks]
    ) -> dict[str, Any]:
        groups, starts, ends = periods
        leaders = np.zeros(int(codes.max(initial=-1)) + 1, np.int64)
        leaders[codes[::-1]] = np.arange(codes.size)[::-1]
        by = take_rows(rows.live.table.select(list(self._request.by)), pa.array(leaders[groups]))
        first, last = self.time_columns(starts, ends)
        measured = take_rows(found, pa.array(np.flatnonzero(kept)))
        names = self._request.period
        columns = {name: by[name] for name in self._request.by}
        return {**columns, names.start: first, names.end: last, **{name: measured[name] for name in found.column_names}}


def _last_endpoints(live: Live, codes: Ticks, count: int, complete: int, slack: int) -> Ticks:
    """The last endpoint of each group that is certain at an instant; ends of whole rows are known a tick before."""
    found = np.full(count, MIN_TICK)
    if complete == MIN_TICK:
        return found
    begun = live.starts <= complete
    np.maximum.at(found, codes[begun], live.starts[begun])
    ended = live.ends <= (complete + slack if complete < FOREVER else FOREVER)
    np.maximum.at(found, codes[ended], live.ends[ended])
    return found
