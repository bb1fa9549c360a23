"""What is wrong with a table of periods: the same on a local table as in a Spark task."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeloom.engines.tables.arrays import from_numpy, words
from timeloom.engines.tables.frames import require_columns
from timeloom.engines.tables.keys import group_keys
from timeloom.engines.tables.period_writer import PeriodWriter
from timeloom.engines.tables.taking import take_rows, taken
from timeloom.engines.tables.ticks import PeriodTicks, Ticks, read_period
from timeloom.engines.tables.verdicts import NULL_START, VALID, judge
from timeloom.engines.timelines.grouped import Grouped, window_ticks
from timeloom.engines.timelines.sequenced import subtract
from timeloom.kernels.order import sort
from timeloom.kernels.sequenced.difference import cover
from timeloom.kernels.sequenced.overlaps import crowded
from timeloom.model.period import Period
from timeloom.model.policy import Policy
from timeloom.model.sequenced import FAULT_COLUMNS, CheckRequest

Rows = NDArray[np.int64]


class Faults(NamedTuple):
    """Faults of one kind: a row that names the group of each, its time (no start, no end where unknown), its rows."""

    kind: str
    leaders: Rows
    starts: Ticks
    ends: Ticks
    counts: Rows
    unknown: "NDArray[np.bool_] | None" = None


def faults_of(request: CheckRequest, table: pa.Table, threads: int = 1) -> pa.Table:
    """The faults of a table."""
    require_columns(table.column_names, [*request.by, *request.period.columns], "input")
    return _faults(table, read_period(table, request.period, "input"), request, threads)


def _faults(table: pa.Table, ticks: PeriodTicks, request: CheckRequest, threads: int) -> pa.Table:
    found = list(_found(table, ticks, request, threads))
    by = list(request.by)
    leaders, starts, ends, counts = (
        np.concatenate([np.zeros(0, np.int64), *(getattr(part, name) for part in found)])
        for name in ("leaders", "starts", "ends", "counts")
    )
    none = [np.zeros(part.starts.size, np.bool_) if part.unknown is None else part.unknown for part in found]
    unknown = np.concatenate([np.zeros(0, np.bool_), *none])
    kinds = words([(part.kind, part.starts.size) for part in found])
    groups, _ = group_keys(table, by)
    order = np.lexsort((np.arange(starts.size), starts, groups[leaders] if leaders.size else leaders))
    window = window_ticks(request.within, ticks)
    plain = replace(ticks, period=Period(), column=None)
    writer = PeriodWriter.of([plain], Policy(empty="point" if ticks.period.closed != "left" else None), window or ())
    columns: dict[str, Any] = {name: taken(table[name], from_numpy(leaders[order]), name) for name in by}
    written = (
        kinds.take(from_numpy(order)),
        writer.starts(starts[order], unknown[order]),
        writer.ends(ends[order]),
        from_numpy(counts[order].astype(np.int64)),
    )
    return pa.table(columns | dict(zip(FAULT_COLUMNS, written, strict=True)))


def _found(table: pa.Table, ticks: PeriodTicks, request: CheckRequest, threads: int) -> Iterator[Faults]:
    ends, verdict = judge(ticks, Policy())
    invalid, valid = np.flatnonzero(verdict != VALID), np.flatnonzero(verdict == VALID)
    unknown = verdict[invalid] == NULL_START
    ones = np.ones(invalid.size, np.int64)
    yield Faults("invalid", invalid, ticks.starts[invalid], ends[invalid], ones, unknown)
    rows = table if valid.size == table.num_rows else take_rows(table, from_numpy(valid))
    starts, ends = ticks.starts[valid], ends[valid]
    if request.duplicates:
        yield _duplicates(rows, starts, ends, valid)
    if request.overlaps:
        yield _overlaps(Grouped.of(rows, starts, ends, list(request.by)), valid, threads)
    if request.gaps:
        window = window_ticks(request.within, ticks)
        yield _gaps(Grouped.of(rows, starts, ends, list(request.by), window), valid, threads)


def _duplicates(rows: pa.Table, starts: Ticks, ends: Ticks, valid: Rows) -> Faults:
    names, count = group_keys(rows, rows.column_names)
    sizes = np.bincount(names, minlength=count)
    firsts = np.full(count, -1, np.int64)
    firsts[names[::-1]] = np.arange(names.size)[::-1]
    several = firsts[sizes > 1]
    return Faults("duplicate", valid[several], starts[several], ends[several], sizes[sizes > 1])


def _overlaps(grouped: Grouped, valid: Rows, threads: int) -> Faults:
    order = sort(grouped.starts, threads, grouped.ends)
    starts, ends = crowded(order.values, order.beside)
    counts = np.searchsorted(order.values, ends, "left") - np.searchsorted(np.sort(order.beside), starts, "right")
    return Faults("overlap", valid[_leaders(grouped, starts)], *_times(grouped, starts, ends), counts)


def _gaps(grouped: Grouped, valid: Rows, threads: int) -> Faults:
    free = subtract(*grouped.spans()[:2], cover(grouped.starts, grouped.ends, threads), threads)
    leaders = _leaders(grouped, free.starts)
    named = valid[leaders] if valid.size else np.zeros(leaders.size, np.int64)
    return Faults("gap", named, *_times(grouped, free.starts, free.ends), np.zeros(free.starts.size, np.int64))


def _leaders(grouped: Grouped, positions: Ticks) -> Rows:
    """A row of the group of each position."""
    if grouped.fold is None:
        return np.zeros(positions.size, np.int64)
    return grouped.leaders[positions // grouped.fold.width]


def _times(grouped: Grouped, starts: Ticks, ends: Ticks) -> tuple[Ticks, Ticks]:
    if grouped.fold is None:
        return starts, ends
    return grouped.fold.unfold(starts), grouped.fold.unfold(ends)
