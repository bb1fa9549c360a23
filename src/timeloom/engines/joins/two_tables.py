"""Two local tables of a verb: admitted, on one axis, with keys as numbers and columns to take results from."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Protocol

import pyarrow as pa

from timeloom.engines.joins.problem import Side
from timeloom.engines.resources.threads import in_parallel, worth
from timeloom.engines.tables.axes import same_axis
from timeloom.engines.tables.frames import beside, require_columns, to_arrow
from timeloom.engines.tables.gather import Rows, build, positions
from timeloom.engines.tables.key_columns import JoinedSources
from timeloom.engines.tables.keys import NO_KEY, shared_keys
from timeloom.engines.tables.validity import Admitted, admit, admit_instants, merge_rejected
from timeloom.errors import TimeloomError
from timeloom.model.naming import Keys, OutputColumn
from timeloom.model.period import Period
from timeloom.model.policy import Policy


class TwoTableRequest(Protocol):
    """What every verb of two tables asks for."""

    @property
    def keys(self) -> Keys: ...  # noqa: D102
    @property
    def left_period(self) -> Period: ...  # noqa: D102
    @property
    def right_period(self) -> Period: ...  # noqa: D102
    @property
    def policy(self) -> Policy: ...  # noqa: D102
    @property
    def suffixes(self) -> tuple[str, str]: ...  # noqa: D102


class TwoTables:
    """Two admitted tables; of ``instants`` nobody asks when they end."""

    def __init__(
        self, left: object, right: object, request: TwoTableRequest, threads: int = 1, *, instants: bool = False
    ) -> None:
        self.keys = request.keys
        left_table, restore = to_arrow(left, "left")
        right_table, other = to_arrow(right, "right")
        require_columns(left_table.column_names, list(request.keys.left), "left")
        require_columns(right_table.column_names, list(request.keys.right), "right")
        self.restore = beside(restore, other, request.suffixes)
        self.left, self.right = _both(left_table, right_table, request, threads, admit_instants if instants else admit)
        self.axis = same_axis(self.left.ticks.type, self.right.ticks.type)

    @property
    def rejected(self) -> pa.Table:
        """The rows that take no part, of both sides."""
        return merge_rejected(self.left.rejected, self.right.rejected)

    @property
    def rows(self) -> int:
        """How many rows take part."""
        return len(self.left.starts) + len(self.right.starts)

    @property
    def pairs(self) -> int:
        """How many pairs of rows there are."""
        return len(self.left.starts) * len(self.right.starts)

    def sides(self, threads: int = 1) -> tuple[Side, Side, int]:
        """Ticks and key numbers of both sides, unless all rows have one key, and how many keys there are."""
        left_keys = right_keys = None
        count = 0
        if self.keys:
            names = list(self.keys.left), list(self.keys.right)
            left_keys, right_keys, count = shared_keys(self.left.table, self.right.table, *names, threads)
            if count == 1 and not any((keys == NO_KEY).any() for keys in (left_keys, right_keys)):
                left_keys = right_keys = None  # all rows have one key, which tells nothing apart
        left = Side(self.left.starts, self.left.ends, left_keys)
        return left, Side(self.right.starts, self.right.ends, right_keys), count

    @cached_property
    def sources(self) -> JoinedSources:
        """Where the columns of the result come from."""
        return JoinedSources(self.left.table, self.right.table, self.keys)

    def gathered(
        self,
        layout: Sequence[OutputColumn],
        lefts: Rows | None,
        rights: Rows,
        made: "Mapping[str, pa.Array]",
        threads: int,
    ) -> pa.Table:
        """The result for pairs of row positions; ``made`` has the columns that come from neither table.

        Without ``lefts`` every left row is there once, in its order, so that its columns stay as they are.
        """
        left_rows, right_rows = None if lefts is None else positions(lefts), positions(rights)
        alone = lefts is None and sum(column.origin == "right" for column in layout) == 1
        inside = threads if alone else 1

        def make(column: OutputColumn) -> pa.ChunkedArray:
            if lefts is None and column.origin in ("left", "key"):
                return pa.chunked_array([self.sources.left.column(column.left)])
            if column.origin == "left":
                return self.sources.left.take(column.left, left_rows)
            if column.origin == "right":
                return self.sources.right.take(column.right, right_rows, inside)
            if column.origin == "key":
                assert lefts is not None
                return self.sources.key(column, lefts, rights)
            return pa.chunked_array([made[column.origin]])

        return build([(column.name, partial(make, column)) for column in layout], rights.size, threads)


def _both(
    left: pa.Table, right: pa.Table, request: TwoTableRequest, threads: int, admitting: Callable[..., Admitted]
) -> tuple[Admitted, Admitted]:
    """Both tables admitted, side by side; the left one's error comes first, and warnings are told by the caller."""
    tasks = [
        partial(_admitted, admitting, left, request.left_period, "left", request.policy),
        partial(_admitted, admitting, right, request.right_period, "right", request.policy),
    ]
    warns = "drop" in (request.policy.on_invalid, request.policy.for_empty)
    ours, theirs = in_parallel(tasks, 1 if warns else worth(threads, left.num_rows + right.num_rows))
    for found in (ours, theirs):
        if isinstance(found, TimeloomError):
            raise found
    return ours, theirs  # type: ignore[return-value]


def _admitted(
    admitting: Callable[..., Admitted], table: pa.Table, period: Period, side: str, policy: Policy
) -> Admitted | TimeloomError:
    try:
        return admitting(table, period, side, policy)
    except TimeloomError as error:
        return error
