"""DIP: joins of feed-like data, in memory and on disk (figures 6a, 21, 22), and the running example."""

from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.data.histories import feed
from benchmarks.data.statistics import Periods
from benchmarks.peers import dip_as_printed
from benchmarks.peers import interval_joins as peers
from benchmarks.reproduce.contest import Contest
from benchmarks.reproduce.dip_ways import (
    JOINS,
    PRINTED,
    blocks,
    comparisons,
    counted,
    growth,
    join_by_dip,
    judge,
    printed_join,
    race_over,
)
from benchmarks.reproduce.figures import Axis, Record, figure, times
from benchmarks.reproduce.rule import grade_of
from timeloom.kernels.jit import compiled
from timeloom.kernels.sequenced import dip, dip_join

Found = dict[int, dict[str, float]]
R = np.array([1, 6, 7, 7, 10, 10]), np.array([5, 8, 8, 10, 11, 13])
S = np.array([0, 1, 3, 5, 9, 11]), np.array([8, 2, 4, 11, 12, 12])
HISTORY = Axis("tuples (and granules of the history)")
BLOCKS = (
    "On disk means counted, not timed: blocks of 100 rows that a pool with room for a hundredth of the data fetches, "
    "one that does not follow another counting seven times, as on the paper's disk. Our merge keeps a row of each "
    "partition in memory and reads both sides once; as printed, partitions of one side are read for each of the other."
)


def two(size: int, timeless: int = 0) -> tuple[Periods, Periods]:
    """Protein and Fat."""
    return feed(size, 1), feed(size, 2, timeless=timeless)


@figure(
    "dip",
    "example",
    "Comparisons in the running example",
    statement="Sort-merge with backtracking compares 29 times, DIP 22 times.",
    x=Axis("method", named=True),
    y=Axis("comparisons"),
    mark="bar",
    sizes=dict.fromkeys(("tiny", "small", "full")),
)
def example(record: Record, _size) -> None:
    pairs, wasted = peers.sort_merge(R, S)
    merged = dip_as_printed.count_merged(dip.partition(*R), dip.partition(*S))
    assert pairs == merged.results == 15
    record.checked("both find 15 pairs")
    for name, measured, paper in (("SM", pairs + wasted, 29), ("DIP", merged.comparisons, 22)):
        record.point(name, name, measured)
        record.finding(name, str(paper), str(measured), measured == paper)


@figure(
    "dip",
    "6a",
    "Sort-merge join with and without one tuple that lasts for ever",
    statement="As soon as a single long-lived tuple exists, backtracking makes sort-merge behave like a nested loop.",
    x=HISTORY,
    y=Axis("seconds"),
    sizes={"tiny": (500, 1_000), "small": (5_000, 10_000, 20_000, 40_000), "full": (25_000, 50_000, 100_000, 200_000)},
)
def one_long_tuple(record: Record, size) -> None:
    last, exponents = {}, {}
    for told, timeless in (("without time-invariant tuples", 0), ("with one", 1)):
        contest, spent = Contest({"SM": lambda left, right: peers.sort_merge(left, right)[0], "DIP": join_by_dip}), []
        contest.warm(*two(200, timeless))
        for count in size:
            seconds = contest.race(*two(count, timeless))
            record.point(f"SM, {told}", count, seconds["SM"])
            if timeless:
                record.point("DIP, with one", count, seconds["DIP"])
            spent.append(seconds["SM"])
        last[timeless], exponents[timeless] = spent[-1], growth(size, spent)
    record.checked("sort-merge and DIP find as many pairs")
    record.judge("much", "with one / without", "many times", last[1] / last[0])
    record.grows("growth with one long-lived tuple", "n^2", exponents[1], least=2)


