"""Patterns over streams: each match leaves when all its relations are certain, whatever comes."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from timeloom.engines.tables.keys import Keys, keys_of_all
from timeloom.engines.tables.taking import taken
from timeloom.errors import UsageError, did_you_mean, shown
from timeloom.kernels.order import Ticks
from timeloom.model.options import checked
from timeloom.model.pattern import Constraint, Pattern
from timeloom.model.relation import Relation
from timeloom.model.ticks import FOREVER
from timeloom.streaming.deciding import EVENTS
from timeloom.streaming.final.decisions import Decisions, Spans
from timeloom.streaming.final.expiry import kept_rows
from timeloom.streaming.final.pairs import Rows, joined
from timeloom.streaming.final.rows import Role, StreamRows
from timeloom.streaming.final.stream import FinalStream, Step, refuse_late_rows
from timeloom.streaming.guarding import guarded
from timeloom.streaming.readers import key_columns
from timeloom.streaming.wanted import read_columns


class StreamPattern(FinalStream):
    """Find rows of several streams whose periods are in given relations; matches leave when they are certain.

    Parameters
    ----------
    names
        The names of the streams.
    relations, on
        As in `timeloom.pattern`.
    arrives
        How streams arrive: ``"events"`` (columns ``id``, ``time`` and ``event``, which says start or end), or whole
        rows (``id``, ``start``, ``end``) that are known at their ``"start"``; or a mapping, by the names of streams.
    columns
        The columns that results have beside keys and ids, named by stream and column, such as ``["alarm_code"]``.
        Values are those of the start events.
    event_columns
        Other names for the columns that tell of events, such as ``{"id": "flight"}``.

    Examples
    --------
    >>> import pyarrow as pa
    >>> def events(*rows):
    ...     return pa.Table.from_pylist([dict(zip(("id", "time", "event"), row)) for row in rows])
    >>> chain = StreamPattern(["a", "b", "c"], [("a", "meets", "b"), ("b", "overlaps", "c")])
    >>> begun = {"b": events((7, 4, "start")), "c": events((9, 6, "start"))}
    >>> begun["a"] = events((1, 0, "start"), (1, 4, "end"))
    >>> chain.push(begun, until=8).num_rows  # b may outlast c
    0
    >>> chain.push({"b": events((7, 9, "end"))}, until=9).to_pylist()
    [{'a_id': 1, 'b_id': 7, 'c_id': 9, 'at': 9}]
    """

    @checked
    def __init__(
        self,
        names: "Sequence[str]",
        relations: "Sequence[Any]",
        *,
        on: "str | Sequence[str] | None" = None,
        arrives: "str | Mapping[str, Any]" = EVENTS,
        columns: "Sequence[str] | dict[str, str] | None" = None,
        event_columns: dict[str, str] | None = None,
    ) -> None:
        self.pattern = Pattern.of(names, relations)
        kinds = (
            dict.fromkeys(names, arrives) if isinstance(arrives, str) else {**dict.fromkeys(names, EVENTS), **arrives}
        )
        for name in kinds:
            if name not in self.pattern.names:
                raise UsageError(f"arrives= speaks of {shown(name)}, which is no stream. {did_you_mean(name, names)}")
        refuse_late_rows("stream_pattern", {f"arrives of {name}": kind for name, kind in kinds.items()})
        found, roles = read_columns(columns, event_columns)
        asked = tuple(dict.fromkeys(found or ()))
        keys = key_columns(on)
        self._carried = {name: _origin(name, self.pattern.names) for name in asked}
        taken_names = [*keys, *(f"{name}_id" for name in names), *asked, "at", "reason"]
        if twice := [name for name in taken_names if taken_names.count(name) > 1]:
            raise UsageError(f"the result would have more than one column named {twice[0]!r}; rename one")
        super().__init__(
            [
                Role(
                    name, kinds[name], roles, keys, tuple(column for of, column in self._carried.values() if of == name)
                )
                for name in names
            ],
            f"pattern {self.pattern}, keys {keys}, arrivals {kinds}, columns {roles} {asked}",
        )

    @checked
    @guarded
    def push(self, tables: "Mapping[str, Any] | None" = None, until: Any = None) -> pa.Table:
        """Take tables by the names of their streams (any may be missing); answer the matches that are certain.

        ``until`` is an instant of which all events of all streams have been given; without it, all instants before the
        latest event are taken to be complete.
        """
        given = dict(tables or {})
        for name in given:
            if name not in self.pattern.names:
                raise UsageError(f"{shown(name)} is no stream of the pattern. {did_you_mean(name, self.pattern.names)}")
        return self._push([given.get(name) for name in self.pattern.names], until)

    def _final(self, streams: list[StreamRows], complete: int) -> Step:
        axis = self._type.axis
        self.pattern.require_possible(axis)
        keys, _, kinds = keys_of_all([rows.live.table for rows in streams], list(self.roles[0].keys))
        sides = {
            rows.role.name: _Side(Spans.of(rows.live.starts, rows.live.ends, rows.role.arrival), numbers)
            for rows, numbers in zip(streams, keys, strict=True)
        }
        decisions = {one: Decisions.of(one.relation, axis) for one in self.pattern.constraints}
        certain = [_certain(one, decisions[one], sides, complete) for one in self.pattern.constraints]
        rows, instants = _new_matches(self.pattern.constraints, certain, self.clock, complete)
        kept, wake = kept_rows(self.pattern, decisions, sides, complete)
        columns: dict[str, Any] = {}
        live = {stream.role.name: stream.live.table for stream in streams}
        first = self.pattern.names[0]
        for name in self.roles[0].keys:
            columns[name] = taken(live[first][name], pa.array(rows[first]), name).cast(kinds[name])
        for role in self.roles:
            columns[f"{role.name}_id"] = taken(live[role.name][role.columns.id], pa.array(rows[role.name]), "id")
        for name, (of, column) in self._carried.items():
            columns[name] = taken(live[of][column], pa.array(rows[of]), name)
        after = [stream.keep(kept[stream.role.name]) for stream in streams]
        return Step(columns, instants, after, wake=wake)


class _Side(NamedTuple):
    """The live rows of one stream: periods, and the numbers of their keys."""

    spans: Spans
    keys: Keys


class _Pairs(NamedTuple):
    """Pairs that are certain, by the positions of their rows, and since when."""

    left: Rows
    right: Rows
    instants: Ticks


def _origin(column: str, names: tuple[str, ...]) -> tuple[str, str]:
    """The stream and the column that an output column comes from."""
    for name in sorted(names, key=len, reverse=True):
        if column.startswith(f"{name}_") and len(column) > len(name) + 1:
            return name, column[len(name) + 1 :]
    raise UsageError(f"columns= asks for {column!r}; columns are named by their stream, such as '{names[0]}_value'")


def _certain(one: Constraint, decisions: Decisions, sides: Mapping[str, _Side], complete: int) -> _Pairs:
    """The pairs of a constraint that are certain. What is open may end next, so such pairs must hold then, too."""
    given = []
    for side in (sides[one.left], sides[one.right]):
        starts, ends, known = side.spans
        soon = ends if complete == FOREVER else np.where(known > complete, np.maximum(complete, starts) + 1, ends)
        given.append((starts, soon, side.keys))
    lefts, rights = joined(Relation.of(decisions.boxes), given[0], given[1])
    instants = decisions.certainly_in(sides[one.left].spans.at(lefts), sides[one.right].spans.at(rights))
    now = instants <= complete
    return _Pairs(lefts[now], rights[now], instants[now])


def _new_matches(
    constraints: tuple[Constraint, ...], certain: list[_Pairs], before: int, complete: int
) -> tuple[dict[str, Rows], Ticks]:
    """Matches that were not certain before: each is found from the first of its pairs that is new."""
    found: list[tuple[dict[str, Rows], Ticks]] = []
    for at, (one, pairs) in enumerate(zip(constraints, certain, strict=True)):
        new = pairs.instants > before
        rows = {one.left: pairs.left[new], one.right: pairs.right[new]}
        known = [some if number > at else _old(some, before) for number, some in enumerate(certain)]
        found.append(_extended(rows, pairs.instants[new], constraints, known, at))
    names = dict.fromkeys(name for one in constraints for name in (one.left, one.right))
    rows = {name: np.concatenate([part[name] for part, _ in found]) for name in names}
    return rows, np.concatenate([instants for _, instants in found])


def _old(pairs: _Pairs, before: int) -> _Pairs:
    old = pairs.instants <= before
    return _Pairs(pairs.left[old], pairs.right[old], pairs.instants[old])


def _extended(
    rows: dict[str, Rows], instants: Ticks, constraints: tuple[Constraint, ...], known: list[_Pairs], seed: int
) -> tuple[dict[str, Rows], Ticks]:
    """Go on from pairs to whole matches, along the constraints."""
    left = [number for number in range(len(constraints)) if number != seed]
    while left:
        number = next(n for n in left if {constraints[n].left, constraints[n].right} & rows.keys())
        left.remove(number)
        one, pairs = constraints[number], known[number]
        both = one.left in rows and one.right in rows
        bound, new = (one.left, one.right) if one.left in rows else (one.right, one.left)
        mine, theirs = (pairs.left, pairs.right) if bound == one.left else (pairs.right, pairs.left)
        order = np.argsort(mine, kind="stable")
        first = np.searchsorted(mine[order], rows[bound], side="left")
        sizes = np.searchsorted(mine[order], rows[bound], side="right") - first
        which = np.repeat(np.arange(sizes.size), sizes)
        position = order[np.repeat(first, sizes) + np.arange(which.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)]
        if both:
            same = rows[new][which] == theirs[position]
            which, position = which[same], position[same]
        rows = {name: some[which] for name, some in rows.items()} | {new: theirs[position]}
        instants = np.maximum(instants[which], pairs.instants[position])
    return rows, instants
