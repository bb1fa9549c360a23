"""A join on a cluster that is not here: real samples, cuts and routing, on tables of up to 10^12 rows, on paper.

Each distribution is a population of rows that stand for many more, spread evenly over it, so that what differs between
tasks is what sampling and cutting do, not what few rows do. The sample is drawn as the plan draws it (long rows are
favoured), the task that chooses cuts is the one that Spark runs, and so is the routing of rows.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from timeloom.engines.spark.exchange.routing import Routed, RowTicks, routed
from timeloom.engines.spark.slicing.boundaries import (
    PAIRS_PER_ROW,
    RANKS,
    favour,
    sample_size,
    sampled_share,
    work,
)
from timeloom.engines.spark.slicing.cuts import Cuts, CutTask
from timeloom.engines.spark.slicing.join_parts import cover
from timeloom.engines.spark.slicing.slices import Slicing
from timeloom.engines.spark.slicing.tick_ranges import PartRange
from timeloom.kernels.slicing.copies import START_HERE
from timeloom.model.names import relation
from timeloom.model.ticks import Axis

Numbers = NDArray[np.int64]

ROW_BYTES = 24
"""Two times and a number."""

DOMAIN = 10**12
PARTS = cover(relation("intersects").boxes(Axis.INTEGER))


@dataclass(frozen=True)
class Rows:
    """Rows that stand for a table; keys are hashes."""

    starts: Numbers
    ends: Numbers
    keys: Numbers


@dataclass(frozen=True)
class Outcome:
    """What a join of so many rows would do on so many tasks."""

    copies: float
    imbalance: float
    most_rows: float
    shuffled: float
    driver: int


def evenly(count: int, seed: int) -> NDArray[np.float64]:
    """Numbers between 0 and 1, evenly spaced, in no order."""
    return np.random.default_rng(seed).permutation((np.arange(count) + 0.5) / count)


def uniform(count: int, seed: int, total: float) -> Rows:
    """Starts anywhere, durations about a thousandth of the time in which a task's share of rows begins."""
    starts = (evenly(count, seed) * DOMAIN).astype(np.int64)
    mean = DOMAIN / 10**7
    lengths = np.ceil(-np.log(evenly(count, seed + 1)) * mean).astype(np.int64)
    return Rows(starts, starts + lengths, np.zeros(count, np.int64))


