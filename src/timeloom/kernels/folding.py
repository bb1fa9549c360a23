"""Keys and ticks as one number: each key has a stretch of one long axis for itself."""

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Ticks, sealed


def folded(ticks: Ticks, keys: "NDArray[np.int64]", base: int, top: int, width: int) -> Ticks:
    """Ticks from ``base`` to ``top`` as 1 and more within the stretch of their key; later ones come last in it."""
    found = np.empty(ticks.size, np.int64)
    fold(sealed(ticks), sealed(keys), base, top, width, found)
    return found


@compiled
def fold(ticks: Ticks, keys: "NDArray[np.int64]", base: int, top: int, width: int, found: Ticks) -> None:
    """Write the positions on the long axis."""
    for row in range(ticks.size):
        tick = ticks[row]
        within = width - 2 if tick > top else max(tick, base) - base + 1
        found[row] = keys[row] * width + within
