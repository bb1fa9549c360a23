"""From which tick to which a row must be present, in SQL over its columns ``start`` and ``end``."""

from collections.abc import Sequence

from timeloom.engines.spark.columns.ticks import literal, shifted
from timeloom.engines.spark.slicing.join_parts import JoinPart
from timeloom.model.box import Range
from timeloom.model.ticks import MAX_TICK, MIN_TICK


def cell(tick: str) -> str:
    """The number of the cell in which a tick lies: cells of ``2**shift`` ticks between ``base`` and ``top``."""
    return f"CAST(shiftright({since_base(tick)}, shift) AS INT)"


def since_base(tick: str) -> str:
    """How long after ``base`` a tick lies; what lies outside is taken to the nearest end."""
    return f"(least(greatest({tick}, base), top) - base)"


TOUCHED = f"get(before, {cell('high')} + 1) > get(before, {cell('low')})"
"""Whether a row touches a cell that counts; ``before`` tells how much is counted before each cell."""


def tick_range_columns(side: str, parts: Sequence[JoinPart]) -> tuple[str, str]:
    """The first and the last tick that a row of this side must be present at; if nowhere, first > last."""
    ranges = [_part_range(side, part) for part in parts]
    lows, highs = (list(dict.fromkeys(ticks)) for ticks in zip(*ranges, strict=True)) if ranges else ([], [])
    return _extreme("least", lows), _extreme("greatest", highs)


def _part_range(side: str, part: JoinPart) -> tuple[str, str]:
    if part.indexed_side == side:
        point = "end" if part.driver.by_end else "start"
        return point, point
    return _driving_range(part.driver.point)


def _driving_range(bounds: tuple[Range, Range]) -> tuple[str, str]:
    lows = [shifted(point, int(lo)) for point, (lo, _) in zip(("start", "end"), bounds, strict=True) if lo is not None]  # type: ignore[arg-type]
    highs = [shifted(point, int(hi)) for point, (_, hi) in zip(("start", "end"), bounds, strict=True) if hi is not None]  # type: ignore[arg-type]
    low = _extreme("greatest", lows) if lows else literal(MIN_TICK)
    high = _extreme("least", highs) if highs else literal(MAX_TICK)
    return low, high


def _extreme(pick: str, ticks: list[str]) -> str:
    if not ticks:
        return "CAST(NULL AS BIGINT)"
    return ticks[0] if len(ticks) == 1 else f"{pick}({', '.join(ticks)})"
