"""Aggregates of active rows from what changes at each tick: changes of several tasks add up, whoever makes them.

A row begins, and brings one row, its values and their sums; where it ends it takes them back. What many rows change at
one tick is one change. Sums travel in limbs, each of which counts a power of two, so that nothing is rounded.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from timeloom.engines.tables.arrays import from_numpy, to_numpy
from timeloom.engines.tables.gather import Source
from timeloom.engines.tables.key_types import plain_values
from timeloom.engines.timelines.measure_task import within_digits
from timeloom.engines.timelines.measure_values import integer_halves
from timeloom.engines.timelines.measures import summed_up
from timeloom.kernels import order
from timeloom.kernels.aggregates.changes import (
    Slots,
    add_by_slot,
    add_in_order,
    dealt_changes,
    deciding,
    endpoints_of,
    mark_slots,
    net_changes,
    running_totals,
    spans_of,
    used_slots,
)
from timeloom.kernels.counts.sums import Limb, integer_limbs, integer_totals
from timeloom.kernels.order import Ticks
from timeloom.model.aggregates import PartKind
from timeloom.model.measures import Measure
from timeloom.model.ticks import FOREVER, MIN_TICK

TICK, ROWS = "tick", "rows"
"""The columns with the ticks of changes, each as its distance from the one before, and with how many rows begin or end.

Beside them stand, for each measured column, how many of its values are no nulls, if some are, and the limbs of sums.
"""

VALUES, SUMS = "n", "s"
"""With what the names of these columns begin; the number of the measured column follows, and a limb's power of two."""

FIRST = b"first"
"""In the metadata of a table of changes: the first tick."""

SMALL = 2**31
"""Sums of integers below this need no limbs: so many rows cannot make them overflow."""

CLOSE, MOST_SLOTS = 4, 1 << 21
"""Ticks have a slot each where there are at most so many for each change, and no more than take 16 MiB a column."""

LOOKED_AT = 1 << 10
"""From so many ticks on some of all decide where time is cut."""


def suits(measure: Measure, kind: pa.DataType | None) -> bool:
    """Whether a measure of a column of this type can be had from changes: sums of doubles would need too many limbs."""
    if measure.aggregate is None or not measure.aggregate.reversible:
        return False
    return PartKind.TOTAL not in _parts(measure) or not (kind is None or pa.types.is_floating(kind))


def _parts(measure: Measure) -> tuple[PartKind, ...]:
    combination = measure.aggregate and measure.aggregate.combination
    return combination.parts if combination else ()


@dataclass(frozen=True)
class Measured:
    """The columns that are measured, each with one of its measures: whether sums are asked for, and of which type."""

    columns: dict[str, Measure]

    @classmethod
    def of(cls, measures: Iterable[Measure]) -> "Measured":
        """The measure that asks most of each column."""
        found: dict[str, Measure] = {}
        for measure in measures:
            if measure.column is not None and (measure.column not in found or PartKind.TOTAL in _parts(measure)):
                found[measure.column] = measure
        return cls(found)

    def weights(self, rows: pa.Table) -> dict[str, Ticks]:
        """What each row brings, by the names that this has in tables of changes."""
        found: dict[str, Ticks] = {}
        source = Source(rows)
        for number, (name, measure) in enumerate(self.columns.items()):
            column = plain_values(source.column(name))
            if column.null_count:
                found[_values(number)] = to_numpy(column.is_valid()).astype(np.int64)
            if PartKind.TOTAL in _parts(measure):
                low, high = integer_halves(column, measure)
                small = high is None and low.min(initial=0) > -SMALL and low.max(initial=0) < SMALL
                limbs = [Limb(0, low)] if small else integer_limbs(low, high)
                found |= {_sum(number, limb.position): limb.weights for limb in limbs}
        return found


def _values(number: int) -> str:
    return f"{VALUES}{number}"


def _sum(number: int, position: int) -> str:
    return f"{SUMS}{number}:{position}"


