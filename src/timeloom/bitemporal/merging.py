"""A history and a feed of changes, to the history after them: on tables, and key by key on Spark."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyarrow import compute as pc

from timeloom.bitemporal.feed import Feed, apply_feed
from timeloom.bitemporal.table import BitemporalTable
from timeloom.engines.tables.frames import require_columns
from timeloom.engines.tables.keys import group_keys
from timeloom.engines.tables.period_writer import PeriodWriter
from timeloom.engines.tables.ticks import TimeType, column_ticks, read_period
from timeloom.errors import InvalidInputError
from timeloom.kernels.bitemporal.windows import Ticks
from timeloom.model.merge import MergeRequest
from timeloom.model.period import Period
from timeloom.model.policy import Policy
from timeloom.model.ticks import FOREVER, MIN_TICK

PERIODS = (("sys_start", "sys_end"), ("app_start", "app_end"))


@dataclass(frozen=True)
class Merging:
    """Merges tables. ``ordered`` tells whether rows of the feed that are of one time have an order of their own."""

    request: MergeRequest
    ordered: bool = True

    def __call__(self, history: pa.Table, feed: pa.Table, latest: int | None = None) -> pa.Table:
        """The history after the changes, with the columns of the history; ``latest`` is its time, if it is a part."""
        request = self.request
        require_columns(feed.column_names, [*request.key, request.op, request.sys, *request.order], "feed")
        table = BitemporalTable.from_history(
            history,
            list(request.key),
            sys_period=request.sys_period,
            app_period=request.app_period,
            without_overlaps=request.without_overlaps,
        )
        state = table._state
        changes = Feed.read(
            self._in_order(feed, history),
            state.layout,
            state.latest if latest is None else latest,
            request.op,
            request.sys,
            request.late,
        )
        with table.batch() as batch:
            apply_feed(batch, changes, state.layout)
        return self._written(table.history(), history)

    def _in_order(self, feed: pa.Table, history: pa.Table) -> pa.Table:
        """The feed as the history's columns have it, in the order of its changes."""
        request = self.request
        if request.order:
            feed = feed.sort_by([(name, "ascending") for name in request.order])
        elif not self.ordered:
            self._refuse_ties(feed)
        rest = [name for name in request.order if name not in history.column_names and name not in request.key]
        feed = feed.drop_columns([name for name in rest if name not in (request.op, request.sys)])
        return _half_open(feed, request.app_period)

    def _refuse_ties(self, feed: pa.Table) -> None:
        """Rows of a DataFrame have no order, so two changes of one key at one time need one."""
        codes, _ = group_keys(feed, list(self.request.key))
        pairs = pa.table({"key": codes, "sys": feed[self.request.sys]})
        counts = pairs.group_by(["key", "sys"]).aggregate([([], "count_all")])["count_all"]
        if len(counts) and pc.max(counts).as_py() > 1:
            raise InvalidInputError(
                f"the feed has several changes of one key at one {self.request.sys!r}, and rows of a DataFrame have no "
                "order; say by order= which columns tell what came first"
            )

    def _written(self, merged: pa.Table, history: pa.Table) -> pa.Table:
        """The result with the columns of the history, in its own form."""
        request, columns = self.request, {name: merged[name] for name in merged.column_names}
        for period, names in zip((request.sys_period, request.app_period), PERIODS, strict=True):
            columns |= _period_columns(history, period, merged, names)
        return pa.table({name: columns[name].cast(history.schema.field(name).type) for name in history.column_names})


def require_sides(history: list[str], feed: list[str], request: MergeRequest) -> None:
    """Refuse sides without the columns that a merge needs."""
    periods = [*request.sys_period.columns, *request.app_period.columns]
    require_columns(history, [*request.key, *periods], "history")
    require_columns(feed, [*request.key, request.op, request.sys, *request.order], "feed")


def _half_open(feed: pa.Table, period: Period) -> pa.Table:
    """The feed with its application periods as bitemporal tables have them."""
    require_columns(feed.column_names, list(period.columns), "feed")
    ticks = read_period(feed, period, "feed")
    rest = [name for name in feed.column_names if name not in period.columns]
    kind = ticks.type.finest() if period.closed != "left" else ticks.type
    times = {
        "app_start": kind.to_arrow(ticks.starts, ticks.null_starts),
        "app_end": kind.to_arrow(ticks.ends, ticks.ends == FOREVER),
    }
    return pa.table({name: feed[name] for name in rest} | times)


def _period_columns(
    history: pa.Table, period: Period, merged: pa.Table, names: tuple[str, str]
) -> "dict[str, pa.Array]":
    """A period of the result as the history has it: closed as it is, open ends as it writes them."""
    starts, ends = (_ticks(merged[name], name) for name in names)
    return PeriodWriter.of([read_period(history.slice(0, 0), period, "history")], Policy()).columns(starts, ends)


def _ticks(column: pa.ChunkedArray, name: str) -> Ticks:
    ticks, is_open = column_ticks(column, TimeType.of(column.type, name, "history"), truncate=False)
    return np.where(is_open, FOREVER, ticks)


def latest_tick(parts: "list[pa.Scalar]", name: str) -> int:
    """The latest of some instants, null ones aside."""
    known = [part for part in parts if part.is_valid]
    if not known:
        return MIN_TICK
    array = pa.array([part.as_py() for part in known], known[0].type)
    return int(column_ticks(array, TimeType.of(array.type, name, "history"), truncate=False)[0].max())
