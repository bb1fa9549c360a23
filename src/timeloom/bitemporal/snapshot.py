"""The whole state of an index after a batch, which never changes, and the batch that leads to the next one."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from timeloom.bitemporal.ends import Ends
from timeloom.bitemporal.facts import Chunks, Facts, merged
from timeloom.bitemporal.identity import RowNumbers, numbered
from timeloom.bitemporal.payload import Payload
from timeloom.bitemporal.timelines import Timelines
from timeloom.engines.tables.taking import take_rows
from timeloom.engines.tables.ticks import TimeType
from timeloom.engines.windows.history import History
from timeloom.errors import InvalidInputError, UsageError, did_you_mean
from timeloom.kernels.bitemporal.arrival import NONE, unfit_end
from timeloom.kernels.bitemporal.windows import Ticks
from timeloom.kernels.order import in_order
from timeloom.model.ticks import FOREVER, MAX_TICK

MOST_ROWS = int(np.iinfo(np.int32).max)
Types = tuple[TimeType, TimeType]


@dataclass(frozen=True)
class Snapshot:
    """Everything that a reader needs. The payload lies by number; where rows are forgotten, by arrival."""

    lines: Timelines
    numbers: RowNumbers = field(default_factory=RowNumbers)
    types: Types | None = None
    schema: pa.Schema | None = None
    chunks: Chunks = ()

    @property
    def latest(self) -> int:
        """The latest system time in ticks."""
        return self.lines.columns.latest

    def refuse_past(self, sys_last: Ticks, meaning: str) -> None:
        """Refuse windows about rows that an index without history has forgotten."""
        if meaning != "snapshot":
            raise UsageError(
                f"meaning={meaning!r} asks about rows that have ended, which a non-retroactive index forgets; "
                "use meaning='snapshot', or an index with retroactive=True"
            )
        if sys_last[-1] < sys_last[0]:
            raise UsageError(
                "the system window slides backward, but a non-retroactive index goes forward only; "
                "use a pace of at least 0, or an index with retroactive=True"
            )
        if sys_last[0] < self.latest:
            raise UsageError(
                f"the system window ends at {self.instant(int(sys_last[0]), 0)!r}, but a non-retroactive index "
                f"answers from its latest system time, {self.instant(self.latest, 0)!r}, on; "
                "use an index with retroactive=True"
            )

    def holds(self, table: pa.Table) -> bool:
        """Whether a table has just the columns and types of this state, so that it is taken as it is."""
        return self.schema is not None and bool(table.schema.equals(self.schema, check_metadata=True))

    def payload(self) -> Payload:
        """All rows by their numbers, with all their columns."""
        assert self.schema is not None
        return Payload(self.schema, self.chunks, self._by_number if self.lines.retroactive else self.numbers.rows)

    def _by_number(self, numbers: Ticks) -> Ticks:
        self.numbers.check(numbers)
        return numbers

    def stored(self) -> pa.Table:
        """All rows that are held, as they lie."""
        assert self.schema is not None
        return pa.concat_tables([self.schema.empty_table(), *self.chunks], promote_options="default")

    def held(self) -> Ticks:
        """The numbers of all rows that are held, ascending."""
        return self.numbers.of(np.arange(len(self.lines.columns), dtype=np.int64))

    def numbering(self) -> "Callable[[Ticks], Ticks]":
        """The user's numbers of rows by arrival, in this state."""
        return partial(numbered, numbers=self.numbers.pinned(), in_order=self.numbers.in_order)

    def known_types(self) -> Types:
        """The types of both times."""
        if self.types is None:
            raise UsageError("the index is empty, so the types of its times are unknown; append a table first")
        return self.types

    def instant(self, tick: int, axis: int) -> Any:
        """A tick in the user's own type."""
        return self.known_types()[axis].to_arrow(np.array([tick]))[0].as_py()

    def next(self, table: "pa.Table | None", history: History, ended: Ends, bucket: int | None) -> "Batch":
        """Check a batch against this state; nothing is written yet."""
        numbers, at = ended.numbers, ended.at
        self._check_system_times(history, at)
        positions = self._check_ends(numbers, at) if numbers.size else numbers
        if self.numbers.total + history.sys_start.size > MOST_ROWS:
            raise InvalidInputError(f"an index holds at most {MOST_ROWS} rows; split the history by key")
        if not in_order(at):
            by_time = np.argsort(at, kind="stable")
            positions, at = positions[by_time], at[by_time]
        start = self if self.types is not None or table is None else self._adopting(history.types, bucket)
        return Batch(start, table, history, positions, at)

    def _adopting(self, types: Types, bucket: int | None) -> "Snapshot":
        """Learn the types of both times from the first table."""
        return replace(self, types=types, lines=replace(self.lines, bucket=bucket))

    def _check_system_times(self, history: History, at: Ticks) -> None:
        earliest = min(int(history.sys_start.min(initial=MAX_TICK)), int(at.min(initial=MAX_TICK)))
        if self.types is not None and earliest < self.latest:
            raise InvalidInputError(
                f"system time goes backwards: found {self.instant(earliest, 0)!r}, but the index has reached "
                f"{self.instant(self.latest, 0)!r}; append batches in order of system time"
            )

    def _check_ends(self, numbers: Ticks, at: Ticks) -> Ticks:
        rows, columns = self.numbers.rows(numbers), self.lines.columns
        if unfit_end(rows, at, columns.sys_start.values, columns.sys_end.values) == NONE:
            return rows
        ends = columns.sys_end.values[rows]
        again = np.flatnonzero(ends != FOREVER)
        if again.size:
            raise InvalidInputError(
                f"row {numbers[again[0]]} has ended at {self.instant(int(ends[again[0]]), 0)!r} already; "
                "end each row once"
            )
        forever = np.flatnonzero(at == FOREVER)
        if forever.size:
            raise InvalidInputError(
                f"row {numbers[forever[0]]} would end at the last instant, which means that it never ends; "
                "end it earlier, or leave it open"
            )
        early = np.flatnonzero(at < columns.sys_start.values[rows])
        raise InvalidInputError(f"row {numbers[early[0]]} would end before it begins; end it later")


