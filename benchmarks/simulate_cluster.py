"""A join on a cluster that is not here: real samples, cuts and routing, on tables of up to 10^12 rows, on paper.

Each distribution is a population of rows that stand for many more, spread evenly over it, so that what differs between
tasks is what sampling and cutting do, not what few rows do. The sample is drawn as the plan draws it (long rows are
favoured), the task that chooses cuts is the one that Spark runs, and so is the routing of rows.
"""

import argparse
import itertools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from timeloom.engines.spark.exchange.routing import Dealing, Routed, RowTicks, routed
from timeloom.engines.spark.slicing.boundaries import (
    RANKS,
    favour,
    sample_size,
    sampled_share,
)
from timeloom.engines.spark.slicing.cuts import Cuts, CutTask
from timeloom.engines.spark.slicing.join_parts import cover
from timeloom.engines.spark.slicing.sharing import mixed
from timeloom.engines.spark.slicing.slices import Slicing
from timeloom.engines.spark.slicing.tick_ranges import PartRange
from timeloom.engines.spark.slicing.work import PAIRS_PER_ROW
from timeloom.kernels.slicing.copies import START_HERE
from timeloom.model.names import relation
from timeloom.model.ticks import Axis

Numbers = NDArray[np.int64]
Parts = NDArray[np.float64]

ROW_BYTES = 24
"""Two times and a number."""

DOMAIN = 10**12
MEAN = DOMAIN / 10**7
"""How long rows last on average, if nothing else is said."""

PARTS = cover(relation("intersects").boxes(Axis.INTEGER))


class Rows(NamedTuple):
    """Rows that stand for a table; keys are hashes.

    ``present`` is which part of all rows is expected to be there when each begins. It is known from the distribution,
    while a count among few rows that stand for very many would tell of these few.
    """

    starts: Numbers
    ends: Numbers
    keys: Numbers
    present: Parts


@dataclass(frozen=True)
class Outcome:
    """What a join of so many rows would do on so many tasks."""

    copies: float
    imbalance: float
    most_rows: float
    shuffled: float
    driver: int
    seconds: float


STRIDES = [math.sqrt(prime) % 1 for prime in (5, 2, 3, 7, 11, 13, 17, 19, 23)]
"""Multiples of each of these are spread evenly between 0 and 1, and so are those of several of them together."""


Numbers01 = Callable[[int], Parts]
"""Numbers between 0 and 1 for each row, for a dimension; asked again, the same."""


def evenly(count: int, seed: int) -> Numbers01:
    """Numbers as even as can be, also among rows that are alike in other dimensions.

    Rows drawn at random would differ from task to task by themselves: few of them stand for very many.
    """
    return lambda dimension: (np.arange(seed + 0.5, count + seed) * STRIDES[dimension]) % 1.0


def at_random(count: int, seed: int) -> Numbers01:
    """Numbers as chance has them: what a sample errs about."""
    return lambda dimension: np.random.default_rng([seed, dimension]).random(count)


def uniform(count: int, numbers: Numbers01) -> Rows:
    """Starts anywhere, durations about a thousandth of the time in which the rows of one of 10,000 tasks begin."""
    starts = (numbers(0) * DOMAIN).astype(np.int64)
    lengths = np.ceil(-np.log(numbers(1)) * MEAN).astype(np.int64)
    return Rows(starts, starts + lengths, np.zeros(count, np.int64), np.full(count, MEAN / DOMAIN))


