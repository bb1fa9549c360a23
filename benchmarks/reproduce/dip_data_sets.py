"""DIP: the other data sets (figures 26 to 29), and how many partitions are merged at once (figures 30 and 31)."""

from functools import partial
from typing import Any

from benchmarks.data.histories import contacts, feed, growing_blocks, nested, power, time_intervals
from benchmarks.data.statistics import Periods
from benchmarks.peers.blocks import merged_partitions
from benchmarks.peers.interval_joins import active_rows, by_start, sweep_sorted
from benchmarks.reproduce.contest import Contest
from benchmarks.reproduce.dip_joins import BLOCKS
from benchmarks.reproduce.dip_ways import JOINS, PRINTED, blocks, join_by_dip, judge, printed_join, race_over
from benchmarks.reproduce.figures import Axis, Record, figure, times
from timeloom.kernels.sequenced import dip, dip_join

MEMORY, DISK = "in memory: seconds", "on disk: blocks"
NAMES = ("DIP", "Sweep", "TimeLine", "SM", "OIP", "Align")
ALL_IN_MEMORY = (
    "Blocks are counted with room for all of the data, which the paper's disk-based machine had (4 GB); the "
    "sweepline writes its file of active rows through."
)
UP_TO_ALL = (1, 2, 4, 8, 16, 32)
COST = Axis("seconds, or blocks", log=True)
SELF_JOIN: dict[str, Any] = {"x": Axis("method", named=True), "y": COST, "mark": "bar"}


def self_join(
    record: Record, side: Periods, names: tuple[str, ...] = NAMES, *, roomy: bool = False
) -> tuple[dict[str, float], dict[str, int]]:
    """A data set with itself, in memory and on disk."""
    contest = Contest({name: JOINS[name] for name in names})
    contest.warm(*(((side[0][:50], side[1][:50]),) * 2))
    spent, fetched = contest.race(side, side), blocks(side, side, names, roomy=roomy)
    for name in names:
        record.point(name, name, spent[name], MEMORY)
    for name, count in fetched.items():
        record.point(name, name, count, DISK)
    record.checked("all find as many pairs")
    return spent, fetched


def told_of_sorting(record: Record, side: Periods, spent: dict[str, float]) -> None:
    """What sorting both sides takes, which no way that sorts can do without, and what the joins take offline."""
    (sorting,) = Contest({"sorting": lambda: [by_start(*one) for one in (side, side)]}, len).race().values()
    record.aside("floor: sorting both sides / Sweep, sorting included", times(sorting / spent["Sweep"]))
    sides, rows = [dip.number_rows(*side)] * 2, [active_rows(*side, scattered=True)] * 2
    ways = {"DIP": lambda: dip_join.count_joined(*sides).results, "Sweep": lambda: sweep_sorted(*rows)[0]}
    offline = Contest(ways).race()
    record.aside("Sweep / DIP, sorted and partitioned beforehand", times(offline["Sweep"] / offline["DIP"]))


@figure(
    "dip",
    "26",
    "TI joined with itself",
    statement="In memory DIP is four times as fast as the sweepline and more than ten times as fast as the others, "
    "on disk a hundred times.",
    **SELF_JOIN,
    sizes={"tiny": 5, "small": 60, "full": 60},
    learned=ALL_IN_MEMORY + " A tuple has 15 partners. Sorting, which all have in common, is most of what the "
    "sweepline takes, so nothing that sorts can be four times as fast. The paper's rows have texts of different "
    "lengths, ours have none.",
)
def time_intervals_figure(record: Record, size) -> None:
    side = time_intervals(size)
    spent, fetched = self_join(record, side, roomy=True)
    judge(record, "seconds, Sweep / DIP", "4 x", spent, "Sweep", 4)
    told_of_sorting(record, side, spent)
    for rival in ("TimeLine", "SM", "OIP", "Align"):
        judge(record, f"seconds, {rival} / DIP", "10 x", spent, rival, 10)
    for rival in ("Sweep", "TimeLine"):
        judge(record, f"blocks, {rival} / DIP", "100 x", fetched, rival, 100)


@figure(
    "dip",
    "27",
    "GREEND joined with itself",
    statement="Eight tuples last for the whole time: sort-merge becomes a nested loop, OIP is slow, the timeline "
    "index ten times slower than DIP in memory since it looks the long tuples up again for each match.",
    **SELF_JOIN,
    sizes={"tiny": 1_000, "small": 20_000, "full": 100_000},
    learned=BLOCKS
    + " A tuple has 18 partners, 16 of them the eight long ones, which stay in the cache however often they are looked "
    "up.",
)
def power_figure(record: Record, size) -> None:
    side = power(size)
    spent, fetched = self_join(record, side, NAMES[:-1])
    told_of_sorting(record, side, spent)
    for rival, stated in (("TimeLine", 10), ("SM", 0), ("OIP", 0), ("Sweep", 0)):
        judge(record, f"seconds, {rival} / DIP", "10 x" if stated else "above 1 x", spent, rival, stated)
    for rival in ("SM", "TimeLine"):
        judge(record, f"blocks, {rival} / DIP", "above 1 x", fetched, rival)


