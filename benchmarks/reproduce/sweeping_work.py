"""The work that the sweeping paper's experiments do: joining, and summing the starts of the left rows of all pairs."""

from benchmarks.data.statistics import Periods
from timeloom.kernels.jit import compiled
from timeloom.kernels.joins.sweep_join import Counters, PeriodTable, sweep_batches
from timeloom.model.box import Box

CHUNK = 1 << 16
"""Pairs that are written before they are summed: they stay in the cache, as a consumer's would."""


def summed(
    left: "Periods | PeriodTable",
    right: "Periods | PeriodTable",
    box: Box,
    *,
    lazy: bool = True,
    counters: Counters | None = None,
    chunk: int = CHUNK,
) -> tuple[int, int]:
    """Pairs in a box by the sweep, and the sum of their left starts. Given tables keep their sorted columns."""
    one, other = (side if isinstance(side, PeriodTable) else PeriodTable(*side) for side in (left, right))
    pairs = total = 0
    for lefts, _ in sweep_batches(one, other, box, lazy=lazy, chunk=chunk, counters=counters):
        pairs += lefts.size
        total += sum_of(one.starts, lefts)
    return pairs, total


@compiled
def sum_of(starts, rows):
    total = 0
    for row in rows:
        total += starts[row]
    return total
