"""Stab-forests: what it costs to build one, in time and in memory (figure 7)."""

import ctypes
import gc
import resource
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from sortedcontainers import SortedList

import timeloom as tl
from benchmarks.data.events import Events, dense_flights
from benchmarks.peers.append_only import multiset, vector
from benchmarks.reproduce.contest import Contest
from benchmarks.reproduce.figures import Axis, Record, figure

PAGE = 50_000
"""Events that arrive together where structures are compiled."""


def in_pages(events: Events) -> tl.StabForest:
    forest = tl.StabForest()
    for at in range(0, events[0].size, PAGE):
        forest.extend(events[0][at : at + PAGE], events[1][at : at + PAGE])
    return forest


def one_by_one(events: Events) -> tl.StabForest:
    forest = tl.StabForest()
    for start, end in zip(*map(np.ndarray.tolist, events), strict=True):
        forest.append(start, end)
    forest.stab(0)
    return forest


def tree_of(events: Events) -> SortedList:
    tree = SortedList()
    for event in zip(*map(np.ndarray.tolist, events), strict=True):
        tree.add(event)
    return tree


def listed(events: Events) -> list[tuple[int, int]]:
    grown = []
    for event in zip(*map(np.ndarray.tolist, events), strict=True):
        grown.append(event)
    return grown


COMPILED: dict[str, Callable[[Events], Any]] = {
    "vector": lambda events: vector(*events).shape[0],
    "multiset": lambda events: multiset(*events)[0].size,
    "multiset, hinted": lambda events: multiset(*events, hint=True)[0].size,
    "stab-forest": lambda events: len(in_pages(events)),
}
CALLED: dict[str, Callable[[Events], Any]] = {
    "vector": lambda events: len(listed(events)),
    "multiset": lambda events: len(tree_of(events)),
    "stab-forest": lambda events: len(one_by_one(events)),
}


@figure(
    "stab-forest",
    "7 left",
    "Time to append the first N flights",
    statement="Slower than appending to an array, on a par with a search tree that is told where to insert, far "
    "cheaper than one that must search.",
    x=Axis("events"),
    y=Axis("seconds"),
    sizes={"tiny": (2_000,), "small": (100_000, 200_000, 400_000), "full": (5 * 10**6, 10**7, 2 * 10**7)},
    learned="Compiled: events are appended one by one within compiled code, which the forest is handed in pages; the "
    "multiset is a treap. Calls from Python: each event is a call, of a tenth as many; the tree is sortedcontainers'.",
)
def building(record: Record, size) -> None:
    for panel, ways, part in (("compiled", COMPILED, 1), ("calls from Python", CALLED, 10)):
        contest, spent = Contest(ways, limit=60), {}
        contest.warm(dense_flights(500))
        for count in size:
            spent = contest.race(dense_flights(max(200, count // part)))
            for name, seconds in spent.items():
                record.point(name, max(200, count // part), seconds, panel)
        if panel == "compiled":
            record.judge("much", "searching tree / forest", "far above 1 x", spent["multiset"] / spent["stab-forest"])
            hinted = spent["stab-forest"] / spent["multiset, hinted"]
            record.judge("near", "forest / hinted tree", "about 1 x", hinted)
            record.judge("conceded", "forest / array", "above 1 x", spent["stab-forest"] / spent["vector"])
        else:
            called = spent["multiset"] / spent["stab-forest"]
            record.judge("more", "SortedList.add / forest.append, from Python", "above 1 x", called)
    record.checked("all hold as many events")


def resident() -> int:
    """The memory that this process holds, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def give_back() -> None:
    """Freed memory goes back to the system, so that it is not taken for the structure's, nor the structure's for it."""
    ctypes.CDLL("libc.so.6").malloc_trim(0)


STRUCTURES: dict[str, Callable[..., Any]] = {
    "vector": vector,
    "multiset": multiset,
    "stab-forest": tl.StabForest.build,
}


def held_by(name: str, count: int) -> int:
    """The bytes by which a process grows when it makes a structure of so many flights."""
    make = STRUCTURES[name]
    make(*dense_flights(1_000))
    events = dense_flights(count)
    gc.collect()
    give_back()
    before = resident()
    made = make(*events)
    if isinstance(made, tl.StabForest):
        made.stab(0)
    gc.collect()
    give_back()
    return resident() - before


@figure(
    "stab-forest",
    "7 right",
    "Memory of the first N flights",
    statement="Much smaller than search trees, since there is a node for each start, not for each event.",
    x=Axis("events"),
    y=Axis("bytes that the process grew by"),
    sizes={
        "tiny": (100_000,),
        "small": (10**6, 2 * 10**6, 4 * 10**6),
        "full": (5 * 10**6, 10**7, 2 * 10**7, 4 * 10**7),
    },
    learned="Measured: the resident size of a process of its own, before and after. Times have eight bytes here, four "
    "in the paper; nodes of the tree have no allocator's overhead.",
)
def memory(record: Record, size) -> None:
    found = {}
    for count in size:
        for name in STRUCTURES:
            with ProcessPoolExecutor(1, get_context("spawn")) as pool:
                found[name] = pool.submit(partial(held_by, name, count)).result()
            record.point(name, count, found[name])
    record.checked("sizes are those of processes that hold the whole structure")
    each = {name: held / size[-1] for name, held in found.items()}
    told = ", ".join(f"{name} {held:.0f}" for name, held in each.items())
    ratio = each["multiset"] / each["stab-forest"]
    record.judge("much", f"tree / forest, bytes an event ({told})", "much above 1 x", ratio)
