"""The relation join on local tables."""

from collections.abc import Iterable, Iterator
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeloom.engines.counts.counting import exists
from timeloom.engines.counts.limits import Limit, bytes_of
from timeloom.engines.joins.algorithms import candidates, choices, find
from timeloom.engines.joins.pairs import Matches, TooManyPairsError
from timeloom.engines.joins.problem import Problem, Side
from timeloom.engines.joins.residual import Keep, judged, sharing, without_short
from timeloom.engines.resources.threads import aside, cores
from timeloom.engines.tables.axes import same_axis
from timeloom.engines.tables.conditions import held
from timeloom.engines.tables.frames import beside, require_columns, to_arrow
from timeloom.engines.tables.gather import NO_ROW, Rows, build, from_values, in_pieces, positions
from timeloom.engines.tables.key_columns import JoinedSources
from timeloom.engines.tables.keys import shared_keys
from timeloom.engines.tables.overlap import overlap_column, overlap_length
from timeloom.engines.tables.period_writer import PeriodWriter
from timeloom.engines.tables.taking import take_rows
from timeloom.engines.tables.validity import Admitted, Quarantined, admit, answer, merge_rejected
from timeloom.engines.tables.windows import keys_within, window_bounds
from timeloom.model.conditions import Condition
from timeloom.model.explanation import Explanation
from timeloom.model.join import JoinRequest
from timeloom.model.naming import OutputColumn, joined_columns
from timeloom.model.ticks import ticks_of


class LocalJoin:
    """Two admitted tables, ready to be joined."""

    def __init__(self, left: object, right: object, request: JoinRequest) -> None:
        self.request = request
        left_table, self.restore = to_arrow(left, "left")
        right_table, other = to_arrow(right, "right")
        require_columns(left_table.column_names, list(request.keys.left), "left")
        require_columns(right_table.column_names, list(request.keys.right), "right")
        self.restore = beside(self.restore, other, request.suffixes)
        self.columns = _layout(left_table, right_table, request)
        self.left: Admitted = admit(left_table, request.left_period, "left", request.policy)
        self.right: Admitted = admit(right_table, request.right_period, "right", request.policy)
        self.axis = same_axis(self.left.ticks.type, self.right.ticks.type)
        self.boxes = request.relation.boxes(self.axis)
        self.window = window_bounds(request.window, self.left.ticks.type, self.boxes)
        self.writer = PeriodWriter.of([self.left.ticks, self.right.ticks], request.policy)

    @cached_property
    def sources(self) -> JoinedSources:
        """Where the columns of the result come from."""
        return JoinedSources(self.left.table, self.right.table, self.request.keys)

    @property
    def rejected(self) -> pa.Table:
        """The rows that take no part, of both sides."""
        return merge_rejected(self.left.rejected, self.right.rejected)

    def problem(self) -> Problem:
        """The numeric problem: ticks and keys."""
        left_keys = right_keys = None
        count = 0
        if self.request.keys:
            names = list(self.request.keys.left), list(self.request.keys.right)
            left_keys, right_keys, count = shared_keys(self.left.table, self.right.table, *names, cores())
        if self.window is not None:
            left_keys = keys_within(self.window, self.left.starts, self.left.ends, left_keys)
            right_keys = keys_within(self.window, self.right.starts, self.right.ends, right_keys)
            count = max(1, count)
        left = Side(self.left.starts, self.left.ends, left_keys)
        right = Side(self.right.starts, self.right.ends, right_keys)
        least = self.request.min_overlap
        if least is not None and least.span is not None and (ticks := ticks_of(least.span, self.axis)) > 1:
            count = max(1, count)
            left, right = without_short(left, count, ticks), without_short(right, count, ticks)
        return Problem.of(left, right, count, cores())

    @cached_property
    def keep(self) -> Keep | None:
        """What is asked of a pair beyond its relation."""
        tests: list[Keep] = []
        least = self.request.min_overlap
        if least is not None and least.span is None:
            sides = Side(self.left.starts, self.left.ends), Side(self.right.starts, self.right.ends)
            tests.append(sharing(*sides, least.of, least.fraction))
        if self.request.where is not None:
            tests.append(self._where(self.request.where))
        if not tests:
            return None
        return tests[0] if len(tests) == 1 else lambda lefts, rights: np.logical_and(*(t(lefts, rights) for t in tests))

    def _where(self, condition: Condition) -> Keep:
        """A test of pairs by a condition over the columns of the result."""
        read = self.request.read_columns(self.left.table.column_names, self.right.table.column_names)

        def keep(lefts: Rows, rights: Rows) -> NDArray[np.bool_]:
            at = positions(lefts), positions(rights)
            columns = {name: _column(self, column, lefts, rights, *at) for name, column in read.items()}
            return held(condition, columns, lefts.size)

        return keep

    def matches(self, limit: Limit | None = None) -> Matches:
        """All pairs."""
        problem = self.problem()
        if limit is not None and self.keep is None:
            limit.check(problem, self.boxes)
        found = find(problem, self.boxes, self.request.algorithm)
        return found if self.keep is None else judged(found, self.keep)

    def limit(self, *, batches: bool = False) -> Limit | None:
        """How many rows the result may have; batches take no memory, so only what was asked for limits them."""
        if batches and self.request.max_rows is None:
            return None
        tables = {"left": self.left.table, "key": self.left.table, "right": self.right.table}
        columns = [
            tables[column.origin][column.left or column.right] for column in self.columns if column.origin in tables
        ]
        overlaps = 8 * (len(self.columns) - len(columns))
        return Limit.of(self.request.max_rows, bytes_of(columns) + overlaps, "take it in pieces with batches=True")

    def left_rows(self) -> pa.Table:
        """The left rows that a semi or an anti join keeps. Unless an algorithm is asked for, no pair is listed."""
        if self.request.algorithm == "auto" and self.keep is None:
            matched = exists(self.problem(), self.boxes)
        else:
            matched, _ = self.matches().matched()
        kept = np.flatnonzero(matched if self.request.how == "semi" else ~matched)
        return take_rows(self.left.table.select([column.left for column in self.columns]), pa.array(kept))


