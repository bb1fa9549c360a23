"""DIP: anti-joins (figure 23) and aggregation (figures 6b, 24, 25)."""

from collections.abc import Callable

import numpy as np

from benchmarks.data.histories import feed
from benchmarks.data.statistics import Periods
from benchmarks.peers import aggregates, blocks, interval_joins
from benchmarks.reproduce.contest import Contest
from benchmarks.reproduce.dip_joins import BLOCKS, HISTORY, two
from benchmarks.reproduce.dip_ways import AT_ONCE, growth, judge, pool_room
from benchmarks.reproduce.figures import Axis, Record, figure, times
from timeloom.kernels.aggregates.dip import dip_timeline
from timeloom.kernels.aggregates.timeline import sums
from timeloom.kernels.order import distinct
from timeloom.kernels.sequenced import dip, dip_merge


def dip_antijoin(left: Periods, right: Periods) -> tuple[int, int, int]:
    found = dip_merge.antijoin(*left, *right)
    return found.starts.size, int(found.starts.sum()), int(found.ends.sum())


@figure(
    "dip",
    "23",
    "Anti-join: Protein without Fat",
    statement="Alignment compares all with all, on disk as in memory; DIP is the first method that is not quadratic.",
    x=HISTORY,
    y=Axis("seconds, or blocks", log=True),
    sizes={
        "tiny": (500, 1_000),
        "small": (20_000, 40_000, 80_000, 160_000),
        "full": (50_000, 100_000, 200_000, 400_000),
    },
    learned=BLOCKS + " Alignment is left out once it takes long.",
)
def antijoin(record: Record, size) -> None:
    ways = {"DIP": dip_antijoin, "Align": interval_joins.alignment_antijoin}
    contest, spent = Contest(ways, limit=0.4 if size[-1] < 2 * 10**5 else 60), []
    last: dict[str, float] = {}
    contest.warm(*two(200))
    for count in size:
        left, right = two(count)
        latest = contest.race(left, right)
        spent.append(latest["DIP"])
        last = latest if "Align" in latest else last
        for name, seconds in latest.items():
            record.point(name, count, seconds, "in memory: seconds")
        parts = dip.partition(*left), dip.partition(*right)
        on_disk = {
            "DIP": blocks.merged_partitions(*parts, AT_ONCE, pool_room(left, right), whole_inner=True),
            "Align": interval_joins.alignment_blocks(left, right, pool_room(left, right)),
        }
        for name, number in on_disk.items():
            record.point(name, count, number, "on disk: blocks")
    record.checked("both find the same pieces, by number and by the sums of their bounds")
    record.judge("much", "seconds, Align / DIP", "far above 1 x", last["Align"] / last["DIP"])
    record.judge("much", "blocks, Align / DIP", "far above 1 x", on_disk["Align"] / on_disk["DIP"])
    exponent = growth(size, spent)
    record.grows("growth of DIP with the history", "not quadratic", exponent, most=1.5)


def values_of(count: int) -> np.ndarray:
    return np.random.default_rng(4).integers(1, 10_000, count)


def dip_aggregate(starts: np.ndarray, ends: np.ndarray, values: np.ndarray) -> aggregates.Steps:
    line = dip_timeline(starts, ends)
    return line.starts, line.active.astype(np.int64), sums(line, values)


AGGREGATES: dict[str, Callable[..., aggregates.Steps]] = {
    "DIP": dip_aggregate,
    "AggTree": aggregates.aggregation_tree,
    "TimeLine": aggregates.timeline_aggregate,
    "SortAgg": aggregates.sort_aggregate,
}


def history(count: int, timeless: int = 0) -> tuple[np.ndarray, ...]:
    return *feed(count, 3, timeless=timeless), values_of(count)


