"""Sums over the rows inside each step, as counting joins have them over the partners of a row."""

from dataclasses import dataclass

from timeloom.engines.timelines.measure_task import Sweep
from timeloom.engines.timelines.running_sums import integer_sums
from timeloom.kernels.order import Ticks


@dataclass(frozen=True)
class StepSums:
    """Sums over the steps of a timeline."""

    swept: Sweep

    def sums(self, weights: Ticks) -> Ticks:
        """The sum of a weight over the rows of each step; no sum of weights may overflow."""
        return integer_sums(self.swept.line, self.swept.arranged(weights), self.swept.threads)
