"""From which tick to which a row must be present."""

from collections.abc import Sequence

import numpy as np

from timeloom.engines.spark.pieces import Piece
from timeloom.engines.ticks import Ticks
from timeloom.model.box import Range
from timeloom.model.ticks import MAX_TICK, MIN_TICK


def reach(side: str, pieces: Sequence[Piece], starts: Ticks, ends: Ticks) -> tuple[Ticks, Ticks]:
    """The first and the last tick that each row of this side must be present at; where there is none, first > last."""
    low, high = np.full(starts.size, MAX_TICK), np.full(starts.size, MIN_TICK)
    for piece in pieces:
        if piece.driven == side:
            begin = end = ends if piece.driver.by_end else starts
        else:
            begin, end = _driving_range(piece.driver.point, starts, ends)
            some = begin <= end
            begin, end = np.where(some, begin, MAX_TICK), np.where(some, end, MIN_TICK)
        np.minimum(low, begin, out=low)
        np.maximum(high, end, out=high)
    return low, high


def _driving_range(bounds: tuple[Range, Range], starts: Ticks, ends: Ticks) -> tuple[Ticks, Ticks]:
    low, high = np.full(starts.size, MIN_TICK), np.full(starts.size, MAX_TICK)
    for ticks, (least, most) in zip((starts, ends), bounds, strict=True):
        if least is not None:
            np.maximum(low, _saturated(ticks, int(least)), out=low)  # type: ignore[arg-type]
        if most is not None:
            np.minimum(high, _saturated(ticks, int(most)), out=high)  # type: ignore[arg-type]
    return low, high


def _saturated(ticks: Ticks, by: int) -> Ticks:
    """Add, and stop at the ends of the axis."""
    kept = np.minimum(ticks, MAX_TICK - by) if by > 0 else np.maximum(ticks, MIN_TICK - by)
    return kept + np.int64(by)