@figure(
    "dip",
    "6b",
    "Sort-aggregate with and without one tuple that lasts for ever",
    statement="Aggregation by sorting must fetch again all tuples that still hold: one long-lived tuple makes it "
    "quadratic.",
    x=HISTORY,
    y=Axis("seconds"),
    sizes={"tiny": (500, 1_000), "small": (5_000, 10_000, 20_000), "full": (25_000, 50_000, 100_000)},
)
def one_long_tuple(record: Record, size) -> None:
    last = {}
    for told, timeless in (("without time-invariant tuples", 0), ("with one", 1)):
        contest, spent = Contest({name: AGGREGATES[name] for name in ("SortAgg", "DIP")}), []
        contest.warm(*history(200, timeless))
        for count in size:
            seconds = contest.race(*history(count, timeless))
            record.point(f"SortAgg, {told}", count, seconds["SortAgg"])
            if timeless:
                record.point("DIP, with one", count, seconds["DIP"])
            spent.append(seconds["SortAgg"])
        last[timeless] = spent[-1]
        exponent = growth(size, spent)
    record.checked("sort-aggregate and DIP give the same periods, counts and sums")
    record.judge("much", "with one / without", "many times", last[1] / last[0])
    record.grows("growth with one long-lived tuple", "n^2", exponent, least=2)


@figure(
    "dip",
    "24",
    "Average over time on disk",
    statement="The aggregation tree is not efficient, look-ups of the timeline index fetch a block each, "
    "sort-aggregate goes back again and again: DIP needs least.",
    x=HISTORY,
    y=Axis("blocks", log=True),
    sizes={"tiny": (500, 1_000), "small": (10_000, 20_000, 40_000), "full": (100_000, 200_000, 400_000)},
    learned=BLOCKS + " DIP joins its partitions one after the other and reads and writes the join so far each time.",
)
def aggregate_on_disk(record: Record, size) -> None:
    found: dict[str, float] = {}
    for count in size:
        starts, ends, values = history(count)
        room = max(2 * AT_ONCE, blocks.blocks_of(count) // 100)
        found = {"DIP": dip_blocks(starts, ends)}
        for name in ("AggTree", "TimeLine", "SortAgg"):
            held = aggregates.nodes_of(count) if name == "AggTree" else count
            pool = blocks.pool_of(blocks.blocks_of(held), room)
            AGGREGATES[name](starts, ends, values, pool)
            found[name] = blocks.cost(pool)
        for name, number in found.items():
            record.point(name, count, number)
    record.checked("answers are those of the reference, which tests compare")
    for rival in ("AggTree", "TimeLine", "SortAgg"):
        judge(record, f"{rival} / DIP", "above 1 x", found, rival)


def dip_blocks(starts: np.ndarray, ends: np.ndarray) -> int:
    """Each join reads the periods so far and one partition, and writes the periods; periods grow with the "
    "partitions."""
    parts = dip.partition(starts, ends)
    sizes = np.diff(parts.offsets)
    so_far = np.minimum(2 * np.cumsum(sizes), distinct(np.concatenate([starts, ends])).size)
    return int(
        sum(blocks.blocks_of(int(rows)) for rows in sizes) + 2 * sum(blocks.blocks_of(int(rows)) for rows in so_far)
    )


@figure(
    "dip",
    "25",
    "Average over time in memory",
    statement="The aggregation tree does not scale, sort-aggregate is slower than DIP, the timeline index is robust "
    "until it grows large (150 million tuples), DIP beyond that; it grows linearly with the history.",
    x=HISTORY,
    y=Axis("seconds", log=True),
    sizes={
        "tiny": (500, 1_000),
        "small": (10_000, 20_000, 40_000, 80_000),
        "full": (10**5, 2 * 10**5, 4 * 10**5, 8 * 10**5),
    },
    learned="The aggregation tree keeps its balance on starts in random order. 150 million tuples are more than ends "
    "within minutes: what is judged of the timeline index is how it grows before. It reads each value once, in the "
    "order of time; DIP joins about 120 partitions, one after the other.",
)
def aggregate_in_memory(record: Record, size) -> None:
    contest, all_spent = Contest(AGGREGATES, limit=60), {"DIP": [], "TimeLine": []}
    contest.warm(*history(200))
    spent: dict[str, float] = {}
    for count in size:
        latest = contest.race(*history(count))
        spent |= latest
        for name, found in all_spent.items():
            found.append(latest[name])
        for name, seconds in latest.items():
            record.point(name, count, seconds)
    record.checked("all four give the same periods, counts and sums")
    for rival in ("AggTree", "SortAgg"):
        judge(record, f"{rival} / DIP", "above 1 x", spent, rival)
    for name, paper in (("DIP", "linear"), ("TimeLine", "robust until 150M")):
        record.grows(f"growth of {name} with the history", paper, growth(size, all_spent[name]), most=1)
    record.aside("TimeLine / DIP", times(spent["TimeLine"] / spent["DIP"]))