@figure(
    "dip",
    "21",
    "Join of Protein and Fat on disk",
    statement="Align compares everything with everything; look-ups of the timeline index and updates of the "
    "sweepline's active rows fetch a block each. With 8 million tuples OIP checks 6.5*10^10 combinations, sort-merge "
    "4*10^9, DIP 6*10^7.",
    x=HISTORY,
    y=Axis("blocks, or comparisons in vain", log=True),
    sizes={
        "tiny": ((500, 1_000), (2_000,)),
        "small": ((10_000, 20_000, 40_000), (50_000, 100_000, 200_000)),
        "full": ((50_000, 100_000, 200_000, 400_000), (500_000, 1_000_000, 2_000_000)),
    },
    learned=BLOCKS
    + " The paper's numbers are 7.5 comparisons in vain for a tuple by DIP and 500 by sort-merge, a tenth of "
    "what it tells of figure 22 and of what the stated lengths give (70 and 7,000): they are of other, sparser data.",
)
def on_disk(record: Record, size) -> None:
    few, many = size
    for panel, names, counts in (
        ("a: blocks", ("Align", "TimeLine", "Sweep"), few),
        ("b: blocks", ("OIP", "SM"), many),
    ):
        for count in counts:
            fetched = blocks(*two(count), names)
            for name, number in fetched.items():
                record.point(name, count, number, panel)
        for name in names:
            judge(record, f"blocks, {name} / DIP, {counts[-1]:,} tuples", "above 1 x", fetched, name)
            printed = times(fetched[name] / fetched[PRINTED])
            record.aside(f"blocks, {name} / DIP with merges as printed, {counts[-1]:,} tuples", printed)
    for count in few:
        checked = comparisons(*two(count), ("OIP", "SM"))
        for name, number in checked.items():
            record.point(name, count, number, "b: comparisons in vain")
    record.checked("all find as many pairs")
    judge(record, "comparisons in vain, SM / DIP", "67 x at 8M", checked, "SM", 67)
    judge(record, "comparisons in vain, OIP / DIP", "1,080 x at 8M", checked, "OIP", 1_080)


@figure(
    "dip",
    "22a",
    "Join of Protein and Fat in memory: all approaches",
    statement="All gain from memory; Align is quadratic, and DIP stays ahead.",
    x=HISTORY,
    y=Axis("seconds", log=True),
    sizes={"tiny": (500, 1_000), "small": (5_000, 10_000, 20_000), "full": (20_000, 50_000, 100_000, 200_000)},
)
def in_memory(record: Record, size) -> None:
    names = ("DIP", "Sweep", "TimeLine", "SM", "OIP", "Align")
    spent = race_over(record, size, two, names, "", limit=30)
    for rival in ("Align", "SM", "OIP"):
        judge(record, f"{rival} / DIP", "above 1 x", spent, rival)


@figure(
    "dip",
    "22b",
    "Join of Protein and Fat in memory: unproductive comparisons",
    statement="Times follow the unproductive comparisons: with 30 million tuples OIP makes 2*10^15 (as printed), "
    "sort-merge 2.1*10^11, DIP 2.1*10^9.",
    x=HISTORY,
    y=Axis("seconds, or comparisons in vain", log=True),
    sizes={"tiny": (500, 1_000), "small": (40_000, 80_000, 160_000), "full": (50_000, 100_000, 200_000, 400_000)},
    learned="For a tuple that is 7,000 by sort-merge and 70 by DIP: it depends on the longest tuple (10,000 granules) "
    "and on the depth of the data (about 120), not on the length of the history. The paper's 2*10^15 of OIP is more "
    "than all pairs of 30 million tuples with each other.",
)
def unproductive(record: Record, size) -> None:
    names = ("DIP", "SM", "OIP")
    spent = race_over(record, size, two, names, "seconds", limit=60)
    all_wasted: dict[str, list[float]] = {name: [] for name in names}
    for count in size:
        wasted = comparisons(*two(count), names)
        for name in names:
            record.point(name, count, wasted[name], "comparisons in vain")
            all_wasted[name].append(wasted[name])
    grows = {name: growth(size, found) for name, found in all_wasted.items()}
    told = ", ".join(f"{name} n^{exponent:.1f}" for name, exponent in grows.items())
    record.finding("growth of comparisons in vain", "OIP more than DIP", told, grows["OIP"] > grows["DIP"] + 0.2)
    for name, paper in (("DIP", 70), ("SM", 7_000)):
        each = wasted[name] / size[-1]
        near = grade_of("about", each, paper)
        record.finding(f"comparisons in vain for a tuple, {name}", f"{paper:,} at 30M", f"{each:,.0f}", near)
    for rival in ("SM", "OIP"):
        judge(record, f"seconds, {rival} / DIP: more in vain takes longer", "above 1 x", spent, rival)


LARGE = {"tiny": (1_000, 2_000), "small": (100_000, 200_000, 400_000), "full": (10**6, 2 * 10**6, 4 * 10**6, 8 * 10**6)}
STATED, LONGER = "history as long as stated", "history 60 times as long"
IN_ORDER = "Sweep, rows in order"
LOCALITY = (
    "Sweep keeps a list of rows that lie anywhere in memory, as the paper describes it; beside it stands one whose "
    "rows lie in order of time, and DIP with merges as printed, each group of outer partitions with each inner one. "
    "With the stated lengths a tuple meets about 150 others: a list follows a link for each of them, ours compares "
    "current rows that lie beside each other, several at a time. "
)


