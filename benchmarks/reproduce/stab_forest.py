"""Stab-forests: joins of sparse and of dense data (figure 5) and the behaviour of skip-join (figure 6)."""

from functools import partial
from typing import Any

import numpy as np

import timeloom as tl
from benchmarks.data.events import (
    DAY,
    FLIGHTS,
    LONGEST_FLIGHT,
    LONGEST_UNREST,
    MINUTES,
    UNREST,
    Events,
    dense_flights,
    flights,
    gap_data,
    unrest,
)
from benchmarks.reproduce.contest import Contest, pairs
from benchmarks.reproduce.figures import Axis, Record, figure, judge_statistics
from timeloom.kernels.joins.skip_join import forward_scan
from timeloom.kernels.order import distinct

Forest = tl.StabForest


def skip(left: Forest, right: Forest, c: int = 16, variant: Any = "auto") -> Events:
    return left.skip_join(right, c=c, variant=variant)


def scanned(left: Events, right: Events) -> Events:
    return forward_scan(*left, *right)


def ways(left: Events, right: Events) -> dict:
    """The four algorithms of the paper on one pair of lists; forests are built beforehand, as lists are sorted."""
    forests = Forest.build(*left), Forest.build(*right)
    return {
        "FWDSCAN": partial(scanned, left, right),
        "SKIPJOIN-E": partial(skip, *forests, variant="events"),
        "SKIPJOIN-I": partial(skip, *forests, variant="index"),
        "SKIPJOIN": partial(skip, *forests),
    }


@figure(
    "stab-forest",
    "4",
    "The data",
    statement="61.1 million flights of ten years, of 0 to 1,350 minutes, 11.6 for each minute; 62,141 events of civil "
    "unrest of sixty years, of 0 to 18,407 days.",
    x=Axis("statistic", named=True),
    y=Axis("drawn / table"),
    mark="bar",
    sizes={"tiny": 20_000, "small": 1_000_000, "full": 10_000_000},
    learned="Drawn: starts by a daily cycle or evenly, durations log-normal (flights) and Pareto (unrest).",
)
def data(record: Record, size) -> None:
    starts, ends = dense_flights(size)
    lengths = ends - starts - 1
    minutes = size * MINUTES // FLIGHTS
    shares = {
        "events for each start": (size / distinct(starts).size) / (FLIGHTS / MINUTES),
        "longest": lengths.max() / LONGEST_FLIGHT,
        "shortest": 1.0 + lengths.min(),
        "time": (starts[-1] + 1) / minutes,
    }
    days, ended = unrest()
    also = {"longest": (ended - days - 1).max() / LONGEST_UNREST, "events": days.size / UNREST}
    judge_statistics(record, "figure 4", {"flights": shares, "civil unrest": also})


