"""As-of joins: the same on local tables as in a Spark task."""

from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeloom.engines.joins.problem import Side
from timeloom.engines.joins.two_tables import TwoTables
from timeloom.engines.resources.threads import aside, in_parallel
from timeloom.engines.tables.gather import NO_ROW, Rows
from timeloom.kernels import order
from timeloom.kernels.neighbours import as_of as kernel
from timeloom.model.naming import joined_columns
from timeloom.model.neighbours import AsOfRequest, distance_ticks
from timeloom.model.ticks import MAX_TICK

_KERNELS = {"backward": kernel.backward, "forward": kernel.forward}
_NO_KEYS = np.zeros(0, np.int64)


class Matched(NamedTuple):
    """A result, and the two tables that it stems from."""

    result: pa.Table
    tables: TwoTables


def as_of_tables(left: object, right: object, request: AsOfRequest, threads: int) -> Matched:
    """Give each left row the right row that is in force at its instant."""
    tables = TwoTables(left, right, request)
    layout = joined_columns(
        tables.left.table.column_names,
        tables.right.table.column_names,
        request.keys,
        suffixes=request.suffixes,
        columns=request.columns,
    )
    tolerance = distance_ticks(request.tolerance, tables.axis, MAX_TICK)
    partners = aside(partners_of, *tables.sides(), request, tolerance, threads)
    lefts: Rows | None = None
    if request.how == "inner":
        lefts = np.flatnonzero(partners != NO_ROW).astype(np.int32)
        partners = partners[lefts]
    return Matched(aside(tables.gathered, layout, lefts, partners, {}, threads), tables)


def partners_of(
    left: Side, right: Side, keys: int, request: AsOfRequest, tolerance: int, threads: int
) -> NDArray[np.int32]:
    """The partner of each left row, or NO_ROW."""
    by_time = in_parallel([partial(order.sort, side.starts, max(1, threads // 2)) for side in (left, right)], threads)
    left_keys = _NO_KEYS if left.keys is None else left.keys
    right_keys = _NO_KEYS if right.keys is None else right.keys

    def found(direction: str) -> NDArray[np.int32]:
        rows = np.empty(len(left), np.int32)
        merge = _KERNELS[direction]
        sides = (by_time[0].values, by_time[0].ids, left_keys), (by_time[1].values, by_time[1].ids, right_keys)
        merge(*sides[0], *sides[1], keys, request.allow_exact, rows)
        return rows

    if request.direction == "nearest":
        partners, after = in_parallel([partial(found, "backward"), partial(found, "forward")], threads)
        kernel.closer(left.starts, right.starts, partners, after)
    else:
        partners = found(request.direction)
    if tolerance < MAX_TICK:
        kernel.within(left.starts, right.starts, tolerance, partners)
    return partners