def stretched(panel: str, size: int) -> tuple[Periods, Periods]:
    stretch = 1 if panel == STATED else 60
    return feed(size, 1, stretch=stretch), feed(size, 2, stretch=stretch)


def over_both(record: Record, sizes: tuple[int, ...], race: Callable[[Periods, Periods], dict[str, float]]) -> Found:
    """Times over growing histories, as long as stated and longer; those of the stated ones by size."""
    stated: Found = {}
    for panel in (STATED, LONGER):
        for count in sizes if panel == STATED else sizes[-2:]:
            spent = race(*stretched(panel, count))
            for name, seconds in spent.items():
                record.point(name, count, seconds, panel)
            if panel == STATED:
                stated[count] = spent
        for rival in ("Sweep", IN_ORDER, PRINTED) if panel == LONGER else (IN_ORDER, PRINTED):
            record.aside(f"{rival} / DIP, {panel}", times(spent[rival] / spent["DIP"]))
    record.checked("all find as many pairs")
    return stated


@figure(
    "dip",
    "22c",
    "Join of Protein and Fat in memory: long histories",
    statement="With 300 million tuples DIP is four minutes faster than the sweepline, whose active tuples are "
    "scattered over memory; the timeline index falls behind.",
    x=HISTORY,
    y=Axis("seconds"),
    sizes=LARGE,
    learned=LOCALITY + "Sorting and partitioning are part of the times, by the same sort for all.",
)
def long_histories(record: Record, size) -> None:
    beside = {IN_ORDER: partial(counted, peers.sweepline), PRINTED: printed_join}
    contest = Contest({name: JOINS[name] for name in ("DIP", "Sweep", "TimeLine")} | beside)
    contest.warm(*two(200))
    spent = over_both(record, size, contest.race)[size[-1]]
    for rival in ("Sweep", "TimeLine"):
        judge(record, f"{rival} / DIP", "above 1 x", spent, rival)


@figure(
    "dip",
    "22d",
    "The same with sorting and partitioning done beforehand, beside a scan",
    statement="With partitions made offline DIP joins ten times as fast as the sweepline; its cost is linear as that "
    "of a sequential scan is, with a slightly higher factor.",
    x=HISTORY,
    y=Axis("seconds", log=True),
    sizes=LARGE,
    learned=LOCALITY
    + "The scan reads both periods of all tuples once and writes nothing; the join finds 150 pairs for a tuple and "
    "compares it with more than a hundred others.",
)
def offline(record: Record, size) -> None:
    found = over_both(record, size, _offline)
    spent = found[size[-1]]
    judge(record, "Sweep / DIP", "10 x", spent, "Sweep", 10)
    exponent = growth(size, [found[count]["DIP"] for count in size])
    record.grows("growth of DIP with the history", "linear", exponent, most=1)
    over = spent["DIP"] / spent["scan"]
    record.judge("near", "DIP / scan", "slightly above 1 x", over)
    steps = dip_join.count_joined(*(dip.number_rows(*side) for side in two(size[0]))).comparisons
    record.aside("a comparison of DIP / a tuple of the scan", times(over * 2 * size[0] / steps))


def _offline(left: Periods, right: Periods) -> dict[str, float]:
    sides, parts = [dip.number_rows(*side) for side in (left, right)], [dip.partition(*side) for side in (left, right)]
    ways: dict[str, Callable[[], int]] = {
        "DIP": lambda: dip_join.count_joined(*sides).results,
        PRINTED: lambda: dip_as_printed.count_merged(*parts).results,
    }
    for name, scattered in (("Sweep", True), (IN_ORDER, False)):
        rows = [peers.active_rows(*side, scattered) for side in (left, right)]
        ways[name] = partial(counted, peers.sweep_sorted, *rows)
    contest, scan = Contest(ways), Contest({"scan": partial(scanned, *left, *right)})
    contest.warm()
    scan.warm()
    return contest.race() | scan.race()


@compiled
def scanned(r_start, r_end, s_start, s_end):
    total = 0
    for row in range(r_start.size):
        total += r_end[row] - r_start[row]
    for row in range(s_start.size):
        total += s_end[row] - s_start[row]
    return total
