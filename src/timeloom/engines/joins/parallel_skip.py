"""The skip-join on all cores: parts of the time axis, each joined by itself."""

from functools import partial

import numpy as np

from timeloom.engines.resources.threads import in_parallel
from timeloom.kernels.joins.skip_join import cuts, skip_join, skip_join_part
from timeloom.kernels.order import Ticks
from timeloom.kernels.stab_forest.layout import EVENTS, Forest

WORTHWHILE = 1 << 16
"""With fewer events than this on either side a join ends before a second thread would help."""


def skip_join_by(threads: int, left: Forest, right: Forest, left_reach: int, right_reach: int) -> tuple[Ticks, Ticks]:
    """All pairs that intersect, found by several threads if it is worth them."""
    if threads < 2 or min(left.counts[EVENTS], right.counts[EVENTS]) < WORTHWHILE:
        return skip_join(left, right, left_reach, right_reach)
    parts = cuts(left, right, 2 * threads)
    found = in_parallel(
        [partial(skip_join_part, left, right, left_reach, right_reach, *part) for part in parts], threads
    )
    return np.concatenate([part[0] for part in found]), np.concatenate([part[1] for part in found])
