"""The sequenced join on local tables."""

from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeloom.engines.counts.limits import Limit, bytes_of
from timeloom.engines.joins.pairs import TooManyPairsError
from timeloom.engines.joins.problem import Side
from timeloom.engines.resources.threads import aside, cores
from timeloom.engines.tables.axes import same_axis
from timeloom.engines.tables.conditions import held
from timeloom.engines.tables.frames import beside, require_columns, to_arrow
from timeloom.engines.tables.gather import NO_ROW, Source, build, in_pieces, positions
from timeloom.engines.tables.key_columns import JoinedSources
from timeloom.engines.tables.keys import shared_keys
from timeloom.engines.tables.period_writer import PeriodWriter
from timeloom.engines.tables.validity import Admitted, Quarantined, admit, answer, merge_numbered, merge_rejected
from timeloom.engines.timelines.depths import merge_facts
from timeloom.engines.timelines.judged import KeepShared, covered, judged_rows, passing
from timeloom.engines.timelines.sequenced import Shared, TwoSides
from timeloom.kernels.sequenced.difference import Pieces
from timeloom.model.explanation import Explanation
from timeloom.model.naming import OutputColumn, joined_columns
from timeloom.model.sequenced import AntijoinRequest, TemporalJoinRequest, read_columns

SHARED_TICKS = 32
"""The bytes of the periods of both rows of a pair, from which the shared one is made."""


NO_ROWS = Shared(*np.zeros((2, 0), np.int32), *np.zeros((2, 0), np.int64))


class LocalPair:
    """Two admitted tables, ready for a sequenced verb."""

    def __init__(self, left: object, right: object, request: TemporalJoinRequest | AntijoinRequest) -> None:
        self.request = request
        left_table, self.restore = to_arrow(left, "left")
        right_table, other = to_arrow(right, "right")
        require_columns(left_table.column_names, list(request.keys.left), "left")
        require_columns(right_table.column_names, list(request.keys.right), "right")
        if isinstance(request, TemporalJoinRequest):
            self.restore = beside(self.restore, other, request.suffixes)
        self.left: Admitted = admit(left_table, request.left_period, "left", request.policy)
        self.right: Admitted = admit(right_table, request.right_period, "right", request.policy)
        same_axis(self.left.ticks.type, self.right.ticks.type)

    @property
    def rejected(self) -> pa.Table:
        """The rows that take no part, of both sides."""
        return merge_rejected(self.left.rejected, self.right.rejected)

    def sides(self) -> TwoSides:
        """The numeric problem: ticks and keys."""
        left_keys = right_keys = None
        count = 0
        if self.request.keys:
            names = list(self.request.keys.left), list(self.request.keys.right)
            left_keys, right_keys, count = shared_keys(self.left.table, self.right.table, *names, cores())
        left = Side(self.left.starts, self.left.ends, left_keys)
        return TwoSides(left, Side(self.right.starts, self.right.ends, right_keys), count, cores())

    def keep(self) -> "KeepShared | None":
        """Which pairs satisfy the condition; None if there is none."""
        condition = self.request.where
        if condition is None:
            return None
        names = self.left.ticks.period.placed(self.left.table.column_names) if self.wide else None
        read = read_columns(self.request, names or self.left.table.column_names, self.right.table.column_names)
        task = Assembly(self, list(read.values()))

        def keep(rows: Shared) -> NDArray[np.bool_]:
            at = positions(rows.left), positions(rows.right)
            columns = {name: task.column(column, rows, *at) for name, column in read.items()}
            return held(condition, columns, rows.left.size)

        return keep

    def limit(self, layout: list[OutputColumn]) -> Limit:
        """How many rows the result may have."""
        tables = {"left": self.left.table, "key": self.left.table, "right": self.right.table}
        named = [column for column in layout if column.left not in self.writer().period.columns]
        columns = [tables[column.origin][column.left or column.right] for column in named]
        most = self.request.max_rows if isinstance(self.request, TemporalJoinRequest) else None
        return Limit.of(most, bytes_of(columns) + SHARED_TICKS, "join parts of the tables, one at a time")

    def writer(self) -> PeriodWriter:
        """How to write result periods: as the left input does, in a type that holds both sides' ticks."""
        return PeriodWriter.of([self.left.ticks, self.right.ticks], self.request.policy, wide=self.wide)

    @property
    def pairs(self) -> int:
        """Pairs of a left and a right row."""
        return len(self.left.starts) * len(self.right.starts)

    @property
    def wide(self) -> bool:
        """Whether a result may last longer than an instant of the left side."""
        return isinstance(self.request, TemporalJoinRequest) and self.request.wide(self.right.ticks.period)


