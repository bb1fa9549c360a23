"""What kernels give in parts, or from sorted columns, at once and from rows as they are."""

from collections.abc import Iterable

import numpy as np

from timeloom.kernels.aggregates.timeline import Timeline, timeline_of
from timeloom.kernels.order import Ticks, sort


def timeline(starts: Ticks, ends: Ticks) -> Timeline:
    return timeline_of(sort(starts), sort(ends))


def together(pages: Iterable[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    listed = [(np.empty(0, np.int32), np.empty(0, np.int32)), *pages]
    return np.concatenate([page[0] for page in listed]), np.concatenate([page[1] for page in listed])
