"""DIP and its rivals under the names of the paper: in memory by their times, on disk by the blocks that they fetch."""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from benchmarks.data.statistics import Periods
from benchmarks.peers import dip_as_printed
from benchmarks.peers import interval_joins as peers
from benchmarks.peers.blocks import blocks_of, cost, merged_partitions
from benchmarks.reproduce.contest import Contest
from benchmarks.reproduce.figures import Record
from timeloom.kernels.sequenced import dip, dip_join

AT_ONCE = 16
"""Outer partitions that DIP merges at once on disk, as printed."""

PRINTED = "DIP, merges as printed"
"""Groups of outer partitions with each inner one, where ours merges all of both sides."""

Join = Callable[[Periods, Periods], int]


def join_by_dip(left: Periods, right: Periods, m: int = 0) -> int:
    return dip_join.count_joined(dip.number_rows(*left), dip.number_rows(*right), m).results


def printed_join(left: Periods, right: Periods, m: int = dip_as_printed.AT_ONCE) -> int:
    return dip_as_printed.count_merged(dip.partition(*left), dip.partition(*right), m).results


def counted(peer: Callable[..., peers.Counts], left: Periods, right: Periods) -> int:
    return peer(left, right)[0]


JOINS: dict[str, Join] = {
    "DIP": join_by_dip,
    "Sweep": partial(counted, partial(peers.sweepline, scattered=True)),
    "TimeLine": partial(counted, peers.timeline_index),
    "SM": partial(counted, peers.sort_merge),
    "OIP": partial(counted, peers.overlap_partitions),
    "Align": partial(counted, peers.alignment),
}
"""The number of pairs that each finds; sorting, indexing and partitioning are part of it."""


def comparisons(left: Periods, right: Periods, names: tuple[str, ...]) -> dict[str, int]:
    """Comparisons that found nothing."""
    ways = {"SM": peers.sort_merge, "OIP": peers.overlap_partitions, "Sweep": peers.sweepline}
    found = {name: ways[name](left, right)[1] for name in names if name in ways}
    joined = dip_join.count_joined(dip.number_rows(*left), dip.number_rows(*right))
    return {"DIP": joined.unproductive, **found}


def pool_room(left: Periods, right: Periods) -> int:
    """Memory for a hundredth of the blocks, but for as many as DIP has lists at once, and some more."""
    return max(2 * AT_ONCE, (blocks_of(left[0].size) + blocks_of(right[0].size)) // 100)


def blocks(left: Periods, right: Periods, names: tuple[str, ...], *, roomy: bool = False) -> dict[str, int]:
    """What a join fetches and writes, with little memory or with room for all of the data; all answer alike.

    Our merge reads the rows of either side once, in the order of their starts, and keeps a row of each partition.
    """
    everything = blocks_of(left[0].size) + blocks_of(right[0].size)
    room = 2 * everything if roomy else pool_room(left, right)
    ways = {
        "Sweep": peers.sweepline,
        "TimeLine": peers.timeline_index,
        "SM": peers.sort_merge,
        "OIP": peers.overlap_partitions,
    }
    parts = dip.partition(*left), dip.partition(*right)
    found, pairs = {"DIP": everything, PRINTED: merged_partitions(*parts, AT_ONCE, room)}, join_by_dip(left, right)
    for name in names:
        if name == "Align":
            found[name] = peers.alignment_blocks(left, right, room)
        elif name in ways:
            pool = peers.disk(left, right, room)
            assert ways[name](left, right, pool)[0] == pairs, name
            found[name] = cost(pool)
    return found


def race_over(
    record: Record,
    sizes: tuple[int, ...],
    make: Callable[[int], tuple[Periods, Periods]],
    names,
    panel: str,
    limit: float,
) -> dict[str, float]:
    """Times over growing data; the last ones. A way that has become too slow is left out from then on."""
    contest = Contest({name: JOINS[name] for name in names}, limit=limit)
    contest.warm(*make(200))
    spent: dict[str, float] = {}
    for size in sizes:
        latest = contest.race(*make(size))
        for name, seconds in latest.items():
            record.point(name, size, seconds, panel)
        spent |= latest
    record.checked("all find as many pairs")
    return spent


def judge(record: Record, says: str, paper: str, found: Mapping[str, float], rival: str, stated: float = 0) -> None:
    """How many times more a rival needs than DIP, which the paper may state as a factor."""
    record.judge("factor" if stated else "more", says, paper, found[rival] / max(1e-12, found["DIP"]), stated)


def growth(sizes: tuple[int, ...], spent: list[float]) -> float:
    """The exponent with which a cost grows: 1 is linear, 2 quadratic."""
    return float(np.polyfit(np.log(sizes), np.log(np.maximum(1e-9, spent)), 1)[0])
