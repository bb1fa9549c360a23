"""Two local tables of a verb: admitted, on one axis, with keys as numbers and columns to take results from."""

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import Protocol

import pyarrow as pa

from timeloom.engines.joins.problem import Side
from timeloom.engines.tables.axes import same_axis
from timeloom.engines.tables.frames import beside, require_columns, to_arrow
from timeloom.engines.tables.gather import Rows, build, positions
from timeloom.engines.tables.key_columns import JoinedSources
from timeloom.engines.tables.keys import shared_keys
from timeloom.engines.tables.validity import Admitted, admit, merge_rejected
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
    """Two admitted tables."""

    def __init__(self, left: object, right: object, request: TwoTableRequest) -> None:
        self.keys = request.keys
        left_table, restore = to_arrow(left, "left")
        right_table, other = to_arrow(right, "right")
        require_columns(left_table.column_names, list(request.keys.left), "left")
        require_columns(right_table.column_names, list(request.keys.right), "right")
        self.restore = beside(restore, other, request.suffixes)
        self.left: Admitted = admit(left_table, request.left_period, "left", request.policy)
        self.right: Admitted = admit(right_table, request.right_period, "right", request.policy)
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
        """Ticks and key numbers of both sides, and how many keys there are."""
        left_keys = right_keys = None
        count = 0
        if self.keys:
            names = list(self.keys.left), list(self.keys.right)
            left_keys, right_keys, count = shared_keys(self.left.table, self.right.table, *names, threads)
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

        def make(column: OutputColumn) -> pa.ChunkedArray:
            if lefts is None and column.origin in ("left", "key"):
                return pa.chunked_array([self.sources.left.column(column.left)])
            if column.origin == "left":
                return self.sources.left.take(column.left, left_rows)
            if column.origin == "right":
                return self.sources.right.take(column.right, right_rows)
            if column.origin == "key":
                assert lefts is not None
                return self.sources.key(column, lefts, rights)
            return pa.chunked_array([made[column.origin]])

        return build([(column.name, partial(make, column)) for column in layout], rights.size, threads)
