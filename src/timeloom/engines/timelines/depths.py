"""How many rows are valid at one time at the most, judged by some of them: what a plan says of partitions."""

from typing import Any

import numpy as np

from timeloom.kernels.order import Ticks
from timeloom.kernels.sequenced.dip_merge import at_once

SAMPLED = 8192
"""Tables with up to so many rows are looked at whole, larger ones by as many rows, evenly spaced."""


def depth_of(starts: Ticks, ends: Ticks) -> int:
    """About the largest number of rows that are valid at one time; exact for small tables."""
    if not starts.size:
        return 0
    some = np.linspace(0, starts.size - 1, min(SAMPLED, starts.size)).astype(np.int64)
    points = np.concatenate([ends[some], starts[some]])
    steps = np.repeat([-1, 1], some.size)[np.argsort(points, kind="stable")]
    return min(starts.size, round(int(np.cumsum(steps).max()) * starts.size / some.size))


def merge_facts(left: tuple[Ticks, Ticks], right: tuple[Ticks, Ticks], m: int | None, *, pairs: bool) -> dict[str, Any]:
    """What is known before a merge of partitions: depths, how many are merged at once, and its bound in comparisons.

    A join compares an outer row with a row of each inner partition, and an inner row with a row of each outer
    partition, in vain at the most. An anti-join merges the inner side as one list.
    """
    depth, inner_depth = depth_of(*left), depth_of(*right) if pairs else 1
    in_vain = inner_depth * left[0].size + depth * (right[0].size + (not pairs))
    facts = {"depth": depth, "m": at_once(depth, m or 0), "unproductive comparisons at most": in_vain}
    return {"depth": depth, "right depth": inner_depth, **facts} if pairs else facts


def chain_facts(starts: Ticks, ends: Ticks) -> dict[str, Any]:
    """What is known before partitions are joined one after the other: their number, and the bound of lemma 9."""
    depth = depth_of(starts, ends)
    return {"depth": depth, "unproductive comparisons at most": 2 * depth * starts.size}
