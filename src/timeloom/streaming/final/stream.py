"""What streams of final results have in common: tables in, instants completed, tables out."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from timeloom.engines.tables.axes import same_axis
from timeloom.engines.tables.key_types import common_type
from timeloom.engines.tables.ticks import TimeType
from timeloom.errors import UsageError
from timeloom.kernels.order import Ticks
from timeloom.model.options import checked
from timeloom.model.ticks import FOREVER, MIN_TICK
from timeloom.streaming.final.rows import Mask, Reading, Refused, Role, StreamRows, read_rows
from timeloom.streaming.final.stored import read_state, write_state
from timeloom.streaming.guarding import Guarded, guarded
from timeloom.streaming.intake import REASONS, Tally
from timeloom.streaming.readers import promised_instant, refuse_early

INTEGERS = TimeType.of(pa.int64(), "time", "input")
"""The axis before any table has come."""


class Step(NamedTuple):
    """What became final up to an instant: result columns and their instants, and which rows are kept of each stream.

    ``since`` is how far results have been given, for operators that need it; ``wake`` is the next instant at which
    something can become final although nothing comes.
    """

    columns: dict[str, Any]
    instants: Ticks
    streams: list[StreamRows]
    since: int = MIN_TICK
    wake: int = FOREVER


class FinalStream(Guarded):
    """Rows of named streams, kept until no result can need them."""

    by_calendar = False
    """Whether results depend on days and months, and so on a zone."""

    def __init__(self, roles: Sequence[Role], query: str) -> None:
        super().__init__()
        self.roles = tuple(roles)
        self.query = query
        self.type: TimeType | None = None
        self.clock = self.since = MIN_TICK
        self.wake = FOREVER
        self.streams: list[StreamRows | None] = [None] * len(self.roles)
        self.refused: list[tuple[Role, Refused]] = []
        self.counts = [0, 0, 0]

    @property
    @guarded
    def state_size(self) -> int:
        """Rows that are kept because a result may still need them."""
        return sum(len(rows.live.starts) for rows in self.streams if rows is not None)

    @property
    @guarded
    def tally(self) -> Tally:
        """How many events have come so far, and what became of them: used, held until their instant, or refused."""
        held = sum(len(rows.held.times) for rows in self.streams if rows is not None)
        given, used, refused = self.counts
        return Tally(given, used, held, refused)

    @property
    @guarded
    def is_idle(self) -> bool:
        """Whether there is nothing to keep: no row, and no event held back."""
        return all(
            rows is None or not (len(rows.live.starts) or len(rows.held.times) or rows.opened) for rows in self.streams
        )

    @property
    @guarded
    def next_instant(self) -> int:
        """The next instant at which something is to be done even if nothing comes, or FOREVER."""
        return min([self.wake, *(rows.first_held for rows in self.streams if rows is not None)])

    @guarded
    def close(self) -> pa.Table:
        """End all streams: what is open never ends. What is final only by that has no instant."""
        return self._advance([None] * len(self.roles), FOREVER)

    @guarded
    def take_rejected(self) -> pa.Table:
        """The events refused since the last call: side, id (as text), time, and the reason."""
        schema = pa.schema([(name, pa.string()) for name in ("side", "id", "time", "reason")])
        parts = [schema.empty_table()]
        for role, refused in self.refused:
            times = self._type.to_arrow(refused.times, refused.timeless).cast(pa.string())
            reasons = pa.array([REASONS[verdict] for verdict in refused.verdicts], pa.string())
            side = pa.repeat(pa.scalar(role.name), len(reasons))
            ids = refused.table[role.columns.id].cast(pa.string())
            parts.append(pa.table([side, ids, times, reasons], schema=schema))
        self.refused = []
        return pa.concat_tables(parts)

    @checked
    @guarded
    def save(self, path: str | Path) -> None:
        """Write the whole state to a file, with refused events that nobody has taken yet; `resume` goes on from it."""
        Path(path).write_bytes(write_state(self))

    @checked
    @guarded
    def resume(self, path: str | Path) -> None:
        """Go on from a file that a stream with the same options saved; anything else is a `StorageError`."""
        read_state(self, Path(path).read_bytes())

    @guarded
    def push_all(self, frames: Sequence[object | None]) -> pa.Table:
        """Take a table of each stream; all instants before the latest event are complete."""
        return self._push(frames, None)

    @guarded
    def push_complete(self, frames: Sequence[object | None], complete: int) -> pa.Table:
        """Take tables of which all up to an instant comes too late, and let time pass up to there."""
        known = zip(frames, self.roles, self.streams, strict=True)
        readings = [None if frame is None else read_rows(frame, role, rows) for frame, role, rows in known]
        return self._advance(readings, max(complete, self.clock), late=max(complete, self.clock))

    def _push(self, frames: Sequence[object | None], until: Any) -> pa.Table:
        """Take tables, any of which may be missing; nothing of them counts before all have been read."""
        known = zip(frames, self.roles, self.streams, strict=True)
        readings = [None if frame is None else read_rows(frame, role, rows) for frame, role, rows in known]
        kind = self.type
        for reading in readings:
            if reading is not None:
                kind = kind or reading.type
                same_axis(kind, reading.type)
        if kind is None:
            refuse_early(until)
        complete = None if kind is None else promised_instant(kind, until)
        if complete is None:
            latest = [int(found.batch.times.max()) for found in readings if found and len(found.batch.times)]
            complete = max([self.clock, *(instant - 1 for instant in latest)])
        return self._advance(readings, max(complete, self.clock), kind)

    def _advance(
        self,
        readings: Sequence[Reading | None],
        complete: int,
        kind: TimeType | None = None,
        late: int | None = None,
    ) -> pa.Table:
        """Let time pass; if a result cannot be had, all is as it was before."""
        before = self.type
        self.type = kind or before
        try:
            streams, refused, used = self._taken(readings, self.clock if late is None else late, complete)
            step = self._final(self._complete_streams(streams), complete)
            result = self._result(step)
        except BaseException:
            self.type = before
            raise
        kept = zip(streams, step.streams, strict=True)
        self.streams = [None if rows is None else after for rows, after in kept]
        self.clock, self.since, self.wake = max(self.clock, complete), step.since, step.wake
        self.refused = [*self.refused, *refused]
        given = sum(len(found.batch.times) + len(found.refused.verdicts) for found in readings if found is not None)
        rejected = sum(len(some.verdicts) for _, some in refused)
        self.counts = [a + b for a, b in zip(self.counts, (given, used, rejected), strict=True)]
        return result

    def _taken(
        self, readings: Sequence[Reading | None], late: int, complete: int
    ) -> tuple[list[StreamRows | None], list[tuple[Role, Refused]], int]:
        streams: list[StreamRows | None] = []
        refused, used = [], 0
        for role, rows, reading in zip(self.roles, self.streams, readings, strict=True):
            if rows is None and reading is not None:
                rows = StreamRows.empty(role, reading.batch.table.schema)
            if reading is not None and len(reading.refused.verdicts):
                refused.append((role, reading.refused))
            if rows is not None:
                rows, bad, taken = rows.advanced(None if reading is None else reading.batch, late, complete)
                used += taken
                refused += [(role, some) for some in bad if len(some.verdicts)]
            streams.append(rows)
        return streams, refused, used

    def _complete_streams(self, streams: Sequence[StreamRows | None]) -> list[StreamRows]:
        """A stream of which no table has come is empty, with keys as the others have them."""
        known: dict[str, pa.DataType] = {}
        for rows in streams:
            for field in () if rows is None else rows.live.table.schema:
                known.setdefault(field.name, field.type)
        return [
            StreamRows.empty(
                role,
                pa.schema(
                    [(name, known.get(name, pa.null()) if name in role.keys else pa.null()) for name in role.kept([])]
                ),
            )
            if rows is None
            else rows
            for role, rows in zip(self.roles, streams, strict=True)
        ]

    def declare(self, schemas: Sequence[pa.Schema]) -> None:
        """Say of which columns the streams are, before any table has come."""
        self._push([schema.empty_table() for schema in schemas], None)
        self.clock = MIN_TICK

    def shared_keys(self) -> dict[str, pa.DataType]:
        """The types in which keys of all streams meet, as far as they have come."""
        kinds: dict[str, pa.DataType] = {}
        for rows in self.streams:
            if rows is None:
                continue
            for name in rows.role.keys:
                kind = rows.live.table.schema.field(name).type
                kinds[name] = common_type(kinds[name], kind) if name in kinds else kind
        return kinds

    @guarded
    def with_refused(self, result: pa.Table) -> pa.Table:
        """Results and, behind them, the events refused since they were last taken, with ids, times and reasons."""
        keys, parts = self.shared_keys(), [result]
        for role, refused in self.refused:
            columns = {name: refused.table[name] for name in role.keys if name in result.column_names}
            columns[self.id_column(role)] = refused.table[role.columns.id]
            columns["at"] = self._type.for_instants().to_arrow(refused.times, refused.timeless)
            columns["reason"] = pa.array([REASONS[verdict] for verdict in refused.verdicts], pa.string())
            parts.append(pa.table(columns))
        self.refused = []
        fields = [pa.field(name, keys.get(name, result.schema.field(name).type)) for name in result.column_names]
        fields += [
            pa.field(
                self.id_column(role), pa.null() if rows is None else rows.live.table.schema.field(role.columns.id).type
            )
            for role, rows in zip(self.roles, self.streams, strict=True)
            if self.id_column(role) not in result.column_names
        ]
        schema = pa.schema([*fields, pa.field("reason", pa.string())])
        return pa.concat_tables([schema.empty_table(), *parts], promote_options="permissive").cast(schema)

    def id_column(self, role: Role) -> str:
        """The result column that has the ids of a stream."""
        return "id" if len(self.roles) == 1 else f"{role.name}_id"

    @property
    def _type(self) -> TimeType:
        return self.type or INTEGERS

    def _result(self, step: Step) -> pa.Table:
        """A table of results, with the instants at which they became final; none for those of the end of all time."""
        ever = step.instants == FOREVER
        return pa.table(
            {**step.columns, "at": self._type.for_instants().to_arrow(step.instants, ever if ever.any() else None)}
        )

    def _final(self, streams: list[StreamRows], complete: int) -> Step:
        """What is final at an instant; each operator says."""
        raise NotImplementedError

    def time_columns(self, starts: Ticks, ends: Ticks) -> tuple[pa.Array, pa.Array]:
        """Periods as columns; an end that is not known is null."""
        return self._type.to_arrow(starts), self._type.to_arrow(ends, ends == FOREVER)


def refuse_late_rows(verb: str, arrivals: dict[str, str]) -> None:
    """Refuse streams of rows that are known at their ends only: they reach back into all that was final."""
    for option, arrival in arrivals.items():
        if arrival not in ("events", "start"):
            raise UsageError(
                f"{option}={arrival!r}: {verb} takes 'events', or whole rows that are known at their 'start'; a row "
                "that is known only at its end may reach back as far as it likes: nothing would be final before it came"
            )


def is_among(codes: Ticks, values: Ticks, in_codes: Ticks, in_values: Ticks) -> Mask:
    """Which pairs of a group and a value are among others."""
    return position_of(codes, values, in_codes, in_values) >= 0


def position_of(codes: Ticks, values: Ticks, in_codes: Ticks, in_values: Ticks) -> Ticks:
    """Where each pair of a group and a value is first found among others; -1 where it is not."""
    known, ranks = np.unique(np.concatenate([values, in_values]), return_inverse=True)
    folded = np.concatenate([codes, in_codes]) * np.int64(known.size) + ranks
    wanted, given = folded[: len(codes)], folded[len(codes) :]
    if not len(given):
        return np.full(len(wanted), -1)
    order = np.argsort(given, kind="stable")
    positions = np.minimum(np.searchsorted(given[order], wanted), len(given) - 1)
    return np.where(given[order][positions] == wanted, order[positions], -1)