def join(left: object, right: object, request: JoinRequest) -> Any:
    """Join two local tables."""
    task = LocalJoin(left, right, request)
    listed = task.left_rows if request.how in ("semi", "anti") else partial(_joined, task)
    result = aside(listed, pairs=len(task.left.starts) * len(task.right.starts))
    return answer(result, task.rejected, request.policy, task.restore)


def _joined(task: LocalJoin) -> pa.Table:
    """The result of a join that returns pairs."""
    limit = task.limit()
    matches = task.matches(limit)
    most = None if limit is None else limit.rows
    try:
        fused = task.request.how == "inner" and task.keep is None
        result = _fused(task, matches, most) if fused else None
        if result is None:
            result = _gathered(task, matches, most)
    except TooManyPairsError as error:
        raise limit.too_many(task.problem(), task.boxes, error) from None  # type: ignore[union-attr]
    if limit is not None:
        limit.judge(result.num_rows)
    return result


def join_batches(
    left: object, right: object, request: JoinRequest, rows: int
) -> Iterator[pa.RecordBatch] | Quarantined[Any]:
    """Join two local tables and yield the result in record batches of bounded size, at least one."""
    task = LocalJoin(left, right, request)
    if request.how in ("semi", "anti"):
        found = _some(aside(task.left_rows).to_batches(max_chunksize=rows), task)
    else:
        found = _some(_batches(task, aside(task.matches, task.limit(batches=True)), rows), task)
    quarantines = request.policy.on_invalid == "quarantine"
    return Quarantined(found, task.restore(task.rejected)) if quarantines else found


def _some(batches: Iterable[pa.RecordBatch], task: LocalJoin) -> Iterator[pa.RecordBatch]:
    """The batches; if there are none, an empty one that tells the columns."""
    found = iter(batches)
    first = next(found, None)
    if first is None:
        none = np.zeros(0, np.int32)
        if task.request.how in ("semi", "anti"):
            columns = task.left.table.select([column.left for column in task.columns])
        else:
            columns = _assemble(task, (none, none), 1)
        first = pa.RecordBatch.from_pylist([], schema=columns.schema)
    yield first
    yield from found


def _batches(task: LocalJoin, matches: Matches, rows: int) -> Iterator[pa.RecordBatch]:
    how = task.request.how
    left_seen, right_seen = np.zeros(matches.left_rows, np.bool_), np.zeros(matches.right_rows, np.bool_)
    pairs: Iterator[tuple[Rows, Rows]] = matches.batches(rows)
    for lefts, rights in pairs:
        left_seen[lefts] = True
        right_seen[rights] = True
        yield from _assemble(task, (lefts, rights), 1).combine_chunks().to_batches(max_chunksize=rows)
    for lefts, rights in _unmatched(left_seen, right_seen, how):
        for first in range(0, lefts.size, rows):
            part = _assemble(task, (lefts[first : first + rows], rights[first : first + rows]), 1)
            yield from part.combine_chunks().to_batches(max_chunksize=rows)


def explain_join(left: object, right: object, request: JoinRequest) -> Explanation:
    """Say how a join would run: the algorithm and the driver of each box, judged by a sample; nothing runs."""
    task = LocalJoin(left, right, request)
    problem = task.problem()
    taken = choices(problem, task.boxes, request.algorithm)
    names = list(dict.fromkeys(choice.algorithm for choice in taken)) or ["none"]
    facts: dict[str, Any] = {
        "relation": repr(request.relation),
        "how": request.how,
        "algorithm": names[0] if len(names) == 1 else names,
        "driver": [choice.driver for choice in taken],
        "candidates": candidates(problem, taken),
        "left rows": len(task.left.starts),
        "right rows": len(task.right.starts),
        "keys": list(request.keys.left),
    }
    why = tuple(dict.fromkeys(choice.why for choice in taken)) or ("no pair can satisfy this relation",)
    if task.keep is not None:
        facts["judged by"] = request.where.text if request.where is not None else "min_overlap"
        why += ("candidates are judged page by page, and only pairs that pass are kept",)
    return Explanation("join", "local", facts, why)


