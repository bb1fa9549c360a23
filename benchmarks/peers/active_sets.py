"""Sets of active tuples of 32 bytes: gapless, linked, in a search tree; after the same insertions and removals."""

import numpy as np

from benchmarks.peers.treap import LEFT, NONE, Treap, insert, outermost, remove, treap, walk
from timeloom.kernels.jit import compiled

WORDS = 4
"""Numbers of eight bytes in a tuple."""


def churned(count: int, seed: int = 3) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray], tuple[np.ndarray, Treap]]:
    """The same tuples in three sets, after as many removals and insertions as there are tuples, twice."""
    random = np.random.default_rng(seed)
    values, victims = random.integers(0, 1000, 3 * count), random.integers(0, count, 2 * count)
    gapless = np.zeros((count, WORDS), np.int64)
    nodes, neighbours = np.zeros((count, WORDS), np.int64), np.full((count + 1, 2), NONE, np.int64)
    leaves, tree = np.zeros((count, WORDS), np.int64), treap(count)
    _churn(values, victims, gapless, nodes, neighbours, leaves, tree)
    return gapless, (nodes, neighbours), (leaves, tree)


@compiled
def _churn(values, victims, gapless, nodes, neighbours, leaves, tree):
    """A new tuple takes the room of the one removed, as allocators do; in the list it is the last."""
    count = gapless.shape[0]
    place, holder = np.arange(count), np.arange(count)
    neighbours[count, 0] = neighbours[count, 1] = count
    for at in range(count):
        gapless[at, 0] = nodes[at, 0] = leaves[at, 0] = values[at]
        _link(neighbours, at)
        insert(tree, at, values[at])
    for turn in range(victims.size):
        at, value = victims[turn], values[count + turn]
        hole, last = place[at], holder[count - 1]
        gapless[hole, 0], place[last], holder[hole] = gapless[count - 1, 0], hole, last
        gapless[count - 1, 0], place[at], holder[count - 1] = value, count - 1, at
        neighbours[neighbours[at, 0], 1], neighbours[neighbours[at, 1], 0] = neighbours[at, 1], neighbours[at, 0]
        remove(tree, at)
        nodes[at, 0] = leaves[at, 0] = value
        _link(neighbours, at)
        insert(tree, at, value)


@compiled
def _link(neighbours, at):
    seam = neighbours.shape[0] - 1
    last = neighbours[seam, 0]
    neighbours[last, 1], neighbours[at, 0], neighbours[at, 1], neighbours[seam, 0] = at, last, seam, at


@compiled
def scan_gapless(tuples, times):
    """Sum the first number of all tuples, several times."""
    total = 0
    for _ in range(times):
        for at in range(tuples.shape[0]):
            total += tuples[at, 0]
    return total


@compiled
def scan_linked(tuples, neighbours, times):
    total, seam = 0, tuples.shape[0]
    for _ in range(times):
        at = neighbours[seam, 1]
        while at != seam:
            total += tuples[at, 0]
            at = neighbours[at, 1]
    return total


@compiled
def scan_tree(tuples, tree, times):
    total = 0
    for _ in range(times):
        at = outermost(tree, LEFT)
        while at != NONE:
            total += tuples[at, 0]
            at = walk(tree.links, at, 1 - LEFT)
    return total
