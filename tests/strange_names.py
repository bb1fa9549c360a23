"""Names that users may give their columns: those that Timeloom itself uses somewhere inside, and strange ones."""

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

import timeloom as tl

INSIDE = [
    "side",
    "reason",
    "side_",
    "reason_",
    "step",
    "change",
    "lane",
    "row",
    "rows",
    "count",
    "n",
    "key",
    "start",
    "end",
    "slice",
    "chosen",
    "place",
    "parcel",
    "seam",
    "rank",
    "low",
    "high",
    "first",
    "last",
    "bounds",
    "home",
    "cuts",
    "is_right",
    "tag",
    "until",
    "other",
    "fault",
    "true_start",
    "true_end",
    "stream",
    "base",
    "top",
    "shift",
    "before",
    "flip",
    "firsts",
    "counts",
    "run",
    "met",
    "at",
    "entry",
    "own",
    "begin",
    "stop",
    "entries",
    "parts",
    "froms",
    "widths",
    "offsets",
    "reaches",
    "reach_0",
    "low_cell",
    "high_cell",
    "known_start",
    "matched_start",
    "matched_p0",
    "c0",
    "c1",
    "p0",
    "p1",
    "k0",
    "v0",
    "m0",
    "part_0",
    "part_0_0",
    "whole_0",
    "hot",
    "_",
    "0",
    "1",
    "column",
]
STRANGE = [
    "",
    " ",
    "a.b",
    "a`b",
    "*",
    "`",
    "it's",
    'say "so"',
    "A",
    "a",
    "ß",
    "Side",
    "new\nline",
    "select",
    "%s",
    "{}",
]

NAMES = INSIDE + STRANGE

Answer = tuple[Any, Any]


def numbered(names: Sequence[str]) -> list[str]:
    """As many names that mean nothing to anybody."""
    return [f"quite harmless {number}" for number in range(len(names))]


def rows_named(names: Sequence[str]) -> pa.Table:
    """Rows of which one is invalid: a period under the first two names, a key under the third, then numbers."""
    numbers = [[10 * at, 10 * at + 1, 10 * at + 1, 10 * at] for at in range(len(names) - 3)]
    return pa.Table.from_arrays(
        [pa.array([0, 3, 2, None]), pa.array([5, 8, 7, 9]), pa.array(["a", "b", "a", "b"]), *map(pa.array, numbers)],
        names=list(names),
    )


def verbs(names: Sequence[str]) -> "dict[str, Callable[[Any, Any], Any]]":
    """Every verb with tables of these names. Names that verbs add are harmless."""
    period, key = (names[0], names[1]), names[2]
    one = {"period": period, "on_invalid": "quarantine"}
    two = {"on": key, "left_period": period, "right_period": period, "on_invalid": "quarantine"}
    apart = {"suffixes": ("", " of the other"), **two}
    both = {"sys_period": period, "app_period": period, "on_invalid": "quarantine"}
    windows = {"sys": tl.Slide(0, 4, 2), "app": tl.Slide(0, 4, 2), "steps": 2, **both}
    sums = {f"sum {at}": (name, "sum") for at, name in enumerate(names[3:])}
    distinct = {f"some {at}": (name, "count_distinct") for at, name in enumerate(names[3:5])}
    return {
        "join": lambda a, b: tl.join(a, b, how="full", **apart),
        "anti": lambda a, b: tl.join(a, b, "before", how="anti", **two),
        "temporal_join": lambda a, b: tl.temporal_join(a, b, how="full", **apart),
        "temporal_antijoin": lambda a, b: tl.temporal_antijoin(a, b, **two),
        "count_join": lambda a, b: tl.count_join(a, b, name="how many", aggregates=sums, **two),
        "top_k": lambda a, b: tl.top_k(a, b, 1, name="how many", by=list(names[3:5]), **two),
        "stab": lambda a, b: tl.stab(a, 4, **one),
        "coalesce": lambda a, b: tl.coalesce(a, **one),
        "gaps": lambda a, b: tl.gaps(a, by=key, within=(-2, 12), **one),
        "depth": lambda a, b: tl.depth(a, by=key, name="how many", **one),
        "temporal_aggregate": lambda a, b: tl.temporal_aggregate(a, sums, by=key, fill=True, **one),
        "windows of rows": lambda a, b: tl.sliding_windows(a, rows=True, **windows),
        "changes of windows": lambda a, b: tl.sliding_windows(a, deltas=True, **windows),
        "windows": lambda a, b: tl.sliding_windows(a, select=sums | distinct, bounds=True, **windows),
    }


def local_verbs(names: Sequence[str]) -> "dict[str, Callable[[Any, Any], Any]]":
    """The same for verbs that local tables have so far."""
    period, key = (names[0], names[1]), names[2]
    one = {"period": period, "on_invalid": "quarantine"}
    two = {"left_period": period, "right_period": period, "on_invalid": "quarantine"}
    keyed = {"suffixes": ("", " of the other"), "on": key, "on_invalid": "quarantine"}
    return {
        "nearest": lambda a, b: tl.nearest(a, b, 2, name="how far", left_period=period, right_period=period, **keyed),
        "as_of": lambda a, b: tl.as_of(a, b, at=names[0], **keyed),
        "split": lambda a, b: tl.split(a, every=2, **one),
        "lanes": lambda a, b: tl.lanes(a, by=key, name="which lane", **one),
        "check": lambda a, b: tl.Quarantined(tl.check(a, by=names[3], period=period), tl.stab(a, 4, **one).rejected),
        "temporal_union": lambda a, b: tl.temporal_union(a, b, **two),
        "temporal_intersect": lambda a, b: tl.temporal_intersect(a, b, all=True, **two),
        "temporal_except": lambda a, b: tl.temporal_except(a, b, **two),
        "buckets": lambda a, b: tl.temporal_aggregate(a, {"how many": "count"}, by=key, every=2, **one),
        "sessions": lambda a, b: tl.coalesce(a, by=key, max_gap=1, **one),
    }


WRITTEN = {
    "check": {"fault", "start", "end", "rows"},
    "windows of rows": {"step"},
    "changes of windows": {"step", "change"},
}
"""Names that a verb gives to columns of its result itself, so that a user's column may not have them."""
