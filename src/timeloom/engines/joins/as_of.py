"""As-of joins: the same on local tables as in a Spark task."""

from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeloom.engines.joins.instants import way_of
from timeloom.engines.joins.problem import Side
from timeloom.engines.joins.two_tables import TwoTables
from timeloom.engines.resources.threads import aside, worth
from timeloom.engines.tables.gather import NO_ROW, Rows
from timeloom.engines.tables.value_order import Settle, as_they_come, by_values
from timeloom.kernels.neighbours import as_of as kernel
from timeloom.model.naming import joined_columns
from timeloom.model.neighbours import AsOfRequest, distance_ticks
from timeloom.model.ticks import MAX_TICK


class Matched(NamedTuple):
    """A result, and the two tables that it stems from."""

    result: pa.Table
    tables: TwoTables


def as_of_tables(left: object, right: object, request: AsOfRequest, threads: int) -> Matched:
    """Give each left row the right row that is in force at its instant."""
    tables = TwoTables(left, right, request, threads, instants=True)
    threads = worth(threads, tables.rows)
    layout = joined_columns(
        tables.left.table.column_names,
        tables.right.table.column_names,
        request.keys,
        suffixes=request.suffixes,
        columns=request.columns,
    )
    tolerance = distance_ticks(request.tolerance, tables.axis, MAX_TICK)
    level = [*request.keys.right, *request.right_period.columns]
    settle = partial(by_values, tables.right.table, settled=level)
    partners = aside(partners_of, *tables.sides(threads), request, tolerance, threads, settle, pairs=tables.pairs)
    lefts: Rows | None = None
    if request.how == "inner":
        lefts = np.flatnonzero(partners != NO_ROW).astype(np.int32)
        partners = partners[lefts]
    return Matched(aside(tables.gathered, layout, lefts, partners, {}, threads, pairs=tables.pairs), tables)


def partners_of(
    left: Side,
    right: Side,
    keys: int,
    request: AsOfRequest,
    tolerance: int,
    threads: int,
    settle: Settle = as_they_come,
) -> NDArray[np.int32]:
    """The partner of each left row, or NO_ROW."""
    way = way_of(left, right, keys, threads, settle)
    if request.direction == "nearest":
        partners, after = (way.partners(direction, request.allow_exact) for direction in ("backward", "forward"))
        kernel.closer(left.starts, right.starts, partners, after)
    else:
        partners = way.partners(request.direction, request.allow_exact)
    if tolerance < MAX_TICK:
        kernel.within(left.starts, right.starts, tolerance, partners)
    return partners
