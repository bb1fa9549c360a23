"""Bitemporal sliding windows: maintenance (figure 5.7) and memory (figure 5.8)."""

import time
from typing import Any

import numpy as np
import pyarrow as pa

import timeloom as tl
from benchmarks.bench_bitemporal import batches
from benchmarks.data.orders import Orders, orders
from benchmarks.peers.bitemporal import RTree, Scan, TimelineIndex, Trees
from benchmarks.reproduce.figures import Axis, Record, figure, times
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
from timeloom.engines.tables.arrays import filled, to_numpy
from timeloom.engines.tables.ticks import whole
from timeloom.kernels.bitemporal.windows import SNAPSHOT
from timeloom.model.ticks import FOREVER

ALONE, BITL_ALONE = "BiSW, structure alone", "BiTL, structure alone"
ARRAYS = (ALONE, BITL_ALONE)
"""Ways that are given arrays; the others read them from the table of a batch."""

COLUMNS = 32
"""Bytes of a row's own four times."""

LEAF = 0.7
"""How full the leaves of trees are on average."""


def read_columns(table: pa.Table) -> list[np.ndarray]:
    """The four times of a batch as arrays, open ends as the last instant: no more than a structure needs."""
    return [to_numpy(filled(whole(table[name]), FOREVER)) for name in ("sys_start", "sys_end", "app_start", "app_end")]


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
            trees = Trees(empty) if name == TREES else RTree(empty, data)
            self.made = TimelineIndex(data) if name in (BITL, BITL_ALONE) else trees

    def take(self, rows: slice, ended: np.ndarray) -> float:
        """Apply a batch, a table of new versions and the ends of earlier ones; the seconds that it took."""
        data = self.data
        known = int(max(data.sys_start[rows.stop - 1], data.sys_end[ended].max(initial=0)))
        earlier = ended[ended < rows.start]
        ends, table = data.sys_end[earlier], data.table(rows.start, rows.stop, known)
        if self.name in ARRAYS:
            columns = read_columns(table)
        began = time.perf_counter()
        if self.name in (RETROACTIVE, PRESENT):
            self.made.apply(table, (earlier, ends))
        elif self.name == ALONE:
            self.made = self.made.applied(columns, earlier, ends)
        elif self.name in (BITL, BITL_ALONE):
            columns = columns if self.name == BITL_ALONE else read_columns(table)
            before = self.made.table
            self.made.table = before.appended(*columns).closed(earlier, ends, before.latest)
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
    sizes={"tiny": 8_000, "small": 20_000, "full": 300_000},
    learned=LEARNED
    + "A batch is a table of new versions and the ends of earlier ones, for all. BiTL reads its columns and keeps the "
    "rows' times; ours passes the public class, which checks it whole, keeps the table and publishes a state that "
    "readers see at once. Beside them stand both structures alone, given arrays.",
)
def maintenance(record: Record, size) -> None:
    data = orders(size)
    spent: dict[str, list[float]] = {}
    for names in ((RETROACTIVE, PRESENT, *ARRAYS, BITL), (TREES,), (RTREE,)):
        spent |= _maintained(record, data, names)
    record.checked("afterwards all answer a window as a table scan does")
    each = {name: float(np.median(found[1:])) for name, found in spent.items()}
    alone = each[ALONE] / each[BITL_ALONE]
    record.judge("near", "structures alone, retroactive BiSW / BiTL", "slightly above 1 x", alone)
    public = each[RETROACTIVE] / each[BITL]
    record.judge("near", "retroactive BiSW, the public class / BiTL", "slightly above 1 x", public)
    floor = (each[BITL] - each[BITL_ALONE] + each[ALONE]) / each[RETROACTIVE]
    record.aside("floor: reading the columns as BiTL does, and the structure alone / the public class", times(floor))
    record.judge("more", "non-retroactive / retroactive", "above 1 x", each[PRESENT] / each[RETROACTIVE])
    record.judge("more", "B+-trees / retroactive BiSW", "above 1 x", each[TREES] / each[RETROACTIVE])
    record.judge("more", "R-tree / retroactive BiSW", "above 1 x", each[RTREE] / each[RETROACTIVE])


def _maintained(record: Record, data: Orders, names: tuple[str, ...]) -> dict[str, list[float]]:
    """Seconds of each batch, for ways that take turns. Trees have no others beside them: what comes after them, and
    takes a thousandth of their time, would find the caches full of theirs."""
    kept = {name: Maintained(name, data) for name in names}
    spent: dict[str, list[float]] = {name: [] for name in names}
    parts = list(batches(data))
    for number, (rows, ended) in enumerate(parts):
        for name, one in kept.items():
            spent[name].append(one.take(rows, ended))
            if number and number % max(1, len(parts) // 20) == 0:
                record.point(name, int(data.sys_start[rows.stop - 1]), float(np.median(spent[name][-10:])))
    _compare(data, kept)
    return spent


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
    whole = (each[BITL] + COLUMNS) / (each[RETROACTIVE] + COLUMNS)
    record.judge("factor", f"BiTL / BiSW with the columns (bytes a row beside them: {told})", "2 x", whole, 2)
    record.judge("factor", "BiTL / BiSW, the index alone", "2 x", each[BITL] / each[RETROACTIVE], 2)
