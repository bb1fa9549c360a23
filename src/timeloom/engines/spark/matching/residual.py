"""What a join asks of rows and pairs beyond its relation, as tasks judge it: none is sent on that fails."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from timeloom.engines.joins.pairs import Positions
from timeloom.engines.joins.problem import Side
from timeloom.engines.joins.residual import Keep, lengths, sharing
from timeloom.engines.spark.exchange.packed_rows import JoinRows, PackedSide
from timeloom.engines.spark.matching.pair_columns import PairColumns
from timeloom.engines.tables.conditions import held
from timeloom.engines.tables.windows import Bounds, outside
from timeloom.model.conditions import Condition
from timeloom.model.join import MinOverlap
from timeloom.model.naming import OutputColumn


@dataclass(frozen=True)
class Residual:
    """What is asked: so many ticks that rows last, a window that they reach into, a share of time, a condition.

    ``columns`` are the columns of a pair that the condition reads, by the names that it has for them; ``pairs`` knows
    where they are.
    """

    least: int = 0
    window: Bounds | None = None
    share: MinOverlap | None = None
    condition: Condition | None = None
    columns: tuple[tuple[str, OutputColumn], ...] = ()
    pairs: PairColumns | None = None

    @property
    def of_pairs(self) -> bool:
        """Whether pairs must be looked at, and not only rows."""
        return self.share is not None or self.condition is not None

    def __bool__(self) -> bool:
        return self.of_pairs or self.least > 1 or self.window is not None

    def eligible(self, side: PackedSide) -> PackedSide:
        """The rows of a side that may meet others at all."""
        if self.window is not None:
            side = side.where(~outside(self.window, side.starts, side.ends))
        return side if self.least <= 1 else side.where(lengths(Side(side.starts, side.ends)) >= self.least)

    def keep(self, rows: JoinRows) -> Keep:
        """Tell which pairs of packed rows pass."""
        share = None
        if self.share is not None:
            all_rows = Side(rows.starts, rows.ends)
            share = sharing(all_rows, all_rows, self.share.of, self.share.fraction)

        def passes(lefts: Positions, rights: Positions) -> NDArray[np.bool_]:
            kept = np.ones(lefts.size, np.bool_) if share is None else share(lefts, rights)
            if self.condition is None or self.pairs is None or not kept.any():
                return kept
            columns = {name: self.pairs.of(rows, column, lefts, rights) for name, column in self.columns}
            return kept & held(self.condition, columns, lefts.size)

        return passes


NOTHING = Residual()
"""Nothing beyond the relation."""
