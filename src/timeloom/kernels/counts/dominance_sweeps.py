"""Sweeps in rank space: points enter one by one, each at its own slot, and rows ask how much stands below a slot.

Counting keeps one bit for each slot and a binary indexed tree over words of 32 bits, so that a million points take
a quarter of a megabyte and the sweep stays in the second-level cache. Sums need a tree over the slots themselves.
"""

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.jit import compiled
from timeloom.kernels.order import Positions

Bits = NDArray[np.uint32]


@compiled
def sweep_counts(
    slots: Positions,
    rows: Positions,
    taken: Positions,
    low: Positions,
    high: Positions,
    sign: int,
    counts: NDArray[np.int64],
) -> None:
    """Add to each row, with this sign, the number of its first ``taken`` points at slots below high less below low.

    Entries come in the order of ``taken``; what the first of them needs enters at once.
    """
    words = (slots.size >> 5) + 1
    bits = np.zeros(words, np.uint32)
    tree = np.zeros(words + 1, np.int32)
    entered = taken[0] if taken.size else 0
    enter_all(bits, tree, slots[:entered])
    for entry in range(rows.size):
        while entered < taken[entry]:
            enter(bits, tree, slots[entered])
            entered += 1
        found = entered_below(bits, tree, high[entry])
        if low[entry] > 0:
            found -= entered_below(bits, tree, low[entry])
        counts[rows[entry]] += sign * found


@compiled
def enter_all(bits: Bits, tree: Positions, slots: Positions) -> None:
    """Set many bits of an empty tree: count them by word, then let each node pass its count on to the next above."""
    for slot in slots:
        word, bit = np.int64(slot >> 5), np.int64(slot & 31)
        bits[word] |= np.uint32(1 << bit)
        tree[word + 1] += 1
    for node in range(1, tree.size):
        above = node + (node & -node)
        if above < tree.size:
            tree[above] += tree[node]


@compiled
def enter(bits: Bits, tree: Positions, slot: int) -> None:
    """Set the bit of a slot; node n of the tree covers the words up to n - 1."""
    word, bit = np.int64(slot >> 5), np.int64(slot & 31)
    bits[word] |= np.uint32(1 << bit)
    node = word + 1
    while node < tree.size:
        tree[node] += 1
        node += node & -node


@compiled
def entered_below(bits: Bits, tree: Positions, slot: int) -> np.int64:
    """Count the bits set below a slot."""
    node, bit = np.int64(slot >> 5), np.int64(slot & 31)
    found = ones(np.int64(bits[node]) & ((1 << bit) - 1))
    while node > 0:
        found += tree[node]
        node &= node - 1
    return found


@compiled
def ones(word: np.int64) -> np.int64:
    """Count the bits set in a word of 32, by adding neighbours in ever wider fields."""
    word = word - ((word >> 1) & 0x55555555)
    word = (word & 0x33333333) + ((word >> 2) & 0x33333333)
    word = (word + (word >> 4)) & 0x0F0F0F0F
    return ((word * 0x01010101) >> 24) & 0xFF


@compiled
def sweep_sums(
    slots: Positions,
    weights: NDArray[np.int64],
    rows: Positions,
    taken: Positions,
    low: Positions,
    high: Positions,
    sign: int,
    totals: NDArray[np.int64],
) -> None:
    """Add to each row, with this sign, the weights of its first ``taken`` points below slot high less below low."""
    tree = np.zeros(slots.size + 1, np.int64)
    entered = 0
    for entry in range(rows.size):
        while entered < taken[entry]:
            node = slots[entered] + 1
            while node < tree.size:
                tree[node] += weights[entered]
                node += node & -node
            entered += 1
        totals[rows[entry]] += sign * (weight_below(tree, high[entry]) - weight_below(tree, low[entry]))


@compiled
def weight_below(tree: NDArray[np.int64], slot: int) -> np.int64:
    """Add up the weights entered below a slot."""
    node, weight = np.int64(slot), np.int64(0)
    while node > 0:
        weight += tree[node]
        node &= node - 1
    return weight
