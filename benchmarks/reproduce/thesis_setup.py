"""The history of orders as it was known at growing system times, and every structure that answers on it."""

import time
from dataclasses import replace
from typing import Any

import numpy as np

import timeloom as tl
from benchmarks.bench_bitemporal import loaded_timeline, our_query
from benchmarks.data.orders import Orders, orders
from benchmarks.peers.bitemporal import RTree, Scan, SearchedTrees, Trees
from timeloom.model.ticks import FOREVER

RETROACTIVE, PRESENT = "BiSW, retroactive", "BiSW, non-retroactive"
BITL, TREES, RTREE, SCAN = "BiTL", "B+-trees", "R-tree", "table scan"
KEPT = "B+-trees that keep sets"
LEARNED = (
    "Orders are drawn after the TPC-BiH description, five system times for each application time. Our indexes are used "
    "through the public class; BiTL is compiled; the trees are those of sortedcontainers and libspatialindex, and "
    "answer in Python. "
)


def known_at(data: Orders, sys: int) -> Orders:
    """The versions that had begun by a system time, with the ends that were known then."""
    rows = slice(0, int(np.searchsorted(data.sys_start, sys, side="right")))
    ends = np.where(data.sys_end[rows] <= sys, data.sys_end[rows], FOREVER)
    return replace(
        data, sys_start=data.sys_start[rows], sys_end=ends, app_start=data.app_start[rows], app_end=data.app_end[rows]
    )


def snapshots(versions: int, count: int, share: float = 1.0) -> list[Orders]:
    """The history at so many growing system times, up to a share of all."""
    data = orders(versions)
    last = int(data.latest * share)
    return [known_at(data, last * (number + 1) // count) for number in range(count)]


def structures(data: Orders, names: tuple[str, ...]) -> dict[str, Any]:
    makers = {BITL: loaded_timeline, TREES: SearchedTrees, KEPT: Trees, RTREE: RTree, SCAN: Scan}
    return {name: makers[name](data) for name in names}


def index_of(data: Orders, *, retroactive: bool = True, checkpoint_every: int | None = None) -> tl.BitemporalIndex:
    return tl.BitemporalIndex(data.table(), retroactive=retroactive, checkpoint_every=checkpoint_every)


def initial(index: tl.BitemporalIndex, sys: int, app: int) -> np.ndarray:
    return next(iter(our_query(index, sys, app, (1, 1), 0))).entered


def slides(
    index: tl.BitemporalIndex, sys: int, app: int, ratio: tuple[int, int], steps: int
) -> tuple[list[float], list]:
    """Seconds of each slide after the initial window, and what it told."""
    found = iter(our_query(index, sys, app, ratio, steps))
    next(found)
    spent, told = [], []
    for _ in range(steps):
        began = time.perf_counter()
        step = next(found)
        spent.append(time.perf_counter() - began)
        told.append((step.entered, step.left))
    return spent, told


def peer_slides(peer: Any, sys: int, app: int, ratio: tuple[int, int], steps: int) -> tuple[list[float], list]:
    peer.initial(sys, app)
    spent, told, turns = [], [], ["sys"] * ratio[0] + ["app"] * ratio[1]
    for number in range(steps):
        slide = peer.slide_sys if turns[number % len(turns)] == "sys" else peer.slide_app
        began = time.perf_counter()
        entered, left = slide()
        spent.append(time.perf_counter() - began)
        told.append((np.sort(entered), np.sort(left)))
    return spent, told
