"""Counts, sums and minima over the rows inside each step, as counting joins have them over the partners of a row."""

from dataclasses import dataclass

import numpy as np

from timeloom.engines.timelines.measure_task import Sweep
from timeloom.engines.timelines.running_sums import integer_sums
from timeloom.kernels.aggregates.extremes import greatest
from timeloom.kernels.counts.dominance_extremes import NONE
from timeloom.kernels.order import Ticks


@dataclass(frozen=True)
class StepTotals:
    """Totals over the steps of a timeline."""

    swept: Sweep

    def counts(self) -> Ticks:
        """How many rows are inside each step."""
        return self.swept.counts()

    def sums(self, weights: Ticks) -> Ticks:
        """The sum of a weight over the rows of each step; the weights must not overflow."""
        return integer_sums(self.swept.line, self.swept.arranged(weights), self.swept.threads)

    def least(self, values: Ticks) -> Ticks:
        """The least value among the rows of each step, or NONE."""
        placed = self.swept.arranged(values, int(NONE))
        places = greatest(self.swept.line, self.swept.ends, ~placed, placed != NONE)
        return np.where(places < 0, NONE, placed[places]) if placed.size else np.full(places.size, NONE)