def changes_of(starts: Ticks, ends: Ticks, rows: pa.Table, measured: Measured) -> "Changes":
    """What some rows change, on one thread. Rows that last no time change nothing."""
    lasting = starts < ends
    if not lasting.all():
        starts, ends = starts[lasting], ends[lasting]
        rows = rows.filter(from_numpy(lasting)) if rows.num_columns else rows
    weights = measured.weights(rows)
    names, slots = [ROWS, *weights], slots_of([starts, ends])
    if slots is not None:
        changes = np.zeros((slots.size, len(names)), np.int64)
        stacked = np.stack(list(weights.values())) if weights else np.zeros((0, starts.size), np.int64)
        dealt_changes(starts, ends, stacked, slots.base, changes)
        most = min(slots.size, 2 * starts.size)
        ticks, made = np.empty(most, np.int64), np.empty((len(names), most), np.int64)
        size = used_slots(changes, slots.base, ticks, made)
        ticks, columns = ticks[:size], list(made[:, :size])
    else:
        by_start, by_end = order.sort(starts), order.sort(ends)
        ticks, begun, ended = endpoints_of(by_start, by_end)
        columns = [np.diff(begun - ended, prepend=np.int32(0)).astype(np.int64)]
        for values in weights.values():
            columns.append(np.empty(ticks.size, np.int64))
            net_changes(values, by_start.ids, by_end.ids, begun, ended, columns[-1])
    return Changes(ticks, dict(zip(names, columns, strict=True)), dict.fromkeys(names, 0))


def slots_of(ticks: Sequence[Ticks]) -> Slots | None:
    """A slot for each tick there may be, if these lie so close together that most are there; the end of time apart."""
    some = [column for column in ticks if column.size]
    if not some:
        return None
    base, last = min(int(column.min()) for column in some), max(int(column.max()) for column in some)
    if last == FOREVER:
        finite = (column[column != FOREVER] for column in some)
        last = max((int(column.max()) for column in finite if column.size), default=base)
    size = last - base + 2
    close = size <= min(CLOSE * sum(column.size for column in some), MOST_SLOTS)
    return Slots(base, size) if close else None


@dataclass(frozen=True)
class Changes:
    """Changes at ascending ticks, by column, and what had changed before the first of them."""

    ticks: Ticks
    columns: dict[str, Ticks]
    before: dict[str, int]

    @property
    def idle(self) -> bool:
        """Whether nothing changes, and nothing had."""
        return not self.ticks.size and not any(self.before.values())

    def with_columns(self, names: Iterable[str]) -> "Changes":
        """The same with all of these columns: as many values as rows, and no sums, where they are not told."""
        columns, before = dict(self.columns), dict(self.before)
        for name in names:
            if name not in columns:
                of_rows = name.startswith(VALUES)
                columns[name] = columns[ROWS] if of_rows else np.zeros(self.ticks.size, np.int64)
                before[name] = before[ROWS] if of_rows else 0
        return Changes(self.ticks, columns, before)

    def part(self, since: int, until: int) -> "Changes":
        """Those from one tick on and before another."""
        first, last = np.searchsorted(self.ticks, [since, until]).tolist()
        if until == FOREVER:
            last = self.ticks.size
        before = {name: self.before[name] + int(column[:first].sum()) for name, column in self.columns.items()}
        return Changes(self.ticks[first:last], {n: column[first:last] for n, column in self.columns.items()}, before)

    def table(self) -> pa.Table:
        """As a table, which begins with what had changed before; ticks are distances, which narrow well."""
        apart = np.concatenate([np.zeros(1, np.int64), np.diff(self.ticks, prepend=self.ticks[:1])])
        columns = {name: np.concatenate([[self.before[name]], column]) for name, column in self.columns.items()}
        schema = {TICK: from_numpy(apart)} | {name: from_numpy(column) for name, column in columns.items()}
        first = int(self.ticks[0]) if self.ticks.size else 0
        return pa.table(schema).replace_schema_metadata({FIRST: str(first).encode()})

    @classmethod
    def read(cls, table: pa.Table) -> "Changes":
        """Read such a table."""
        columns = {name: to_numpy(table[name]) for name in table.column_names}
        ticks = np.cumsum(columns.pop(TICK)[1:])
        ticks += int((table.schema.metadata or {})[FIRST])
        return cls(ticks, {n: column[1:] for n, column in columns.items()}, {n: int(c[0]) for n, c in columns.items()})