@dataclass(frozen=True)
class Batch:
    """New rows and ends that fit to a state."""

    start: Snapshot
    table: pa.Table | None
    history: History
    positions: Ticks
    at: Ticks

    def applied(self) -> Snapshot:
        """The state after this batch. Readers of earlier states do not see it."""
        start, history, table, order = self.start, self.history, self.table, None
        if not in_order(history.sys_start):
            order = np.argsort(history.sys_start, kind="stable")
            history = history.take(order)
            if table is not None and not start.lines.retroactive:
                table = take_rows(table, pa.array(order))
        after = Snapshot(
            start.lines.applied(history.columns, self.positions, self.at),
            start.numbers.appended(history.sys_start.size, order),
            start.types,
            start.schema if table is None else unified(start.schema, table.schema),
            start.chunks if table is None else merged((*start.chunks, table)),
        )
        return after if start.lines.retroactive else _forgetful(after)

    def undo(self) -> None:
        """Give up the state after this batch."""
        self.start.lines.columns.reopen(self.positions)


def _forgetful(after: Snapshot) -> Snapshot:
    """Drop the rows that have ended, and their payload, once they outnumber the others."""
    view = after.lines.columns.view()
    alive = np.flatnonzero((view.sys_end > view.latest) & (view.app_start != FOREVER))
    if len(view) <= 2 * alive.size + 1024:
        return after
    chunks = merged(tuple(Facts(after.chunks).taken(alive)))
    return replace(after, numbers=after.numbers.kept(alive), lines=after.lines.kept(alive), chunks=chunks)


def unified(known: "pa.Schema | None", found: pa.Schema) -> pa.Schema:
    """The schema of all tables together: a column without any value takes the type that others give it."""
    if known is None or found.equals(known):
        return found if known is None else known
    return pa.unify_schemas([known, found])


def fitted(table: pa.Table, schema: "pa.Schema | None", times: "dict[str, pa.DataType]") -> pa.Table:
    """A table with the columns of the index, in their order and plain; other columns or types are refused.

    ``times`` has the types of the period columns, which are cast; an end column without any value has none yet.
    """
    table = pa.table({name: table[name] for name in table.column_names})
    if schema is not None:
        for name in schema.names:
            if name not in table.column_names:
                raise InvalidInputError(
                    f"the appended table has no column {name!r}, which the index holds "
                    f"(its columns: {', '.join(schema.names)}); add it, with nulls if it has no values"
                )
        for name in table.column_names:
            if name not in schema.names:
                raise InvalidInputError(
                    f"the appended table has a column {name!r}, which the index does not hold. "
                    f"{did_you_mean(name, schema.names)} Drop it, or rename it"
                )
        table = table.select(schema.names)
    for at, name in enumerate(table.column_names):
        if name in times and table[name].type != times[name]:
            table = table.set_column(at, name, _cast(table[name], times[name], name))
        elif schema is not None:
            _check_type(table.schema.field(name).type, schema.field(name).type, name)
    return table


def _cast(column: pa.ChunkedArray, kind: pa.DataType, name: str) -> pa.ChunkedArray:
    try:
        return column.cast(kind)
    except pa.ArrowException as error:
        raise InvalidInputError(
            f"column {name!r} is {column.type}, but the index holds {kind}, which does not take its values: {error}"
        ) from error


def _check_type(found: pa.DataType, known: pa.DataType, name: str) -> None:
    if found != known and not pa.types.is_null(found) and not pa.types.is_null(known):
        raise InvalidInputError(f"column {name!r} is {found}, but the index holds {known}; cast it to {known} first")
