"""Sweeping joins: the data of table 3, what the abstraction costs (figure 8), and sets of active tuples (figures 9 "
"to 11)."""

from functools import partial
from typing import Any

from benchmarks.data.statistics import SWEEPING, Periods, shares
from benchmarks.data.uniform import uniform
from benchmarks.peers.active_sets import churned, scan_gapless, scan_linked, scan_tree
from benchmarks.peers.inlined_before import inlined_before
from benchmarks.reproduce.contest import Contest
from benchmarks.reproduce.figures import Axis, Record, figure, judge_statistics, times
from benchmarks.reproduce.sweeping_work import summed
from timeloom.model.names import relation

ROWS = {
    "tiny": {"flight": 2_000, "inc": 2_000, "web": 2_000, "feed": 3_000, "basf": 3_000},
    "small": {"flight": 58_000, "inc": 20_000, "web": 20_000, "feed": 20_000, "basf": 100_000},
    "full": {"flight": 58_000, "inc": 84_000, "web": 100_000, "feed": 100_000, "basf": 1_000_000},
}
"""Rows of each set. All of web or feed would have some hundred billion pairs."""

OF_SETS: dict[str, Any] = {"x": Axis("data", named=True), "mark": "bar", "sizes": ROWS}
"""What figures with a bar for each data set have in common."""


def data_sets(rows: dict[str, int]) -> dict[str, Periods]:
    return {name: SWEEPING[name].scaled(count).draw() for name, count in rows.items()}


def synthetic(rows: int, mean: float, seed: int) -> Periods:
    found = uniform(rows, mean, seed)
    return found["start"], found["end"]


@figure(
    "sweeping",
    "table 3",
    "Real-world data",
    statement="Five data sets whose endpoints cluster: flights, employees, files of a repository, feeds, spectra.",
    x=Axis("statistic", named=True),
    y=Axis("drawn / table"),
    mark="bar",
    sizes=ROWS,
    learned="The sets are drawn to the table's statistics; with fewer rows, distinct points are fewer by the same "
    "share, so that as many rows start together.",
)
def table_of_statistics(record: Record, size) -> None:
    wanted = {name: SWEEPING[name].scaled(rows) for name, rows in size.items()}
    judge_statistics(record, "table 3", {name: shares(of) for name, of in wanted.items()})


@figure(
    "sweeping",
    "8",
    "The general BEFORE join through the framework, and written out by hand",
    statement="In C++ abstractions cost nothing: the framework is as fast as one function written by hand. In Java the "
    "latter is about 10 % faster, and C++ several times faster than Java.",
    x=Axis("version", named=True),
    y=Axis("seconds"),
    mark="bar",
    sizes={"tiny": 2_000, "small": 300_000, "full": 1_000_000},
    learned="Our framework is data, not iterators: one compiled loop over columns with shifts. By hand, the same "
    "algorithm is one function, with the same active set. One that also knows that the active rows of this relation "
    "come and go in one order, and so keeps no set, is another algorithm and explains only. Java has no counterpart "
    "here and is left out.",
)
def abstractions(record: Record, size) -> None:
    left, right = synthetic(size, 10, 1), synthetic(size, 10, 2)
    (box,) = relation("iseql.before", delta=10).boxes()

    contest = Contest(
        {
            "through the framework": partial(summed, left, right, box),
            "written by hand": partial(inlined_before, left, right, 10),
            "by hand, no active set": partial(inlined_before, left, right, 10, active_set=False),
        }
    )
    contest.warm()
    spent = contest.race()
    for name, seconds in spent.items():
        record.point(name, name, seconds)
    record.checked("both find as many pairs with the same sum of starts")
    overhead = spent["through the framework"] / spent["written by hand"]
    record.judge("near", "framework / by hand", "1 x", overhead)
    no_set = spent["through the framework"] / spent["by hand, no active set"]
    record.aside("framework / by hand, no active set", times(no_set))


@figure(
    "sweeping",
    "9",
    "Latency of getnext while an active set is scanned",
    statement="A linked hash map and a red-black tree slow down as soon as they outgrow a cache; the gapless map "
    "does so later and far less: 2.7 ns at the end, where the others need 100 ns.",
    x=Axis("tuples", log=True),
    y=Axis("ns for each getnext", log=True),
    sizes={
        "tiny": (100, 1_000),
        "small": tuple(10**power for power in (2, 3, 4, 5, 6)),
        "full": tuple(round(10 ** (power / 2)) for power in range(3, 15)),
    },
    learned="Tuples of 32 bytes; the tree is a treap with links as wide as pointers. Where the curves jump depends on "
    "the caches of the machine.",
)
def latency(record: Record, size) -> None:
    last: dict[str, float] = {}
    for count in size:
        gapless, linked, tree = churned(count)
        turns = max(1, 2 * 10**6 // count)
        contest = Contest(
            {
                "gapless hash map": partial(scan_gapless, gapless, turns),
                "linked hash map": partial(scan_linked, *linked, turns),
                "tree": partial(scan_tree, *tree, turns),
            }
        )
        contest.warm()
        last = {name: spent / (count * turns) * 1e9 for name, spent in contest.race().items()}
        for name, spent in last.items():
            record.point(name, count, spent)
    record.checked("all three hold the same tuples")
    slower = min(last["linked hash map"], last["tree"]) / last["gapless hash map"]
    record.judge("factor", f"linked and tree against gapless, {size[-1]:,} tuples", "37 x", slower, 37)


@figure(
    "sweeping",
    "10 and 11",
    "Stalled cycles and cache misses of getnext",
    statement="What getnext costs is waiting for memory; out-of-order execution helps the gapless map, whose next "
    "tuple is known beforehand.",
    x=Axis("tuples", log=True),
    y=Axis("misses", log=True),
    sizes=dict.fromkeys(("tiny", "small", "full")),
)
def counters(record: Record, _size) -> None:
    record.reason = (
        "These need the processor's own counters, which a shared or virtual machine does not show to programs; "
        "figure 9 has the latency that they explain."
    )