@figure(
    "stab-forest",
    "5 left",
    "Sparse joins: the 7th day of each of the first n months of the flights",
    statement="Skip-join skips what no filter touches: an order of magnitude faster than the forward scan, and close "
    "to a query made for such windows. It is the index that does it: skipping within the list only gains little.",
    x=Axis("months"),
    y=Axis("seconds", log=True),
    sizes={
        "tiny": (20_000, (3, 12)),
        "small": (2_000_000, (1, 12, 60, 120)),
        "full": (FLIGHTS, (1, 12, 30, 60, 90, 120)),
    },
    learned="At the small scale the same ten years hold fewer flights, so filters are less sparse for each start.",
)
def sparse(record: Record, size) -> None:
    count, numbers = size
    events = flights(count)
    forest, last = Forest.build(*events), {}
    for number in numbers:
        days = np.arange(number) * (MINUTES // 120) + 6 * DAY
        windows = days, days + DAY
        filters = Forest.build(*windows)

        def dedicated(windows=windows) -> Events:
            offsets, ids = forest.overlapping_many(*windows)
            return ids, np.repeat(np.arange(windows[0].size), np.diff(offsets))

        contest = Contest(
            {
                "FWDSCAN": partial(scanned, events, windows),
                "SKIPJOIN-E": partial(skip, forest, filters, variant="events"),
                "SKIPJOIN-I": partial(skip, forest, filters, variant="index"),
                "SKIPJOIN": partial(skip, forest, filters),
                "multi-window query": dedicated,
            },
            pairs,
        )
        for name, spent in contest.race().items():
            record.point(name, number, spent)
            last[name, number] = spent
    record.checked("all five find the same pairs")
    middle = numbers[len(numbers) // 2]
    gain = last["FWDSCAN", middle] / last["SKIPJOIN", middle]
    record.judge("factor", f"skip-join against the forward scan, {middle} months", "10 x", gain, 10)
    close = last["SKIPJOIN", middle] / last["multi-window query", middle]
    record.judge("near", "skip-join's time / that of the window query", "close to 1 x", close)
    little = last["FWDSCAN", middle] / last["SKIPJOIN-E", middle]
    record.judge("little", "skipping in the list only, against the forward scan", "slightly above 1 x", little)


def dense(record: Record, events: Events, shares: tuple[float, ...]) -> None:
    """One random half, or a part of it, joined with the other."""
    shuffled = np.random.default_rng(3).permutation(events[0].size)
    half, ratios = events[0].size // 2, []
    rest = np.sort(shuffled[half:])
    for share in shares:
        some = np.sort(shuffled[: int(share * half)])
        left, right = [(events[0][rows], events[1][rows]) for rows in (some, rest)]
        times = Contest(ways(left, right), pairs).race()
        for name, spent in times.items():
            record.point(name, 100 * share, spent)
        if share >= 0.5:
            ratios.append(times["SKIPJOIN"] / times["FWDSCAN"])
    record.checked("all four find the same pairs")
    middle = float(np.median(ratios))
    record.judge("near", "skip-join / the forward scan, half of R and more", "about 1 x", middle)


ELEVEN = tuple(number / 10 for number in range(11))
DENSE = "On dense data, where nearly every event has a partner, skip-join is as fast as the forward scan."


@figure(
    "stab-forest",
    "5 middle",
    "Dense joins: a part of one half of 2.5 million flights with the other half",
    statement=DENSE,
    x=Axis("% of R"),
    y=Axis("seconds"),
    sizes={"tiny": (20_000, (0.0, 1.0)), "small": (300_000, ELEVEN), "full": (2_500_000, ELEVEN)},
)
def dense_of_flights(record: Record, size) -> None:
    dense(record, flights(size[0]), size[1])


@figure(
    "stab-forest",
    "5 right",
    "Dense joins: a part of one half of the civil unrest events with the other half",
    statement=DENSE,
    x=Axis("% of R"),
    y=Axis("seconds"),
    sizes={"tiny": (2_000, (0.0, 1.0)), "small": (UNREST, ELEVEN), "full": (UNREST, ELEVEN)},
)
def dense_of_unrest(record: Record, size) -> None:
    dense(record, unrest(size[0]), size[1])


@figure(
    "stab-forest",
    "6",
    "Gap data: groups of G events by turns on either side, nothing joins",
    statement="Skipping pays from about four events on. Skipping in the list gains little, by the index orders of "
    "magnitude if gaps are large; c = 16 is near the best throughout.",
    x=Axis("gap G", log=True),
    y=Axis("seconds", log=True),
    sizes={
        "tiny": (2**12, (0, 4, 8)),
        "small": (2**22, tuple(range(0, 21, 2))),
        "full": (2**25, tuple(range(21))),
    },
    learned="The full scale has half the paper's events, since two forests of 64 million distinct starts need 10 GB.",
)
def gaps(record: Record, size) -> None:
    count, powers = size
    last: dict = {}
    for power in powers:
        left, right = gap_data(count, 2**power)
        forests = Forest.build(*left), Forest.build(*right)
        all_ways = ways(left, right) | {f"c = {c}": partial(skip, *forests, c) for c in (1, 2, 4, 8, 32, 64)}
        if power < 4:
            all_ways.pop("SKIPJOIN-I")
        last[power] = Contest(all_ways, pairs).race()
        for name, spent in last[power].items():
            record.point(name, 2**power, spent)
    record.checked("every algorithm finds the empty join")
    _judge_gaps(record, last)


def _judge_gaps(record: Record, last: dict) -> None:
    far = max(last)
    gain = last[far]["FWDSCAN"] / last[far]["SKIPJOIN"]
    record.judge("factor", f"skip-join against the forward scan at G = 2^{far}", "orders of magnitude", gain, 100)
    listed = last[far]["FWDSCAN"] / last[far]["SKIPJOIN-E"]
    record.judge("little", "skipping in the list only, at the same gap", "a small gain", listed)
    small = [last[power]["FWDSCAN"] / last[power]["SKIPJOIN"] for power in last if 2 <= power <= 4]
    if small:
        record.judge("more", "skip-join against the forward scan at gaps of 4 to 16", "above 1 x", min(small))
    worst = max(times["SKIPJOIN"] / min(times.values()) for times in last.values())
    record.judge("near", "c = 16 against the best of all, the worst gap", "close to 1 x", worst)
