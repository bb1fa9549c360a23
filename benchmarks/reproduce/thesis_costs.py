"""Bitemporal sliding windows: maintenance (figure 5.7) and memory (figure 5.8)."""

import time
from typing import Any

import numpy as np

import timeloom as tl
from benchmarks.bench_bitemporal import batches
from benchmarks.data.orders import Orders, orders
from benchmarks.peers.bitemporal import RTree, Scan, TimelineIndex, Trees
from benchmarks.reproduce.figures import Axis, Record, figure
from benchmarks.reproduce.thesis_setup import (
    BITL,
    LEARNED,
    PRESENT,
    RETROACTIVE,
    RTREE,
    TREES,
    index_of,
    initial,
    snapshots,
)
from timeloom.bitemporal.timelines import Timelines
from timeloom.kernels.bitemporal.windows import SNAPSHOT
from timeloom.model.ticks import FOREVER

ALONE = "BiSW, structure alone"
COLUMNS = 32
"""Bytes of a row's own four times."""

LEAF = 0.7
"""How full the leaves of trees are on average."""


class Maintained:
    """A structure that takes batches: rows that begin, and rows of earlier batches that end."""

    def __init__(self, name: str, data: Orders) -> None:
        self.name, self.data = name, data
        if name in (RETROACTIVE, PRESENT):
            self.made: Any = tl.BitemporalIndex(retroactive=name == RETROACTIVE, checkpoint_every=None)
        elif name == ALONE:
            self.made = Timelines(retroactive=True, bucket=None, checkpoint_every=None)
        else:
            empty = Orders(*(np.empty(0, np.int64) for _ in range(4)), data.instants)
            self.made = TimelineIndex(data) if name == BITL else Trees(empty) if name == TREES else RTree(empty, data)

    def take(self, rows: slice, ended: np.ndarray) -> float:
        """Apply a batch; the seconds that it took."""
        data = self.data
        known = int(max(data.sys_start[rows.stop - 1], data.sys_end[ended].max(initial=0)))
        earlier = ended[ended < rows.start]
        if self.name in (RETROACTIVE, PRESENT):
            table = data.table(rows.start, rows.stop, known)
            ends = dict(zip(earlier.tolist(), data.sys_end[earlier].tolist(), strict=True))
            began = time.perf_counter()
            self.made.apply(table, ends)
            return time.perf_counter() - began
        ends = np.where(data.sys_end[rows] <= known, data.sys_end[rows], FOREVER)
        columns = data.sys_start[rows], ends, data.app_start[rows], data.app_end[rows]
        began = time.perf_counter()
        if self.name == ALONE:
            self.made = self.made.applied(columns, earlier, data.sys_end[earlier])
        elif self.name == BITL:
            table = self.made.table
            self.made.table = table.appended(*columns).closed(earlier, data.sys_end[earlier], table.latest)
            self.made.append(np.arange(rows.start, rows.stop), columns[0], ended, data.sys_end[ended])
        else:
            self.made.append(data, range(rows.start, rows.stop), ended.tolist())
        return time.perf_counter() - began

    def window(self, sys: int, app: int) -> np.ndarray:
        """The rows of a window."""
        if isinstance(self.made, tl.BitemporalIndex):
            return initial(self.made, sys, app)
        if isinstance(self.made, Timelines):
            return self.made.state().inside(np.array([sys, sys, app, app]), SNAPSHOT)
        return self.made.initial(sys, app)