def temporal_join(left: object, right: object, request: TemporalJoinRequest) -> Any:
    """Join two local tables instant by instant."""
    pair = LocalPair(left, right, request)
    if request.how == "semi":
        result = pieces_of_left(pair, aside(_together, pair, pairs=pair.pairs), request.columns)
        return answer(result, pair.rejected, request.policy, pair.restore)
    names = pair.left.table.column_names
    layout = joined_columns(
        pair.left.ticks.period.placed(names) if pair.wide else names,
        pair.right.table.column_names,
        request.keys,
        suffixes=request.suffixes,
        without_right=request.right_period.columns,
        columns=request.columns,
    )
    task = Assembly(pair, layout)
    result = aside(_joined, pair, task, pair.limit(layout), pairs=pair.pairs)
    return answer(result, pair.rejected, request.policy, pair.restore)


def _together(pair: LocalPair) -> Pieces:
    """The time in which left rows have a partner."""
    sides, keep = pair.sides(), pair.keep()
    if keep is None:
        return sides.together()
    return covered(sides, list(passing(sides, pair.request.algorithm, keep, pair.request.m or 0)))


def pieces_of_left(pair: LocalPair, pieces: Pieces, columns: "tuple[str, ...] | None") -> pa.Table:
    """The left columns, with sub-periods of left rows in the period columns."""
    layout = joined_columns(pair.left.table.column_names, [], pair.request.keys, columns=columns)
    source, rows, writer = Source(pair.left.table), positions(pieces.rows), pair.writer()

    def make(column: OutputColumn) -> pa.ChunkedArray:
        if column.left in pair.request.left_period.columns:
            return pa.chunked_array([writer.columns(pieces.starts, pieces.ends)[column.left]])
        return source.take(column.left, rows)

    return build([(column.name, partial(make, column)) for column in layout], len(rows), cores())


def _joined(pair: LocalPair, task: "Assembly", limit: Limit) -> pa.Table:
    """The result, if it is not too large."""
    sides, request = pair.sides(), pair.request
    assert isinstance(request, TemporalJoinRequest)
    keep = pair.keep()
    if keep is None:
        limit.check(sides.problem, sides.boxes)
    try:
        rows = _rows(sides, request, limit.rows, keep)
    except TooManyPairsError as error:
        raise limit.too_many(sides.problem, sides.boxes, error) from None
    size = sum(piece.left.size for piece in rows)
    limit.judge(size)
    return in_pieces(task.table, rows, size, cores())


def explain_temporal_join(frames: "list[Any]", requests: list[TemporalJoinRequest]) -> Explanation:
    """Say how a sequenced join would run. Of more than two tables, each is joined to the result of those before it."""
    request = requests[0]
    pair = LocalPair(frames[0], frames[1], request)
    dip = request.algorithm == "dip"
    facts = {
        "how": request.how,
        "algorithm": "forward_scan" if request.algorithm == "auto" else request.algorithm,
        "left rows": len(pair.left.starts),
        "right rows": len(pair.right.starts),
        "keys": list(request.keys.left),
    }
    if dip:
        facts |= merge_facts(*pair.sides().positions, request.m, pairs=True)
    why = ["rows that share time lie in runs of a sorted column, so nothing is compared in vain"]
    if request.algorithm != "auto":
        why = ["it was asked for"]
    if dip and request.how != "inner" and request.m is None:
        why.append("one merge of all partitions with the right side finds pairs and remainders")
    if request.where is not None:
        facts["judged by"] = request.where.text
        why.append("pairs are judged page by page; what none that passes covers is alone")
    if len(frames) > 2:
        facts |= {"tables": len(frames), "rows": [_rows_of(frame, at) for at, frame in enumerate(frames, start=1)]}
        why.append(f"each of the {len(frames) - 2} further tables is joined to the result of those before it")
    return Explanation("temporal_join", "local", facts, tuple(why))


