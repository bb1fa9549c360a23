"""Structures that take events one by one: a plain array that grows, and search trees with and without a hint."""

import numpy as np

from benchmarks.peers.treap import Treap, insert, insert_last, treap
from timeloom.kernels.jit import compiled


def vector(starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Rows in an array that doubles when it is full."""
    return _vector(starts, ends)


@compiled
def _vector(starts, ends):
    held = np.empty((16, 2), np.int64)
    for row in range(starts.size):
        if row == held.shape[0]:
            wider = np.empty((2 * row, 2), np.int64)
            wider[:row] = held
            held = wider
        held[row, 0], held[row, 1] = starts[row], ends[row]
    return held[: starts.size]


def multiset(starts: np.ndarray, ends: np.ndarray, *, hint: bool = False) -> tuple[np.ndarray, Treap]:
    """A tree by start, a node for each event, beside the events themselves."""
    tree = treap(starts.size)
    held = _fill(tree, starts, ends, hint)
    return held, tree


@compiled
def _fill(tree, starts, ends, hint):
    held = np.empty(starts.size, np.int64)
    for row in range(starts.size):
        if hint:
            insert_last(tree, row, starts[row])
        else:
            insert(tree, row, starts[row])
        held[row] = ends[row]
    return held