@figure(
    "thesis",
    "5.7",
    "Maintenance: seconds for a batch of 1,000 transactions, as data grow",
    statement="BiTL, which keeps one timeline, is slightly faster than BiSW; the non-retroactive form is slower than "
    "the retroactive one; trees are slower.",
    x=Axis("sys_end"),
    y=Axis("seconds for a batch", log=True),
    sizes={"tiny": 8_000, "small": 40_000, "full": 300_000},
    learned=LEARNED
    + "A batch of ours passes the public class, which checks it whole, keeps the rows' other columns and "
    "publishes a state that readers see at once; without it, BiSW and BiTL do the like: both keep the rows' times.",
)
def maintenance(record: Record, size) -> None:
    data = orders(size)
    kept = {name: Maintained(name, data) for name in (RETROACTIVE, ALONE, PRESENT, BITL, TREES, RTREE)}
    spent: dict[str, list[float]] = {name: [] for name in kept}
    parts = list(batches(data))
    for number, (rows, ended) in enumerate(parts):
        for name, one in kept.items():
            spent[name].append(one.take(rows, ended))
            if number and number % max(1, len(parts) // 20) == 0:
                record.point(name, int(data.sys_start[rows.stop - 1]), float(np.median(spent[name][-10:])))
    _compare(data, kept)
    record.checked("afterwards all answer a window as a table scan does")
    each = {name: float(np.median(found[1:])) for name, found in spent.items()}
    record.at_most("retroactive BiSW, the structure alone / BiTL", "slightly above 1 x", each[ALONE] / each[BITL], 2, 5)
    record.at_most(
        "retroactive BiSW, the public class / BiTL", "slightly above 1 x", each[RETROACTIVE] / each[BITL], 2, 5
    )
    record.at_least("non-retroactive / retroactive", "above 1 x", each[PRESENT] / each[RETROACTIVE], 1, 0.7)
    record.at_least("B+-trees / retroactive BiSW", "above 1 x", each[TREES] / each[RETROACTIVE], 1, 0.5)
    record.at_least("R-tree / retroactive BiSW", "above 1 x", each[RTREE] / each[RETROACTIVE], 1, 0.5)


def _compare(data: Orders, kept: dict[str, Maintained]) -> None:
    wanted = Scan(data).initial(data.latest, data.instants // 2)
    for name, one in kept.items():
        found = np.sort(one.window(data.latest, data.instants // 2))
        if not np.array_equal(found, wanted):
            raise AssertionError(f"{name} answers otherwise after its batches")


@figure(
    "thesis",
    "5.8",
    "Size of the structures as data arrive",
    statement="All grow linearly. BiTL and the trees hold each row twice, the R-tree its directories as well: BiSW "
    "is about half as large as the runner-up.",
    x=Axis("sys_end"),
    y=Axis("bytes"),
    sizes={"tiny": (2_000, 2), "small": (100_000, 4), "full": (2_000_000, 6)},
    learned=LEARNED
    + "All sizes include the rows' own four time columns, 32 bytes a row, which every method reads. Trees are "
    "computed: 16 bytes an entry (40 of a rectangle) in leaves that are 70 % full; Python's own would be many times "
    "that.",
)
def memory(record: Record, size) -> None:
    each: dict[str, float] = {}
    for known in snapshots(*size):
        timeline = TimelineIndex(known)
        ended = np.flatnonzero(known.sys_end != FOREVER)
        ended = ended[np.argsort(known.sys_end[ended], kind="stable")]
        timeline.append(np.arange(len(known)), known.sys_start, ended, known.sys_end[ended])
        timeline.initial(known.latest, known.instants // 2)
        events = 2 * len(known) + ended.size + int((known.app_end != FOREVER).sum())
        found = {
            RETROACTIVE: index_of(known).nbytes,
            BITL: timeline.nbytes,
            TREES: round(events * 16 / LEAF),
            RTREE: round(len(known) * 40 / LEAF),
        }
        for name, held in found.items():
            record.point(name, known.latest, held + COLUMNS * len(known))
        each = {name: held / len(known) for name, held in found.items()}
    record.checked("BiTL has the application timeline that its windows need")
    told = ", ".join(f"{name} {held:.0f}" for name, held in each.items())
    share = (each[RETROACTIVE] + COLUMNS) / (each[BITL] + COLUMNS)
    record.at_most(f"BiSW / BiTL with the columns (bytes a row beside them: {told})", "0.5 x", share, 0.75, 1)
    record.at_most("BiSW / BiTL, the index alone", "0.5 x", each[RETROACTIVE] / each[BITL], 0.65, 1)