def _layout(left: pa.Table, right: pa.Table, request: JoinRequest) -> list[OutputColumn]:
    if request.how in ("semi", "anti"):
        return joined_columns(left.column_names, [], request.keys, columns=request.columns)
    return joined_columns(
        left.column_names,
        right.column_names,
        request.keys,
        suffixes=request.suffixes,
        overlap=request.overlap,
        columns=request.columns,
    )


def _fused(task: LocalJoin, matches: Matches, most: int | None) -> pa.Table | None:
    """Write the wanted values straight from the runs, if it is one plain column of each side."""
    lefts = [column for column in task.columns if column.origin in ("left", "key")]
    rights = [column for column in task.columns if column.origin == "right"]
    if len(lefts) != 1 or len(rights) != 1 or len(task.columns) != 2:
        return None
    left, right = task.sources.left, task.sources.right
    left_values, right_values = left.plain(lefts[0].left), right.plain(rights[0].right)
    if left_values is None or right_values is None:
        return None
    pages = matches.pages(left_values, right_values, most)
    written = {
        lefts[0].name: from_values([page[0] for page in pages], left.column(lefts[0].left).type),
        rights[0].name: from_values([page[1] for page in pages], right.column(rights[0].right).type),
    }
    return pa.table({column.name: written[column.name] for column in task.columns})


def _unmatched(left_seen: NDArray[np.bool_], right_seen: NDArray[np.bool_], how: str) -> Iterator[tuple[Rows, Rows]]:
    if how in ("left", "full"):
        alone = np.flatnonzero(~left_seen).astype(np.int32)
        yield alone, np.full(alone.size, NO_ROW, np.int32)
    if how in ("right", "full"):
        alone = np.flatnonzero(~right_seen).astype(np.int32)
        yield np.full(alone.size, NO_ROW, np.int32), alone


def _gathered(task: LocalJoin, matches: Matches, most: int | None) -> pa.Table:
    """The result table, gathered piece by piece: the pairs, then the rows without a partner of an outer join."""
    pages: list[tuple[Rows, Rows]] = list(matches.positions(most))
    if task.request.how != "inner":
        left_seen, right_seen = np.zeros(matches.left_rows, np.bool_), np.zeros(matches.right_rows, np.bool_)
        for lefts, rights in pages:
            left_seen[lefts] = True
            right_seen[rights] = True
        pages += _unmatched(left_seen, right_seen, task.request.how)
    none = np.zeros(0, np.int32)
    rows = sum(lefts.size for lefts, _ in pages)
    return in_pieces(partial(_assemble, task), pages or [(none, none)], rows, matches.threads)


def _assemble(task: LocalJoin, page: tuple[Rows, Rows], threads: int) -> pa.Table:
    """Gather the output columns for pairs of row positions."""
    lefts, rights = page
    left_rows, right_rows = positions(lefts), positions(rights)

    columns = [
        (column.name, partial(_column, task, column, lefts, rights, left_rows, right_rows)) for column in task.columns
    ]
    return build(columns, lefts.size, threads)


def _column(
    task: LocalJoin, column: OutputColumn, lefts: Rows, rights: Rows, left_rows: pa.Array, right_rows: pa.Array
) -> pa.ChunkedArray:
    """One output column of pairs of row positions."""
    if column.origin == "left":
        return task.sources.left.take(column.left, left_rows)
    if column.origin == "right":
        return task.sources.right.take(column.right, right_rows)
    if column.origin == "key":
        return task.sources.key(column, lefts, rights)
    return _overlap(task, lefts, rights, column.origin)


def _overlap(task: LocalJoin, lefts: Rows, rights: Rows, which: str) -> pa.ChunkedArray:
    absent = (lefts == NO_ROW) | (rights == NO_ROW)
    left = _ticks(task.left.starts, lefts), _ticks(task.left.ends, lefts)
    right = _ticks(task.right.starts, rights), _ticks(task.right.ends, rights)
    if which == "overlap_length":
        return pa.chunked_array([overlap_length(left, right, absent, task.axis)])
    return pa.chunked_array([overlap_column(which, left, right, absent, task.writer)])


def _ticks(column: NDArray[np.int64], rows: Rows) -> NDArray[np.int64]:
    """Ticks of some rows; a table without rows has only absent ones, whose ticks mean nothing."""
    return column[rows] if column.size else np.zeros(rows.size, np.int64)
