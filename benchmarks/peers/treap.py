"""A balanced search tree in arrays, for whatever a paper keeps in one: keys with repetition, insertion, removal, walks.

Nodes lie in an array in the order of their numbers, as an allocator lays them out; a node has four links (left, right,
parent, priority), as wide as pointers, and its key. Priorities are random: depth is logarithmic as in a red-black tree.
"""

from typing import NamedTuple

import numpy as np

from timeloom.kernels.jit import compiled

LEFT, RIGHT, PARENT, PRIORITY = 0, 1, 2, 3
NONE = -1


class Treap(NamedTuple):
    """The keys of nodes, their links, and the root beside the last node."""

    keys: np.ndarray
    links: np.ndarray
    ends: np.ndarray

    @property
    def nbytes(self) -> int:
        return self.keys.nbytes + self.links.nbytes


def treap(room: int, seed: int = 1) -> Treap:
    """An empty tree for nodes 0 to room - 1."""
    links = np.full((room, 4), NONE)
    links[:, PRIORITY] = np.random.default_rng(seed).integers(0, 2**31 - 1, room)
    return Treap(np.zeros(room, np.int64), links, np.full(2, NONE))


@compiled
def insert(tree, node, key):
    """Insert behind all equal keys, searching from the root."""
    keys, links, ends = tree
    keys[node] = key
    parent, at, side = NONE, ends[0], RIGHT
    while at != NONE:
        parent = at
        side = LEFT if key < keys[at] else RIGHT
        at = links[at, side]
    attach(tree, node, parent, side)


@compiled
def insert_last(tree, node, key):
    """Insert with the hint that the key is the greatest: no search."""
    tree.keys[node] = key
    attach(tree, node, tree.ends[1], RIGHT)


@compiled
def attach(tree, node, parent, side):
    """Hang a leaf in and rotate it up while its priority is higher."""
    links, ends = tree.links, tree.ends
    links[node, LEFT], links[node, RIGHT], links[node, PARENT] = NONE, NONE, parent
    if parent == NONE:
        ends[0] = ends[1] = node
        return
    if side == RIGHT and parent == ends[1]:
        ends[1] = node
    links[parent, side] = node
    while links[node, PARENT] != NONE and links[node, PRIORITY] > links[links[node, PARENT], PRIORITY]:
        lift(tree, node)


@compiled
def lift(tree, node):
    """Rotate a node above its parent."""
    links, ends = tree.links, tree.ends
    parent = links[node, PARENT]
    above = links[parent, PARENT]
    side = LEFT if links[parent, LEFT] == node else RIGHT
    moved = links[node, 1 - side]
    links[parent, side] = moved
    if moved != NONE:
        links[moved, PARENT] = parent
    links[node, 1 - side], links[parent, PARENT], links[node, PARENT] = parent, node, above
    if above == NONE:
        ends[0] = node
    elif links[above, LEFT] == parent:
        links[above, LEFT] = node
    else:
        links[above, RIGHT] = node


@compiled
def remove(tree, node):
    """Rotate a node down to a leaf and cut it off."""
    links, ends = tree.links, tree.ends
    if node == ends[1]:
        ends[1] = before(tree, node)
    while links[node, LEFT] != NONE or links[node, RIGHT] != NONE:
        left, right = links[node, LEFT], links[node, RIGHT]
        if right == NONE or (left != NONE and links[left, PRIORITY] > links[right, PRIORITY]):
            lift(tree, left)
        else:
            lift(tree, right)
    parent = links[node, PARENT]
    if parent == NONE:
        ends[0] = NONE
    elif links[parent, LEFT] == node:
        links[parent, LEFT] = NONE
    else:
        links[parent, RIGHT] = NONE


@compiled
def outermost(tree, side):
    """The first or the last node, or NONE."""
    at = tree.ends[0]
    while at != NONE and tree.links[at, side] != NONE:
        at = tree.links[at, side]
    return at


@compiled
def walk(links, node, side):
    """The next node on a side, in order of keys, or NONE."""
    at = links[node, side]
    if at != NONE:
        while links[at, 1 - side] != NONE:
            at = links[at, 1 - side]
        return at
    at = links[node, PARENT]
    while at != NONE and links[at, side] == node:
        node, at = at, links[at, PARENT]
    return at


@compiled
def before(tree, node):
    return walk(tree.links, node, LEFT)


@compiled
def after(tree, node):
    return walk(tree.links, node, RIGHT)