@figure(
    "dip",
    "28",
    "INFECTIOUS joined with itself",
    statement="The best case for the others: no long tuples, few overlaps. On disk DIP is competitive with its 51 "
    "partitions; sort-merge is better, and in memory the timeline index and the sweepline do well, too.",
    **SELF_JOIN,
    sizes={"tiny": 1_000, "small": 50_000, "full": 400_000},
    learned=ALL_IN_MEMORY + " A row is compared with 51 current rows of the other side, by sort-merge with about five.",
)
def contacts_figure(record: Record, size) -> None:
    spent, fetched = self_join(record, contacts(size), NAMES[:-1] if size > 10**5 else NAMES, roomy=True)
    for rival in ("SM", "TimeLine", "Sweep"):
        record.judge("conceded", f"seconds, DIP / {rival}", "above 1 x", spent["DIP"] / spent[rival])
    record.judge("near", "blocks, DIP / SM: DIP is competitive", "about 1 x", fetched["DIP"] / fetched["SM"])


@figure(
    "dip",
    "29",
    "Data that grow: block k of the history holds k times as many tuples",
    statement="On disk DIP is the only robust one. In memory the sweepline and the timeline index do well, since the "
    "history is short.",
    x=Axis("blocks of the history"),
    y=COST,
    sizes={"tiny": (2, 300), "small": (8, 3_000), "full": (10, 5_000)},
    learned=BLOCKS + " Blocks of the history have fewer granules than the paper's 100,000.",
)
def growing(record: Record, size) -> None:
    most, granules = size
    numbers = tuple(range(1, most + 1, max(1, most // 4)))

    def make(number: int) -> tuple[Periods, Periods]:
        if number == 200:
            return feed(200, 1), feed(200, 2)
        return growing_blocks(number, granules, 1), growing_blocks(number, granules, 2)

    names = ("DIP", "Sweep", "TimeLine", "SM", "OIP")
    spent = race_over(record, numbers, make, names, MEMORY, limit=60)
    fetched: dict[str, int] = {}
    for number in numbers:
        fetched = blocks(*make(number), names)
        for name, count in fetched.items():
            record.point(name, number, count, DISK)
    for rival in ("Sweep", "TimeLine", "SM", "OIP"):
        judge(record, f"blocks, {rival} / DIP", "above 1 x", fetched, rival)
    quick = spent["DIP"] / min(spent["Sweep"], spent["TimeLine"])
    record.judge("conceded", "seconds, DIP / the better of Sweep and TimeLine", "1 x or more", quick)


@figure(
    "dip",
    "30",
    "m outer partitions at once: join and anti-join on disk",
    statement="With more partitions at once a join fetches half as much, since the outer side must be read as often "
    "in any case; an anti-join a tenth.",
    x=Axis("m", log=True),
    y=Axis("blocks fetched", log=True),
    sizes={"tiny": (5_000, (1, 4)), "small": (200_000, UP_TO_ALL), "full": (2_000_000, UP_TO_ALL)},
    learned=BLOCKS
    + " The history is 20 times as long as stated: partitions are larger than memory then, the case that the "
    "paper's equation is about.",
)
def at_once(record: Record, size) -> None:
    count, numbers = size
    left, right = feed(count, 1, stretch=20), feed(count, 2, stretch=20)
    parts, room = (dip.partition(*left), dip.partition(*right)), 2 * max(numbers)
    for told, whole in (("join", False), ("anti-join", True)):
        found = []
        for m in numbers:
            found.append(merged_partitions(*parts, m, room, whole_inner=whole))
            record.point(told, m, found[-1])
        gain = found[0] / found[-1]
        if whole:
            record.judge("factor", "anti-join: one at a time / the most", "10 x", gain, 10)
        else:
            record.judge("factor", "join: one at a time / the most", "2 x", gain, 2)
    sides = dip.number_rows(*left), dip.number_rows(*right)
    assert len({dip_join.count_joined(*sides, m).results for m in numbers}) == 1
    record.checked("pairs do not depend on m")


@figure(
    "dip",
    "31",
    "The worst case: all tuples overlap, so each is a partition of its own",
    statement="With a thousandth of the partitions at once DIP is as fast as the sweepline; OIP and sort-merge, "
    "which read rows in order, are slightly faster.",
    x=Axis("m", log=True),
    y=Axis("seconds", log=True),
    sizes={
        "tiny": (300, (1, 8)),
        "small": (3_000, (1, 3, 10, 30, 100)),
        "full": (10_000, (1, 3, 10, 30, 100, 300, 1_000)),
    },
)
def worst_case(record: Record, size) -> None:
    count, numbers = size
    left, right = nested(count), nested(count)
    rivals = ("Sweep", "SM", "OIP", "TimeLine")
    ways = {f"{m}": partial(join_by_dip, m=m) for m in numbers}
    ways |= {f"{PRINTED} {m}": partial(printed_join, m=m) for m in numbers} | {name: JOINS[name] for name in rivals}
    contest = Contest(ways)
    contest.warm(nested(20), nested(20))
    spent = contest.race(left, right)
    for m in numbers:
        record.point("DIP", m, spent[str(m)])
        record.point(PRINTED, m, spent[f"{PRINTED} {m}"])
        for name in rivals:
            record.point(name, m, spent[name])
    record.checked("all find every pair")
    few = str(min(numbers, key=lambda m: abs(m - max(1, count // 1_000))))
    record.judge("near", f"DIP with m = {few} / Sweep", "1 x", spent[few] / spent["Sweep"])
    best = min(spent[str(m)] for m in numbers)
    record.judge("conceded", "DIP, best m / SM", "slightly above 1 x", best / spent["SM"])
