"""Feeds of changes, as databases capture them: rows with an operation and a system time."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from timeloom.bitemporal.batch import PERIOD, Batch
from timeloom.bitemporal.layout import Layout
from timeloom.engines.tables.frames import require_columns
from timeloom.engines.tables.taking import take_rows
from timeloom.engines.tables.ticks import TimeType, column_ticks
from timeloom.errors import InvalidInputError, UsageError, did_you_mean, shown
from timeloom.model.merge import LATE, Late

OPERATIONS = {
    "insert": "insert", "i": "insert", "c": "insert", "create": "insert", "r": "insert", "read": "insert",
    "update": "update", "u": "update",
    "delete": "delete", "d": "delete",
    "upsert": "upsert", "merge": "upsert",
}  # fmt: skip
"""What a feed may call its operations, among them the letters of Debezium."""


@dataclass(frozen=True)
class Feed:
    """Changes in order of system time; each has an operation and an instant."""

    rows: pa.Table
    names: list[str]
    instants: list[Any]

    @classmethod
    def read(cls, table: pa.Table, layout: Layout, latest: int, op: str, sys: str, late: Late) -> "Feed":
        """Read a feed for a table that has reached a system time; rows from before that are late."""
        if late not in LATE:
            raise UsageError(f"late={shown(late)} is unknown. {did_you_mean(str(late), LATE)}")
        require_columns(table.column_names, [*layout.key, op, sys, *PERIOD], "feed")
        kind = TimeType.of(table.schema.field(sys).type, sys, "feed")
        if layout.sys_type is not None and kind.axis is not layout.sys_type.axis:
            raise InvalidInputError(
                f"{sys!r} of the feed is {kind.arrow}, system time of the table {layout.sys_type.arrow}; cast it"
            )
        ticks, null = column_ticks(table[sys], kind, truncate=False)
        if null.any():
            raise InvalidInputError(f"column {sys!r} of the feed is null in {null.sum()} rows; give each its time")
        is_late = ticks < latest
        if is_late.any() and late == "error":
            raise InvalidInputError(
                f"{is_late.sum()} rows of the feed are late, the first of {kind.shown(int(ticks[is_late][0]))}: "
                f"the table has reached {kind.shown(latest)}; late='now' records them as learned then"
            )
        ticks = np.where(is_late, latest, ticks)
        order = np.argsort(ticks, kind="stable")
        names = [_operation(name, op) for name in table[op].to_pylist()]
        instants = kind.finest().to_arrow(ticks[order]).to_pylist()
        rows = take_rows(table.drop_columns(list(dict.fromkeys([op, sys]))), pa.array(order))
        return cls(rows, [names[at] for at in order.tolist()], instants)

    def runs(self) -> Iterator[tuple[str, Any, pa.Table]]:
        """Changes that can be made together: inserts of one time, and everything else row by row."""
        begin, count = 0, len(self.names)
        while begin < count:
            stop, name = begin + 1, self.names[begin]
            while stop < count and self.names[stop] == name and self.instants[stop] == self.instants[begin]:
                stop += 1
            yield name, self.instants[begin], self.rows.slice(begin, stop - begin)
            begin = stop


def apply_feed(batch: Batch, feed: Feed, layout: Layout) -> None:
    """Make the changes of a feed, in their order."""
    for name, now, rows in feed.runs():
        if name == "insert":
            batch.insert(rows, sys=now)
            continue
        values = [column for column in rows.column_names if column not in (*layout.key, *PERIOD)]
        for row in rows.to_pylist():
            key = {column: row[column] for column in layout.key}
            portion = (row["app_start"], row["app_end"])
            if name == "update":
                batch.update(key, {column: row[column] for column in values}, sys=now, portion=portion)
            elif name == "delete":
                batch.delete(key, sys=now, portion=portion)
            else:
                batch.upsert(row, sys=now)


def _operation(name: Any, column: str) -> str:
    known = OPERATIONS.get(str(name).lower()) if isinstance(name, str) else None
    if known is None:
        raise InvalidInputError(
            f"column {column!r} of the feed has {shown(name)}, which is no operation. "
            f"{did_you_mean(str(name), ['insert', 'update', 'delete', 'upsert'])}"
        )
    return known
