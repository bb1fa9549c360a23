"""States of earlier versions: told apart, and brought to the present layout one step after the other."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from timeloom.errors import StorageError
from timeloom.kernels.streaming.arrival import UNNUMBERED
from timeloom.kernels.streaming.layout import CHECK, TIME, UNTIL, WAITER, WAITER_SIZE, WAITING_SIDE
from timeloom.model.ticks import MAX_TICK
from timeloom.streaming.restoring import shaped
from timeloom.streaming.state_layout import SHAPES, together
from timeloom.streaming.storage import VERSION, malformed

Arrays = list[NDArray[np.int64]]

PLAN_SIZE = 4
"""Numbers of a plan."""


def _with_sides_of_waiters(arrays: Arrays) -> Arrays:
    """Version 4 had left rows only that wait for a witness."""
    *others, waiters = arrays
    if waiters.ndim != 2:
        raise malformed(f"the waiting rows have the shape {waiters.shape}")
    return [*others, np.concatenate([waiters, np.zeros((1, waiters.shape[1]), np.int64)])]


def _with_clocks_and_numbers(arrays: Arrays) -> Arrays:
    """Version 5 had one clock for both sides, and events without numbers."""
    numbers, *held = arrays[:3]
    if numbers.ndim != 1 or not numbers.size or len(held) != 2 or any(side.ndim != 2 for side in held):
        raise malformed("its clock or its events are not what is stored of them")
    wider = [np.concatenate([side, np.full((1, side.shape[1]), UNNUMBERED)]) for side in held]
    return [np.append(numbers, [numbers[0]] * 2), *wider, *arrays[3:]]


def _with_planned_reviews(arrays: Arrays) -> Arrays:
    """Version 6 went through all waiting rows at every instant; now it is planned when one is looked at again."""
    *others, plans, waiters = arrays
    if plans.ndim != 2 or plans.shape[1] != PLAN_SIZE or waiters.ndim != 2 or len(waiters) != WAITER_SIZE:
        raise malformed(f"plans and waiting rows have the shapes {plans.shape} and {waiters.shape}")
    some = waiters[:, waiters[UNTIL] < MAX_TICK - 1]
    checks = np.stack([some[UNTIL] + 1, np.full(some.shape[1], CHECK), some[WAITING_SIDE], some[WAITER]], axis=1)
    every = np.concatenate([plans, checks])
    return [*others, every[np.argsort(every[:, TIME], kind="stable")], waiters]


def _unchanged(arrays: Arrays) -> Arrays:
    """Version 7 differs only in joins with keys."""
    return arrays


STEPS: dict[int, Callable[[Arrays], Arrays]] = {
    4: _with_sides_of_waiters,
    5: _with_clocks_and_numbers,
    6: _with_planned_reviews,
    7: _unchanged,
}
"""How a state of a version becomes one of the next."""


def require_known(version: int) -> None:
    """Refuse a version that there is no way from: a newer one, or one older than all steps."""
    if version != VERSION and version not in STEPS:
        raise StorageError(
            f"the streaming state is of version {version}, but this is version {VERSION}, which reads versions from "
            f"{min(STEPS)} on; finish the query with the release that began it, or start from a new checkpoint"
        )


def migrated(arrays: Arrays, version: int) -> Arrays:
    """The arrays of a known version in the present layout."""
    if not arrays:
        raise malformed("it has no parts")
    for step in range(version, VERSION):
        arrays = STEPS[step](arrays)
    return arrays


LAST_APART = 7
"""The last version in which the keys of a join had their parts one after the other; now all keys share tables."""


def migrated_keys(arrays: Arrays, version: int) -> Arrays:
    """The arrays of a join with keys, of a known version, in the present layout: clocks, and the tables of all keys."""
    if version > LAST_APART:
        return arrays
    parts = len(SHAPES)
    if len(arrays) < 2 or arrays[1].ndim != 1 or len(arrays) != 2 + parts * arrays[1].size:
        raise malformed(f"{len(arrays)} parts are not those of a clock and of joins")
    clocks, keys, *rest = arrays
    own = [shaped(migrated(rest[at * parts : (at + 1) * parts], version)) for at in range(keys.size)]
    states = dict(zip(keys.tolist(), own, strict=True))
    if len(states) < keys.size:
        raise malformed("a key comes twice")
    return [clocks, *together(states)]
