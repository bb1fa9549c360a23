"""From which tick to which a row must be present."""

from collections.abc import Sequence

import numpy as np

from timeloom.engines.joins.problem import limits_of
from timeloom.engines.spark.slicing.join_parts import Piece
from timeloom.engines.tables.ticks import Ticks
from timeloom.kernels.slicing import tick_ranges as presence


def reach(side: str, pieces: Sequence[Piece], starts: Ticks, ends: Ticks) -> tuple[Ticks, Ticks]:
    """The first and the last tick that each row of this side must be present at; where there is none, first > last."""
    ways = np.array([_way(side, piece) for piece in pieces], np.int64).reshape(len(pieces), 5)
    low, high = np.empty(starts.size, np.int64), np.empty(starts.size, np.int64)
    presence.reach(starts, ends, ways, low, high)
    return low, high


def _way(side: str, piece: Piece) -> tuple[int, ...]:
    if piece.driven == side:
        return (presence.AT_END if piece.driver.by_end else presence.AT_START, 0, 0, 0, 0)
    return (presence.WITHIN, *limits_of(piece.driver.point))