def bursts(count: int, seed: int, total: float) -> Rows:
    """Nine of ten rows begin within a thousandth of the time, in a hundred bursts."""
    rows = uniform(count, seed, total)
    busy = evenly(count, seed + 2) < 0.9
    burst = (evenly(count, seed + 3) * 100).astype(np.int64) * (DOMAIN // 100)
    starts = np.where(busy, burst + (evenly(count, seed + 4) * DOMAIN / 10**5).astype(np.int64), rows.starts)
    lengths = np.where(busy, np.maximum(1, (rows.ends - rows.starts) // 1000), rows.ends - rows.starts)
    return Rows(starts, starts + lengths, rows.keys)


def zipf(count: int, seed: int, total: float) -> Rows:
    """Keys by Zipf's law: the first of a million has a fourteenth of all rows."""
    rows = uniform(count, seed, total)
    weights = 1 / np.arange(1, 10**6 + 1)
    numbers = np.searchsorted(np.cumsum(weights) / weights.sum(), evenly(count, seed + 5))
    return Rows(rows.starts, rows.ends, _hashed(numbers.astype(np.int64)))


def long_rows(count: int, seed: int, total: float) -> Rows:
    """One row of a thousand lasts between a tenth and all of the time."""
    rows = uniform(count, seed, total)
    long = evenly(count, seed + 6) < 0.001
    lengths = np.where(long, (evenly(count, seed + 7) * 0.9 + 0.1) * DOMAIN, rows.ends - rows.starts)
    return Rows(rows.starts, rows.starts + lengths.astype(np.int64), rows.keys)


def timeless(count: int, seed: int, total: float) -> Rows:
    """One row lasts for all time: it goes to every task, which is one copy more for each."""
    return uniform(count, seed, total)


def one_instant(count: int, seed: int, total: float) -> Rows:
    """A fifth of all rows begin at the same tick: no boundary lies within it."""
    rows = uniform(count, seed, total)
    starts = np.where(evenly(count, seed + 8) < 0.2, DOMAIN // 2, rows.starts)
    return Rows(starts, starts + (rows.ends - rows.starts), rows.keys)


def _hashed(numbers: Numbers) -> Numbers:
    """Numbers as hashes: spread over all buckets, equal ones equal."""
    mixed = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return ((mixed ^ (mixed >> np.uint64(29))) & np.uint64(2**63 - 1)).astype(np.int64)


DISTRIBUTIONS: dict[str, Callable[[int, int, float], Rows]] = {
    "uniform": uniform,
    "zipf": zipf,
    "bursts": bursts,
    "timeless": timeless,
    "long_rows": long_rows,
    "one_instant": one_instant,
}

WORST = {
    "long_rows": "long rows are in thousands of slices: there are as many copies as the bound allows, four a row",
    "one_instant": "rows that begin at one tick are points in one slice, so one task has them all",
}
"""What the design does not hold for, and why."""


def simulate(name: str, total: float, tasks: int, count: int = 1 << 20, seed: int = 1) -> Outcome:
    """Cut and route a join of two tables that have so many rows together."""
    make, slicing = DISTRIBUTIONS[name], _slicing(name, total, tasks)
    population = max(1 << 20, 2 * sample_size(tasks))
    cuts = _chosen(make(population, seed + 100, total), slicing, total, seed)
    written = cuts.written()
    rows, read = make(count, seed, total), Cuts.read(written)
    low, high = PartRange("left", PARTS).of(rows.starts, rows.ends)
    ticks = RowTicks(rows.starts, rows.ends, low, high)
    found = routed(count, rows.keys if slicing.by_key else None, ticks, read, slicing)
    weights = np.concatenate([[0.0], np.cumsum(_work(rows, low, high, total, found))])
    received, loads = np.zeros(slicing.tasks), np.zeros(slicing.tasks)
    for number, destination in enumerate(found.destinations):
        first, last = found.edges[number : number + 2]
        received[destination.task] += last - first
        loads[destination.task] += weights[last] - weights[first]
    extra = slicing.tasks / total if name == "timeless" else 0.0
    copies = received.sum() / count + extra
    largest = [float(found.max() / found.mean()) for found in (loads, received)]
    return Outcome(copies, *largest, copies * total * ROW_BYTES, len(written))


def _work(rows: Rows, low: Numbers, high: Numbers, total: float, found: Routed) -> NDArray[np.float64]:
    """What each copy of a row costs its task: a row, and its pairs in the slice in which it begins, once."""
    pairs = work(low, high, np.full(low.size, total / low.size)) / (total / low.size) - PAIRS_PER_ROW
    if rows.keys.any():
        pairs = np.zeros(low.size)
    return PAIRS_PER_ROW + pairs[found.rows] * ((found.bits & START_HERE) != 0)


def _slicing(name: str, total: float, tasks: int) -> Slicing:
    """As a join of inputs of this size makes it on a cluster on which half of the tasks run at once."""
    return Slicing(tasks, tasks // 2, by_key=name == "zipf", share=sampled_share([int(total * ROW_BYTES)]))


def _chosen(population: Rows, slicing: Slicing, total: float, seed: int) -> Cuts:
    """The cuts that the task chooses from a sample drawn as the plan draws it."""
    draw = np.random.default_rng(seed)
    odds = 2.0 ** favour(population.starts, population.ends)
    ranked = total * slicing.share * odds.mean()
    size = int(min(sample_size(slicing.slices), ranked))
    picked = draw.choice(odds.size, size, p=odds / odds.sum())
    below = slicing.share if ranked < sample_size(slicing.slices) else size / (total * odds.mean())
    rank = (draw.random(size) * below * (RANKS - 1)).astype(np.int64)
    sample = {
        "source": np.arange(size) % 2,
        "start": population.starts[picked],
        "end": population.ends[picked],
        "key": population.keys[picked],
        "rank": rank,
    }
    task = CutTask(slicing, (PartRange("left", PARTS), PartRange("right", PARTS)))
    (batch,) = task(iter([pa.RecordBatch.from_pydict({name: pa.array(column) for name, column in sample.items()})]))
    return Cuts.read(batch.column(0)[0].as_py())


def main() -> None:
    """Print a line for each distribution, size and cluster."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", nargs="*", type=float, default=[1e9, 1e10, 1e11, 1e12])
    parser.add_argument("--tasks", nargs="*", type=int, default=[100, 1000, 10_000])
    parser.add_argument("--distributions", nargs="*", default=list(DISTRIBUTIONS))
    given = parser.parse_args()
    output = Table(title="A join on paper: real sample, cuts and routing")
    for name in ("rows", "tasks", "copies per row", "largest task / mean", "by rows", "shuffled", "cuts on the driver"):
        output.add_column(name, justify="right")
    for name in given.distributions:
        output.add_section()
        output.add_row(f"{name} {'(worst case)' if name in WORST else ''}")
        for total in given.rows:
            for tasks in given.tasks:
                found = simulate(name, total, tasks, count=max(1 << 20, 400 * tasks))
                cells = f"{found.copies:.3f}", f"{found.imbalance:.2f}", f"{found.most_rows:.2f}"
                shuffled = f"{found.shuffled / 1e9:,.0f} GB"
                output.add_row(f"{total:.0e}", f"{tasks:,}", *cells, shuffled, f"{found.driver:,} B")
    Console(width=120).print(output)
    for name, why in WORST.items():
        print(f"{name}: {why}")


if __name__ == "__main__":
    main()
