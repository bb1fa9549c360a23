"""Which rows have a usable period, and what becomes of the others. No row vanishes unreported."""

import sys
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeloom.engines.tables.arrays import from_numpy
from timeloom.engines.tables.frames import Restore, require_columns
from timeloom.engines.tables.taking import take_rows
from timeloom.engines.tables.ticks import PeriodTicks, Ticks, read_instants, read_period
from timeloom.engines.tables.verdicts import (
    DROPPED,
    EXAMPLES,
    QUARANTINED,
    REFUSED,
    REMEDY,
    REMEDY_WITHOUT_OPTIONS,
    VALID,
    Verdicts,
    dropping,
    faults,
    judge,
    outcome,
    reason_texts,
    refusal,
    written,
)
from timeloom.errors import DroppedRowsWarning, InvalidInputError
from timeloom.model.period import Period
from timeloom.model.policy import Policy

F = TypeVar("F")
"""The kind of table that the user gave."""


@dataclass(frozen=True)
class Admitted:
    """The usable rows of a table with their periods, and the rejected rows with a ``reason`` column."""

    table: pa.Table
    starts: Ticks
    ends: Ticks
    ticks: PeriodTicks
    rejected: pa.Table


def admit(table: pa.Table, period: Period, side: str, policy: Policy, *, options: bool = True) -> Admitted:
    """Read a table's periods and treat invalid and empty ones as the policy says.

    ``options`` tells whether the user has a say in it, by ``on_invalid`` and ``empty``.
    """
    require_columns(table.column_names, list(period.columns), side)
    ticks = read_period(table, period, side)
    starts, (ends, verdict) = ticks.starts, judge(ticks, policy)
    if not verdict.any():
        return Admitted(table, starts, ends, ticks, rejected_rows(table.slice(0, 0), verdict[:0], period))
    refused, dropped, kept_apart = (outcome(verdict, policy) == each for each in (REFUSED, DROPPED, QUARANTINED))
    if refused.any():
        remedy = REMEDY if options else REMEDY_WITHOUT_OPTIONS
        raise InvalidInputError(_complaint(table, np.where(refused, verdict, VALID), period, side, remedy))
    if dropped.any():
        told = dropping(np.where(dropped, verdict, VALID), side)
        warnings.warn(told, DroppedRowsWarning, stacklevel=_callers_level())
    kept, rejected = np.flatnonzero(verdict == VALID), np.flatnonzero(kept_apart)
    return Admitted(
        take_rows(table, from_numpy(kept)),
        starts[kept],
        ends[kept],
        ticks,
        rejected_rows(take_rows(table, from_numpy(rejected)), verdict[rejected], period),
    )


def admit_instants(table: pa.Table, period: Period, side: str, policy: Policy) -> Admitted:
    """Read a table's instants, for whoever never asks when they end; such ends are not written if all are valid."""
    require_columns(table.column_names, list(period.columns), side)
    ticks = read_instants(table, period, side)
    if ticks is None:
        return admit(table, period, side, policy)
    nothing = rejected_rows(table.slice(0, 0), np.zeros(0, np.int8), period)
    return Admitted(table, ticks.starts, ticks.starts, ticks, nothing)


def rejected_rows(rows: pa.Table, verdict: Verdicts, period: Period) -> pa.Table:
    """The rejected rows with their reasons."""
    reasons = reason_texts(period)
    name = free_name("reason", rows.column_names)
    texts = (
        pa.array([reasons[code] for code in verdict.tolist()], pa.string())
        if verdict.size
        else pa.nulls(0, pa.string())
    )
    return rows.append_column(name, texts)


def free_name(name: str, taken: Iterable[str]) -> str:
    """A name that is not taken yet: the wanted one, or the same with underscores behind it."""
    known = set(taken)
    while name in known:
        name += "_"
    return name


@dataclass(frozen=True)
class RejectedNames:
    """The columns of a table of rejected rows of several inputs: the names of each input's own, and two of ours.

    Columns of equal name and type share a column; a name that is taken by another type gets the input's suffix.
    """

    columns: tuple[tuple[str, ...], ...]
    side: str
    reason: str

    @classmethod
    def of(cls, inputs: "list[list[tuple[str, Any]]]", suffixes: "list[object]") -> "RejectedNames":
        """Name the columns of inputs, which have names and types."""
        taken: dict[str, Any] = {}
        given = {name for columns in inputs for name, _ in columns}
        found = []
        for columns, suffix in zip(inputs, suffixes, strict=True):
            names = []
            for name, kind in columns:
                if taken.setdefault(name, kind) != kind:
                    name = free_name(f"{name}_{suffix}", given | taken.keys())
                    taken[name] = kind
                names.append(name)
            found.append(tuple(names))
        return cls(tuple(found), free_name("side", taken), free_name("reason", taken))


def merge_rejected(left: pa.Table, right: pa.Table) -> pa.Table:
    """One table of the rejected rows of two inputs, told apart by a first column ``side``."""
    return _merged([left, right], ["left", "right"], pa.string())


def merge_numbered(tables: "list[pa.Table]") -> pa.Table:
    """One table of the rejected rows of several inputs, told apart by a first column ``side`` with their number."""
    return _merged(tables, list(range(1, len(tables) + 1)), pa.int64())


def _merged(tables: "list[pa.Table]", sides: "list[Any]", kind: pa.DataType) -> pa.Table:
    """Rejected rows, whose last column is the reason."""
    schemas = [[(field.name, field.type) for field in table.schema][:-1] for table in tables]
    named = RejectedNames.of(schemas, sides)
    parts = []
    for rows, names, side in zip(tables, named.columns, sides, strict=True):
        renamed = rows.rename_columns([*names, named.reason])
        parts.append(renamed.add_column(0, named.side, pa.repeat(pa.scalar(side, kind), rows.num_rows)))
    return pa.concat_tables(parts, promote_options="default")


class Quarantined(Generic[F]):
    """A result together with the rows that could not take part.

    Attributes
    ----------
    result
        What the verb returns for the valid rows.
    rejected
        The invalid rows with a ``reason`` column; for two inputs with a ``side`` column, too.
    """

    def __init__(self, result: F, rejected: F) -> None:
        self.result = result
        self.rejected = rejected

    def __iter__(self) -> Iterator[F]:
        return iter((self.result, self.rejected))

    def __repr__(self) -> str:
        return f"Quarantined(result={self.result!r}, rejected={self.rejected!r})"


def answer(result: pa.Table, rejected: pa.Table, policy: Policy, restore: Restore) -> Any:
    """Hand a result to the user in the left input's kind, with the rejected rows when they were asked for."""
    if policy.on_invalid == "quarantine":
        return Quarantined(restore(result), restore(rejected))
    return restore(result)


def _callers_level() -> int:
    """How far up the code lies that called us: a warning is told there, however many layers are between."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals["__name__"].startswith("timeloom."):
        frame, level = frame.f_back, level + 1
    return level


def _complaint(table: pa.Table, verdict: Verdicts, period: Period, side: str, remedy: str) -> str:
    def shown(rows: NDArray[np.int64]) -> list[str]:
        columns = [table[name] for name in period.columns]
        return [f"row {row}: {written(*(column[row] for column in columns))}" for row in rows[:EXAMPLES].tolist()]

    count = f"{int((verdict != VALID).sum())} of {verdict.size} rows"
    return refusal(count, side, faults(verdict, period, shown), remedy)
