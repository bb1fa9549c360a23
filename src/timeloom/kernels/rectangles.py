"""From bounds on endpoint differences to bounds on one endpoint, for each row of the fixed side.

Fix a row with endpoints (start, end). Bounds ``lo <= x - start <= hi`` and ``lo <= x - end <= hi`` on a point x of the
other side collapse to one inclusive range of x. A range that no int64 can reach is stored as (MAX, MIN), so
saturation never lets a row slip in.
"""

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Ticks
from timeloom.model.ticks import MAX_TICK as MAX
from timeloom.model.ticks import MIN_TICK as MIN


@compiled
def shifted(value: int, by: int) -> int:
    """Add and saturate. A bound of MIN or MAX means unbounded and stays what it is."""
    if by == MIN or by == MAX:
        return by
    if by > 0 and value > MAX - by:
        return MAX
    if by < 0 and value < MIN - by:
        return MIN
    return value + by


@compiled
def overflows(value: int, by: int) -> int:
    """Tell on which side of the axis the sum would fall: -1, 0 or 1; unbounded never falls off."""
    if by == MIN or by == MAX:
        return 0
    if by > 0 and value > MAX - by:
        return 1
    if by < 0 and value < MIN - by:
        return -1
    return 0


@compiled
def point_ranges(
    starts: Ticks, ends: Ticks, limits: tuple[int, int, int, int], near: bool, low: Ticks, high: Ticks
) -> None:
    """For each row, the inclusive range of x with lo <= x - start <= hi and the same for the end.

    The limits are lo and hi for the start, then for the end; ``near`` says that no sum can leave the axis.
    """
    for row in range(starts.size):
        if near:
            low[row], high[row] = near_range(starts[row], ends[row], limits)
        else:
            low[row], high[row] = saturated_range(starts[row], ends[row], limits)


@compiled
def near_range(start: int, end: int, limits: tuple[int, int, int, int]) -> tuple[int, int]:
    """The range for one row whose sums with the limits stay on the axis."""
    start_lo, start_hi, end_lo, end_hi = limits
    at_least = MIN if start_lo == MIN else start + start_lo
    if end_lo != MIN:
        at_least = max(at_least, end + end_lo)
    at_most = MAX if start_hi == MAX else start + start_hi
    if end_hi != MAX:
        at_most = min(at_most, end + end_hi)
    return at_least, at_most


@compiled
def saturated_range(start: int, end: int, limits: tuple[int, int, int, int]) -> tuple[int, int]:
    """The range for one row; (MAX, MIN) if no int64 is in it."""
    start_lo, start_hi, end_lo, end_hi = limits
    none = overflows(start, start_lo) > 0 or overflows(end, end_lo) > 0
    none = none or overflows(start, start_hi) < 0 or overflows(end, end_hi) < 0
    at_least = max(shifted(start, start_lo), shifted(end, end_lo))
    at_most = min(shifted(start, start_hi), shifted(end, end_hi))
    if none or at_least > at_most:
        return MAX, MIN
    return at_least, at_most
