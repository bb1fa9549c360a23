"""From which tick to which a row must be present, as expressions over its ticks."""

from collections.abc import Callable, Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F

from timeloom.engines.spark.pieces import Piece
from timeloom.engines.spark.ticks import shifted
from timeloom.model.box import Range
from timeloom.model.ticks import MAX_TICK, MIN_TICK


def reach(start: Column, end: Column, side: str, pieces: Sequence[Piece]) -> tuple[Column, Column]:
    """The first and the last tick that a row of this side must be present at; null when there is none."""
    lows, highs = [], []
    for piece in pieces:
        if piece.driven == side:
            point = end if piece.driver.by_end else start
            lows.append(point)
            highs.append(point)
        else:
            low, high = _driving_range(start, end, piece.driver.point)
            lows.append(F.when(low <= high, low))
            highs.append(F.when(low <= high, high))
    return _extreme(lows, F.least), _extreme(highs, F.greatest)


def _driving_range(start: Column, end: Column, bounds: tuple[Range, Range]) -> tuple[Column, Column]:
    lows = [shifted(point, int(lo)) for point, (lo, _) in zip((start, end), bounds, strict=True) if lo is not None]  # type: ignore[arg-type]
    highs = [shifted(point, int(hi)) for point, (_, hi) in zip((start, end), bounds, strict=True) if hi is not None]  # type: ignore[arg-type]
    low = _extreme(lows, F.greatest) if lows else F.lit(MIN_TICK)
    high = _extreme(highs, F.least) if highs else F.lit(MAX_TICK)
    return low, high


def _extreme(columns: list[Column], pick: Callable[..., Column]) -> Column:
    if not columns:
        return F.lit(None).cast("long")
    return columns[0] if len(columns) == 1 else pick(*columns)