def bursts(count: int, numbers: Numbers01) -> Rows:
    """Nine of ten rows begin within a thousandth of the time, in a hundred bursts, and are as much shorter."""
    rows = uniform(count, numbers)
    busy = numbers(2) < 0.9
    burst, within = np.divmod(numbers(0) * 100, 1)
    starts = np.where(busy, (burst * (DOMAIN // 100) + within * (DOMAIN // 10**5)).astype(np.int64), rows.starts)
    lengths = np.where(busy, np.maximum(1, (rows.ends - rows.starts) // 1000), rows.ends - rows.starts)
    in_burst = starts % (DOMAIN // 100) < DOMAIN // 10**5
    present = rows.present * np.where(in_burst, 1.0, 0.1)
    return Rows(starts, starts + lengths, rows.keys, present)


def zipf(count: int, numbers: Numbers01) -> Rows:
    """Keys by Zipf's law: the first of a million has a fourteenth of all rows. Pairs of equal keys are few."""
    rows = uniform(count, numbers)
    weights = 1 / np.arange(1, 10**6 + 1)
    found = np.searchsorted(np.cumsum(weights) / weights.sum(), numbers(5))
    return rows._replace(keys=_hashed(found.astype(np.int64)), present=np.zeros(count))


def long_rows(count: int, numbers: Numbers01) -> Rows:
    """One row of a thousand lasts between a tenth and all of the time."""
    rows = uniform(count, numbers)
    long = numbers(6) < 0.001
    lengths = np.where(long, (numbers(7) * 0.9 + 0.1) * DOMAIN, rows.ends - rows.starts)
    since = rows.starts / DOMAIN
    lasting = np.where(since < 0.1, since, 0.1 + (0.81 - (1 - since.clip(min=0.1)) ** 2) / 1.8)
    present = 0.999 * rows.present + 0.001 * lasting
    return Rows(rows.starts, rows.starts + lengths.astype(np.int64), rows.keys, present)


def daily(count: int, numbers: Numbers01) -> Rows:
    """A year in which nine times as many rows begin at noon as at midnight, of log-normal durations."""
    day, swing = DOMAIN // 365, 0.8
    since = np.linspace(0, 1, 1 << 12)
    before = since - swing * np.sin(2 * np.pi * since) / (2 * np.pi)
    number, within = np.divmod(numbers(0) * 365, 1)
    hour = np.interp(within, before, since)
    starts = ((number + hour) * day).astype(np.int64)
    lengths = np.ceil(MEAN * _log_normal(numbers(1))).astype(np.int64)
    present = (1 - swing * np.cos(2 * np.pi * hour)) * MEAN / DOMAIN
    return Rows(starts, starts + lengths, np.zeros(count, np.int64), present)


def rush_hour(count: int, numbers: Numbers01) -> Rows:
    """Half of the rows come evenly; the others come together, the more the nearer to the middle of a short rush."""
    rows, width = uniform(count, numbers), DOMAIN // 1000
    in_rush = numbers(2) < 0.5
    starts = np.where(in_rush, DOMAIN // 2 + (_normal(numbers(0)) * width).astype(np.int64), rows.starts)
    off = (starts - DOMAIN // 2) / width
    rate = 0.5 + 0.5 * np.exp(-(off**2) / 2) / math.sqrt(2 * math.pi) * DOMAIN / width
    return Rows(starts, starts + (rows.ends - rows.starts), rows.keys, rate * MEAN / DOMAIN)


def _normal(numbers: Parts) -> Parts:
    """Normal numbers at evenly spread ones."""
    at = np.linspace(-8, 8, 1 << 14)
    below = np.cumsum(np.exp(-(at**2) / 2))
    found: Parts = np.interp(numbers, (below - below[0]) / (below[-1] - below[0]), at)
    return found


def _log_normal(numbers: Parts, spread: float = 1.5) -> Parts:
    """Log-normal numbers of mean 1 at evenly spread ones."""
    found: Parts = np.exp(spread * _normal(numbers) - spread**2 / 2)
    return found


def timeless(count: int, numbers: Numbers01) -> Rows:
    """One row lasts for all time: it goes to every task, which is one copy more for each."""
    return uniform(count, numbers)


def one_instant(count: int, numbers: Numbers01) -> Rows:
    """A fifth of all rows begin at the same tick: no boundary lies within it."""
    rows, tick = uniform(count, numbers), DOMAIN // 2
    starts = np.where(numbers(8) < 0.2, tick, rows.starts)
    since = np.where(starts < tick, np.inf, starts - tick)
    present = 0.8 * rows.present + 0.2 * np.exp(-since / MEAN)
    return Rows(starts, starts + (rows.ends - rows.starts), rows.keys, present)


def _hashed(numbers: Numbers) -> Numbers:
    """Numbers as hashes: spread over all buckets, equal ones equal."""
    mixed = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return ((mixed ^ (mixed >> np.uint64(29))) & np.uint64(2**63 - 1)).astype(np.int64)


DISTRIBUTIONS: dict[str, Callable[[int, Numbers01], Rows]] = {
    "uniform": uniform,
    "zipf": zipf,
    "bursts": bursts,
    "daily": daily,
    "rush_hour": rush_hour,
    "timeless": timeless,
    "long_rows": long_rows,
    "one_instant": one_instant,
}

WORST = {
    "long_rows": "long rows are in thousands of slices: there are as many copies as the bound allows, four a row",
    "one_instant": (
        "all rows that begin at one tick meet each other, and no boundary lies between them: tasks share the tick, "
        "which takes a copy of a row for each group of the other side, as many as the bound allows; work is even"
    ),
}
"""What the design does not hold for, and why."""


def simulate(name: str, total: float, tasks: int, count: int = 1 << 20, seed: int = 1) -> Outcome:
    """Cut and route a join of two tables that have so many rows together."""
    make, slicing = DISTRIBUTIONS[name], _slicing(name, total, tasks)
    task, sample = _sample(make, slicing, total, seed)
    began = time.perf_counter()
    (batch,) = task(iter(sample))
    seconds, written = time.perf_counter() - began, batch.column(0)[0].as_py()
    rows, read = make(count, evenly(count, seed)), Cuts.read(written)
    low, high = PartRange("left", PARTS).of(rows.starts, rows.ends)
    pairs = rows.present * total / 2
    received, loads = np.zeros(slicing.tasks), np.zeros(slicing.tasks)
    for source in (0, 1):
        mine = np.arange(count) % 2 == source
        ticks = RowTicks(*(column[mine] for column in (rows.starts, rows.ends, low, high)))
        keys = rows.keys[mine] if slicing.by_key else None
        found = routed(int(mine.sum()), keys, ticks, read, slicing, Dealing(source, mixed))
        weights = np.concatenate([[0.0], np.cumsum(_work(pairs[mine], found))])
        for number, destination in enumerate(found.destinations):
            first, last = found.edges[number : number + 2]
            received[destination.task] += last - first
            loads[destination.task] += weights[last] - weights[first]
    extra = slicing.tasks / total if name == "timeless" else 0.0
    copies = received.sum() / count + extra
    largest = [float(found.max() / found.mean()) for found in (loads, received)]
    return Outcome(copies, *largest, copies * total * ROW_BYTES, len(written), seconds)


def _work(pairs: Parts, found: Routed) -> Parts:
    """What each copy of a row costs its task: a row, and its pairs in the slice in which it begins.

    Tasks that share that slice have equal parts of them.
    """
    begins = (found.bits & START_HERE) != 0
    parts = np.bincount(found.rows, begins, pairs.size).clip(min=1)
    found_work: Parts = PAIRS_PER_ROW + (pairs / parts)[found.rows] * begins
    return found_work


def _slicing(name: str, total: float, tasks: int) -> Slicing:
    """As a join of inputs of this size makes it on a cluster on which half of the tasks run at once."""
    share = sampled_share([int(total * ROW_BYTES)])
    return Slicing(tasks, tasks // 2, by_key=name == "zipf", share=share, shares=True)


def _sample(
    make: Callable[[int, Numbers01], Rows], slicing: Slicing, total: float, seed: int
) -> tuple[CutTask, list[pa.RecordBatch]]:
    """The task that chooses cuts, and a sample drawn as the plan draws it, in batches as Spark hands it over.

    No row is in it twice: copies would meet each other.
    """
    few, draw = 1 << 16, np.random.default_rng([seed, len(STRIDES)])
    odds = 2.0 ** favour(*make(few, at_random(few, seed + 7))[:2])
    wanted, most = sample_size(slicing.slices), float(odds.max())
    expected = min(wanted + 4 * math.sqrt(wanted), total * slicing.share * odds.mean())
    count = int(expected * most / odds.mean())
    population = make(count, at_random(count, seed))
    picked = draw.random(count) * most < 2.0 ** favour(population.starts, population.ends)
    size = int(picked.sum())
    sample = {
        "source": draw.integers(0, 2, size),
        "start": population.starts[picked],
        "end": population.ends[picked],
        "key": population.keys[picked],
        "rank": (draw.random(size) * expected / (total * odds.mean()) * (RANKS - 1)).astype(np.int64),
    }
    task = CutTask(slicing, (PartRange("left", PARTS), PartRange("right", PARTS)))
    return task, pa.table(sample).to_batches(max_chunksize=10_000)


def main() -> None:
    """Print a line for each distribution, size and cluster."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", nargs="*", type=float, default=[1e9, 1e10, 1e11, 1e12])
    parser.add_argument("--tasks", nargs="*", type=int, default=[100, 1000, 10_000])
    parser.add_argument("--distributions", nargs="*", default=list(DISTRIBUTIONS))
    parser.add_argument("--seeds", nargs="*", type=int, default=[1])
    given = parser.parse_args()
    output = Table(title="A join on paper: real sample, cuts and routing")
    for name in (
        "rows",
        "tasks",
        "seed",
        "copies per row",
        "largest task / mean",
        "by rows",
        "shuffled",
        "cuts",
        "chosen in",
        "holds",
    ):
        output.add_column(name, justify="right")
    for name in given.distributions:
        output.add_section()
        output.add_row(f"{name} {'(worst case)' if name in WORST else ''}")
        for total in given.rows:
            for tasks, seed in itertools.product(given.tasks, given.seeds):
                found = simulate(name, total, tasks, count=max(1 << 20, 400 * tasks), seed=seed)
                cells = f"{found.copies:.3f}", f"{found.imbalance:.2f}", f"{found.most_rows:.2f}"
                shuffled = f"{found.shuffled / 1e9:,.0f} GB"
                chosen = f"{found.driver:,} B", f"{found.seconds:.1f} s"
                holds = "" if name in WORST else "yes" if found.copies <= 1.5 and found.imbalance <= 1.3 else "no"
                output.add_row(f"{total:.0e}", f"{tasks:,}", str(seed), *cells, shuffled, *chosen, holds)
    Console(width=120).print(output)
    for name, why in WORST.items():
        print(f"{name}: {why}")


if __name__ == "__main__":
    main()
