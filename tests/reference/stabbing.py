"""Stabs and joins of events by brute force, and the stab-forest's structure by its definitions.

Events are closed here, as in the paper: (v, w) is active from v to w. Nothing of Timeloom is imported; a forest's
arrays are read into plain trees, and those are held against the definitions of section 3.
"""

from itertools import pairwise


def stab(events, t):
    return {i for i, (v, w) in enumerate(events) if v <= t <= w}


def multi_stab(events, ts):
    return {i for t in ts for i in stab(events, t)}


def join(left, right, window=(float("-inf"), float("inf"))):
    """Pairs of positions whose common time meets the closed window."""
    return {
        (i, j)
        for i, a in enumerate(left)
        for j, b in enumerate(right)
        if max(a[0], b[0], window[0]) <= min(a[1], b[1], window[1])
    }


def half_open(events):
    """Columns of starts and ends of half-open periods."""
    return [v for v, _ in events], [w + 1 for _, w in events]


def read_shape(forest):
    """A forest's arrays as plain data: the event list, the tail, and a tree with its dummy for each forest-point."""
    count, nodes = int(forest.counts[0]), int(forest.counts[1])
    events = [(int(forest.starts[i]), int(forest.ends[i]) - 1) for i in range(count)]
    points, origin = [], 0
    for level in reversed(range(nodes.bit_length())):
        if nodes >> level & 1:
            dummy = _read_node(forest, events, origin + (1 << level))
            tree = _read_tree(forest, events, origin, level - 1)
            points.append({"height": level + 1, "dummy": dummy, "tree": tree})
            origin += 1 << level
    tail = int(forest.nodes[nodes + 1]["first"]) if count else 0
    return {"events": events, "points": points, "i_tail": tail}


def _read_tree(forest, events, origin, level):
    if level < 0:
        return None
    middle = origin + (1 << level)
    node = _read_node(forest, events, middle)
    node["left"] = _read_tree(forest, events, origin, level - 1)
    node["right"] = _read_tree(forest, events, middle, level - 1)
    return node


def _read_node(forest, events, number):
    record = forest.nodes[number]
    listed = forest.lists[int(record["list_at"]) : int(record["list_stop"])]
    own = range(int(record["first"]), int(record["own_stop"]))
    assert [int(end) - 1 for end in listed["end"]] == [events[p][1] for p in listed["desc"]]
    return {
        "dkey": int(forest.dkey[number]),
        "nkey": int(forest.dkey[number - 1]) + 1 if number > 1 else int(forest.dkey[number]),
        "i_data": int(record["first"]),
        "n_desc": [int(p) for p in listed["desc"]],
        "n_asc": [int(p) for p in listed["asc"]],
        "d_desc": list(reversed(own)),
        "last_end": int(record["last_end"]),
        "earliest": int(record["earliest"]),
        "left": None,
        "right": None,
    }


def in_order(tree, path=""):
    """The nodes of a tree with their paths from the root, in ascending order."""
    if tree is None:
        return []
    return [*in_order(tree["left"], path + "L"), (path, tree), *in_order(tree["right"], path + "R")]


def least(tree):
    return min(node["nkey"] for _, node in in_order(tree))


def most(tree):
    return max(node["dkey"] for _, node in in_order(tree))


def height(tree):
    return 0 if tree is None else 1 + max(height(tree["left"]), height(tree["right"]))


def check_shape(shape):
    """All ten invariants of the paper, the lists against their definitions, and the order in each list."""
    events, points, tail = shape["events"], shape["points"], shape["i_tail"]
    assert events == sorted(events)
    for point in points:
        for _, node in in_order(point["tree"]):
            _check_keys(events, node)
            _check_list(events, node, least(node), most(node))
        _check_point(events, point)
    for earlier, later in pairwise(points):
        assert earlier["height"] > later["height"], "x"
        assert point_least(later) == 1 + earlier["dummy"]["dkey"], "x"
    _check_tail(events, points, tail)


def point_least(point):
    return point["dummy"]["nkey"] if point["tree"] is None else least(point["tree"])


def _check_keys(events, node):
    assert node["nkey"] <= node["dkey"], "i"
    starts = {v for v, _ in events if node["nkey"] <= v <= node["dkey"]}
    assert starts == {node["dkey"]}, "ii"
    if node["left"]:
        assert node["nkey"] == 1 + most(node["left"]), "iii"
    if node["right"]:
        assert node["dkey"] == least(node["right"]) - 1, "iv"
    assert node["i_data"] == min(i for i, (v, _) in enumerate(events) if v == node["dkey"])


def _check_list(events, node, low, high):
    """The list of a node holds what starts in its cover up to its scope and ends from its scope on, up to ``high``."""
    expected = {i for i, (v, w) in enumerate(events) if low <= v <= node["dkey"] and node["nkey"] <= w <= high}
    early = {i for i in expected if events[i][0] < node["nkey"]}
    assert sorted(node["n_desc"]) == sorted(node["n_asc"]) == sorted(early)
    assert sorted(node["d_desc"]) == sorted(expected - early)
    for part in (node["n_desc"], node["d_desc"]):
        assert all(events[a][1] >= events[b][1] for a, b in pairwise(part))
    assert all(events[a][0] <= events[b][0] for a, b in pairwise(node["n_asc"]))
    assert all(events[i][1] < node["last_end"] for i in expected)
    assert node["earliest"] == min(early, default=2**31 - 1)


def _check_point(events, point):
    tree, dummy = point["tree"], point["dummy"]
    assert len(in_order(tree)) == 2 ** height(tree) - 1, "v"
    assert point["height"] == 1 + height(tree)
    _check_keys(events, dummy)
    if tree:
        assert dummy["nkey"] == 1 + most(tree), "ix"
    _check_list(events, dummy, point_least(point), float("inf"))


def _check_tail(events, points, tail):
    if points:
        assert point_least(points[0]) <= events[0][0] <= points[0]["dummy"]["dkey"], "vi"
    assert len({v for v, _ in events[tail:]}) <= 1, "vii"
    if events:
        covered = points[-1]["dummy"]["dkey"] if points else float("-inf")
        assert tail == min(i for i, (v, _) in enumerate(events) if v > covered), "viii"
