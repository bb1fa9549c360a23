"""Rows sent to tasks as a plan sends them, without Spark."""

from collections import defaultdict

import numpy as np
import pyarrow as pa

from timeloom.engines.spark.exchange.packed_rows import SideReader
from timeloom.engines.spark.exchange.writing import BlockWriter
from timeloom.engines.spark.slicing.cuts import CUTS, Cuts
from timeloom.engines.spark.slicing.slices import Slicing
from timeloom.engines.spark.slicing.tick_ranges import PartRange
from timeloom.model.policy import Policy


def deal(tables, readers, cuts, slicing, *, marked=False):
    """What each task receives, by its number: a batch of blocks. ``cuts`` are the boundaries of buckets."""
    written = Cuts({bucket: np.array(bounds, np.int64) for bucket, bounds in cuts.items()}).written()
    received = defaultdict(list)
    for source, (table, reader) in enumerate(zip(tables, readers, strict=True)):
        for block in BlockWriter(source, reader, slicing, marked)(with_cuts(table, written).to_batches()):
            received[block["task"][0].as_py()].append(block)
    return {task: pa.concat_batches(blocks) for task, blocks in sorted(received.items())}


def with_cuts(table, written):
    """Rows of a partition with the numbers of the cuts in copies of the first row, as a plan gives them."""
    if not table.num_rows:
        return table.append_column(CUTS, pa.array([], pa.int64()))
    copies = pa.concat_tables([table.slice(0, 1)] * (len(written) - 1) + [table])
    return copies.append_column(CUTS, pa.array([*written, *[None] * (table.num_rows - 1)], pa.int64()))


def deal_sides(tables, layouts, parts, bounds, tasks, policy=None):
    """What each task of a join receives of both sides, if all buckets are cut."""
    policy = policy or Policy()
    readers = [SideReader(layout, policy, PartRange(layout.name, parts)) for layout in layouts]
    cuts = dict.fromkeys(range(tasks), bounds) if bounds else {}
    return deal(tables, readers, cuts, Slicing(tasks, 1, by_key=True), marked=True)