def agreed_bounds(all_changes: Sequence[Changes], parts: int) -> list[int]:
    """Where to cut time into so many parts of about as many ticks, or fewer.

    Which ticks there are decides, not whose changes they are: so tasks agree that know the same rows.
    """
    if parts == 1:
        return []
    seen = [_deciding(changes.ticks) for changes in all_changes]
    ticks = order.distinct(np.concatenate(seen)) if seen else np.zeros(0, np.int64)
    if ticks.size < LOOKED_AT and all_changes:
        ticks = order.distinct(np.concatenate([changes.ticks for changes in all_changes]))
    return sorted({int(ticks[ticks.size * part // parts]) for part in range(1, parts)}) if ticks.size else []


def _deciding(ticks: Ticks) -> Ticks:
    found = np.empty(ticks.size, np.int64)
    return found[: deciding(ticks, found)]


def together(parts: "Sequence[Changes]") -> "Changes":
    """The changes of several tasks as those of one."""
    if len(parts) == 1:
        return parts[0]
    names = dict.fromkeys(name for part in parts for name in part.columns)
    whole = [part.with_columns(names) for part in parts]
    before = {name: sum(part.before[name] for part in whole) for name in names}
    slots = slots_of([part.ticks for part in parts])
    if slots is not None:
        used = np.zeros(slots.size, np.uint8)
        for part in parts:
            mark_slots(part.ticks, slots.base, used)
        some = np.flatnonzero(used)
        return Changes(slots.ticks(some), {name: _by_slot(whole, name, slots)[some] for name in names}, before)
    by_tick = order.sort(np.concatenate([part.ticks for part in parts]))
    first = np.diff(by_tick.values, prepend=by_tick.values[:1] - 1) != 0
    columns = {name: np.empty(np.count_nonzero(first), np.int64) for name in names}
    for name, sums in columns.items():
        add_in_order(by_tick.values, by_tick.ids, np.concatenate([part.columns[name] for part in whole]), sums)
    return Changes(by_tick.values[first], columns, before)


def _by_slot(parts: "Sequence[Changes]", name: str, slots: Slots) -> Ticks:
    sums = np.zeros(slots.size, np.int64)
    for part in parts:
        add_by_slot(part.ticks, part.columns[name], slots.base, sums)
    return sums


class Timeline:
    """The periods between two ticks in which rows are active, from the changes of several tasks."""

    def __init__(self, parts: Sequence[Changes], since: int = MIN_TICK, until: int = FOREVER) -> None:
        self._changes = found = together(parts)
        self.spans = spans_of(found.ticks, found.columns[ROWS], found.before[ROWS], since, until)

    def measured(self, measures: Sequence[Measure], kinds: dict[str, pa.DataType]) -> dict[str, pa.Array]:
        """Every measure, by name; ``kinds`` are the types of the measured columns."""
        columns = list(Measured.of(measures).columns)
        sums = {name: ChangedColumn(self, columns.index(name), kinds[name]) for name in columns}
        return {
            measure.name: from_numpy(self.spans.active)
            if measure.column is None
            else summed_up(sums[measure.column], measure)
            for measure in measures
        }

    def present(self, number: int) -> Ticks:
        """How many values of a column each period has: as many as rows, unless some are nulls."""
        name = _values(number)
        return self._totals(name) if name in self._changes.columns else self.spans.active

    def sums(self, number: int) -> dict[int, Ticks]:
        """The limbs of the sums of a column, by the powers of two that they count."""
        told = _sum(number, 0).removesuffix("0")
        names = [name for name in self._changes.columns if name.startswith(told)]
        return {int(name.removeprefix(told)): self._totals(name) for name in names}

    def _totals(self, name: str) -> Ticks:
        found = np.empty(self.spans.starts.size, np.int64)
        running_totals(self._changes.columns[name], self._changes.before[name], self.spans.changed, found)
        return found


@dataclass
class ChangedColumn:
    """What measures of one column have in common."""

    line: Timeline
    number: int
    kind: pa.DataType
    threads: int = 1

    @cached_property
    def present(self) -> Ticks:
        """How many values each period has."""
        return self.line.present(self.number)

    def integer_totals(self, measure: Measure) -> tuple[Ticks, Ticks | None]:
        """The exact sums, as the lower and the upper 64 bits, or as int64 if all fit."""
        lower, upper = self._totals
        return (lower, None) if upper is None else within_digits(lower, upper, measure)

    @cached_property
    def _totals(self) -> tuple[Ticks, Ticks | None]:
        sums = self.line.sums(self.number)
        return (sums[0], None) if list(sums) == [0] else integer_totals(list(sums), list(sums.values()))
