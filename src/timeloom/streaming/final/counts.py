"""The streaming count semi-join on tables: each left row leaves with its count when no event can change that."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from timeloom.engines.local.count_join import count_join
from timeloom.engines.tables.keys import shared_keys
from timeloom.engines.tables.validity import free_name
from timeloom.errors import UsageError
from timeloom.kernels.order import Ticks
from timeloom.model.count_join import CountRequest
from timeloom.model.measures import read_measures
from timeloom.model.names import RelationLike
from timeloom.model.names import relation as find_relation
from timeloom.model.naming import Keys
from timeloom.model.options import checked
from timeloom.model.period import Period
from timeloom.model.policy import Policy
from timeloom.model.ticks import FOREVER, Span
from timeloom.streaming.deciding import EVENTS
from timeloom.streaming.final.decisions import Decisions, Spans
from timeloom.streaming.final.pairs import feasible_rights, undecided_at
from timeloom.streaming.final.rows import Live, Role, StreamRows
from timeloom.streaming.final.stream import FinalStream, Step, refuse_late_rows
from timeloom.streaming.guarding import guarded
from timeloom.streaming.readers import key_columns
from timeloom.streaming.wanted import read_columns


class StreamCount(FinalStream):
    """Count, for each left row of a stream, the right rows that it is in relation with; counts leave when final.

    Parameters
    ----------
    relation, on, name, aggregates, delta, epsilon
        As in `timeloom.count_join`. Values are those of the start events.
    left, right
        How a side arrives: ``"events"`` (columns ``id``, ``time`` and ``event``, which says start or end), or whole
        rows (``id``, ``start``, ``end``; a null end is open) that are known at their ``"start"``.
    columns
        The left columns that results have beside keys and id, such as ``["gate"]``.
    event_columns
        Other names for the columns that tell of events, such as ``{"id": "flight"}``.

    Examples
    --------
    >>> import pyarrow as pa
    >>> count = StreamCount("contains")
    >>> shifts = pa.table({"id": [1, 1], "time": [0, 9], "event": ["start", "end"]})
    >>> calls = pa.table({"id": [7, 7, 8], "time": [2, 4, 6], "event": ["start", "end", "start"]})
    >>> count.push(shifts, calls, until=9).to_pylist()  # call 8 goes on after the shift
    [{'left_id': 1, 'count': 1, 'at': 9}]
    """

    @checked
    def __init__(
        self,
        relation: RelationLike = "intersects",
        *,
        on: "str | Sequence[str] | None" = None,
        name: str = "count",
        aggregates: "Mapping[str, Any] | None" = None,
        delta: "Span | str | None" = None,
        epsilon: "Span | str | None" = None,
        left: str = EVENTS,
        right: str = EVENTS,
        columns: "Sequence[str] | dict[str, str] | None" = None,
        event_columns: dict[str, str] | None = None,
    ) -> None:
        refuse_late_rows("stream_count", {"left": left, "right": right})
        found, names = read_columns(columns, event_columns)
        carried = tuple(dict.fromkeys(found or ()))
        keys = key_columns(on)
        self._request = CountRequest(
            relation=find_relation(relation, delta=delta, epsilon=epsilon),
            keys=Keys(keys, keys),
            left_period=Period(names.start, names.end),
            right_period=Period(names.start, names.end),
            policy=Policy(),
            name=name,
            aggregates=read_measures(aggregates or {}),
        )
        results = [*keys, "left_id", *carried, name, *(measure.name for measure in self._request.aggregates), "at"]
        if twice := {one for one in (*results, "right_id", "reason") if results.count(one) > (one in results)}:
            raise UsageError(f"the result would have more than one column named {min(twice)!r}; rename one")
        values = tuple(measure.column for measure in self._request.aggregates if measure.column is not None)
        roles = (Role("left", left, names, keys, carried), Role("right", right, names, keys, values))
        super().__init__(roles, f"count {self._request}, {roles}")

    @checked
    @guarded
    def push(self, left: object | None = None, right: object | None = None, until: Any = None) -> pa.Table:
        """Take tables of events (either may be missing); answer the left rows whose counts are final.

        ``until`` is an instant of which all events have been given; without it, all instants before the latest
        event are taken to be complete.
        """
        return self._push([left, right], until)

    def _final(self, streams: list[StreamRows], complete: int) -> Step:
        left, right = streams
        keys = list(self._request.keys.left)
        left_keys, right_keys, _ = shared_keys(left.live.table, right.live.table, keys, keys)
        decisions = Decisions.of(self._request.relation, self._type.axis)
        ours, theirs = (Spans.of(rows.live.starts, rows.live.ends, rows.role.arrival) for rows in streams)
        instants = _instants(decisions, ours, theirs, left_keys, right_keys, complete)
        final = instants <= complete
        columns = self._counted(left.live.only(final), right.live)
        pending = ours.at(np.flatnonzero(~final))
        needed = (decisions.inverse().without_future(theirs) > complete) | feasible_rights(
            decisions, pending, left_keys[~final], theirs, right_keys, complete
        )
        wake = int(instants[~final].min(initial=FOREVER))
        return Step(columns, instants[final], [left.keep(~final), right.keep(needed)], wake=wake)

    def _counted(self, left: Live, right: Live) -> dict[str, Any]:
        """The counts of rows, as the verb of tables has them."""
        request, role = self._request, self.roles[0]
        keys = list(request.keys.left)
        values = [name for name in self.roles[1].carried or () if name not in keys]
        start, end = (free_name(name, [*keys, *values]) for name in ("start", "end"))
        tables = []
        for live, wanted in ((left, keys), (right, [*keys, *values])):
            times = dict(zip((start, end), self.time_columns(live.starts, live.ends), strict=True))
            tables.append(pa.table({**{name: live.table[name] for name in wanted}, **times}))
        period = Period(start, end)
        asked = _named(replace(request, left_period=period, right_period=period), tables[0].column_names)
        found = count_join(tables[0], tables[1], asked)
        counted = {request.name: found[asked.name]}
        for given, used in zip(request.aggregates, asked.aggregates, strict=True):
            counted[given.name] = found[used.name]
        carried = {name: left.table[name] for name in role.carried or ()}
        return {
            **{name: left.table[name] for name in keys},
            "left_id": left.table[role.columns.id],
            **carried,
            **counted,
        }


def _named(request: CountRequest, taken: list[str]) -> CountRequest:
    """The same request with result columns that no column of the table is named like."""
    names = list(taken)
    fresh = []
    for wanted in (request.name, *(measure.name for measure in request.aggregates)):
        names.append(free_name(wanted, names))
        fresh.append(names[-1])
    aggregates = tuple(replace(measure, name=name) for measure, name in zip(request.aggregates, fresh[1:], strict=True))
    return replace(request, name=fresh[0], aggregates=aggregates)


def _instants(
    decisions: Decisions, left: Spans, right: Spans, left_keys: Ticks, right_keys: Ticks, complete: int
) -> Ticks:
    """When the counts of left rows are final: no row that may come can be a partner, and all others are decided.

    Most pairs are decided by the instant at which the last partner could come; only others are looked at.
    """
    found = decisions.without_future(left)
    due = np.flatnonzero(found <= min(complete, FOREVER - 1))
    lefts, rights = undecided_at(found[due], left_keys[due], right, right_keys, decisions.slack)
    pairs = left.at(due[lefts]), right.at(rights)
    decided = np.minimum(decisions.certainly_in(*pairs), decisions.certainly_out(*pairs))
    np.maximum.at(found, due[lefts], decided)
    return found
