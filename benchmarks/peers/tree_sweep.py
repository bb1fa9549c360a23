"""The sweep for INVERSE DURING with its active rows in a search tree by their ends: only pairs are looked at."""

import numpy as np

from benchmarks.peers.leung_muntz import PAGE
from benchmarks.peers.treap import NONE, before, insert, remove, treap
from timeloom.kernels.jit import compiled
from timeloom.kernels.order import sort


def summed(left: tuple, right: tuple) -> tuple[int, int]:
    """Pairs in which the right row lies within the left one, and the sum of the left starts over them."""
    begun, ended, fired = sort(left[0]), sort(left[1]), sort(right[0])
    page = np.empty((2, PAGE), np.int32)
    tree = treap(left[0].size)
    columns = (*left, begun.values, begun.ids, ended.values, ended.ids, fired.values, fired.ids, right[1])
    found: tuple[int, int] = _sweep(*columns, tree, page[0], page[1])
    return found


@compiled
def _sweep(starts, ends, begun, begun_ids, ended, ended_ids, fired, fired_ids, other_ends, tree, out_r, out_s):
    i = j = pairs = place = total = 0
    for at in range(fired.size):
        while i < begun.size and begun[i] <= fired[at]:
            insert(tree, begun_ids[i], ends[begun_ids[i]])
            i += 1
        while j < ended.size and ended[j] <= fired[at]:
            remove(tree, ended_ids[j])
            j += 1
        row, node = fired_ids[at], tree.ends[1]
        while node != NONE and tree.keys[node] >= other_ends[row]:
            out_r[place], out_s[place] = node, row
            total += starts[node]
            pairs, place = pairs + 1, place + 1
            if place == out_r.size:
                place = 0
            node = before(tree, node)
    return pairs, total