def _rows_of(frame: Any, number: int) -> int:
    return int(to_arrow(frame, f"input {number}")[0].num_rows)


def _rows(sides: TwoSides, request: TemporalJoinRequest, most: int | None, keep: KeepShared | None) -> list[Shared]:
    """All result rows, in pieces: the pairs, and what an outer join keeps of either side."""
    if keep is not None:
        return judged_rows(sides, request.how, request.algorithm, keep, most, request.m or 0) or [NO_ROWS]
    if request.algorithm == "dip" and request.how != "inner" and request.m is None:
        return sides.outer_pairs(request.how, most=most) or [NO_ROWS]
    m = request.m or 0
    pieces = sides.pairs(request.algorithm, most, m)
    rest = "dip" if request.algorithm == "dip" else "cover"
    if request.how in ("left", "full"):
        rows, starts, ends = sides.alone(rest, m=m)
        pieces.append(Shared(rows, np.full(rows.size, NO_ROW, np.int32), starts, ends))
    if request.how in ("right", "full"):
        rows, starts, ends = sides.alone(rest, flip=True, m=m)
        pieces.append(Shared(np.full(rows.size, NO_ROW, np.int32), rows, starts, ends))
    return pieces or [NO_ROWS]


class Assembly:
    """Writes result rows as a table: payload by position, periods by their ticks."""

    def __init__(self, pair: LocalPair, layout: list[OutputColumn]) -> None:
        self.layout, self.writer = layout, pair.writer()
        self.sources = JoinedSources(pair.left.table, pair.right.table, pair.request.keys)

    def table(self, rows: Shared, threads: int) -> pa.Table:
        """One piece of the result."""
        at = positions(rows.left), positions(rows.right)
        columns = [(column.name, partial(self.column, column, rows, *at)) for column in self.layout]
        return build(columns, rows.left.size, threads)

    def column(self, column: OutputColumn, rows: Shared, left_rows: pa.Array, right_rows: pa.Array) -> pa.ChunkedArray:
        """One column of it."""
        if column.origin == "right":
            return self.sources.right.take(column.right, right_rows)
        if column.left in self.writer.period.columns:
            return pa.chunked_array([self.writer.columns(rows.starts, rows.ends)[column.left]])
        if column.origin == "key":
            return self.sources.key(column, rows.left, rows.right)
        return self.sources.left.take(column.left, left_rows)


def temporal_join_all(frames: "list[Any]", requests: list[TemporalJoinRequest]) -> Any:
    """Join several tables one after the other; rejected rows are told apart by the number of their table."""
    result, restore = to_arrow(frames[0], "first")
    tables = [result, *(to_arrow(frame, f"input {number}")[0] for number, frame in enumerate(frames[1:], start=2))]
    for table, request in zip(tables[1:], requests, strict=True):
        step = temporal_join(result, table, request)
        result = step.result if isinstance(step, Quarantined) else step
    policy = requests[0].policy
    if policy.on_invalid != "quarantine":
        return restore(result)
    periods = [requests[0].left_period, *(request.right_period for request in requests)]
    refused = [admit(table, period, "input", policy).rejected for table, period in zip(tables, periods, strict=True)]
    return answer(result, merge_numbered(refused), policy, restore)
