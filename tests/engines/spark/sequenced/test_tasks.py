"""What tasks of the sequenced verbs do with rows that are cut at any boundaries: no boundary may show in the result.

No Spark runs here: the tests cut and send rows as the plans do, for boundaries that a plan would hardly choose.
"""

from functools import partial

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import types as T

import timeloom as tl
from dealing import deal
from drawing import keys_for, periods
from reference import sequenced as reference
from timeloom.engines.spark.coalesce import Merging, merged
from timeloom.engines.spark.columns.faults import NO_TIME
from timeloom.engines.spark.gaps import InnerGaps, OuterGaps
from timeloom.engines.spark.sequenced.chain_parts import FIRSTS, Arrivals, ChainTable
from timeloom.engines.spark.sequenced.chain_task import ChainTask, FirstStarts, Output
from timeloom.engines.spark.sequenced.rows import Delivery, Writer
from timeloom.engines.spark.sequenced.slice_edges import EdgeTask, SliceTask
from timeloom.engines.spark.sequenced.tick_columns import TickColumns
from timeloom.engines.spark.slicing.slices import Slicing
from timeloom.engines.spark.slicing.tick_ranges import PeriodRange
from timeloom.engines.tables.period_writer import PeriodWriter
from timeloom.engines.tables.ticks import TimeType
from timeloom.model.period import Period
from timeloom.model.policy import Policy
from timeloom.model.ticks import Axis

PARTITIONS = 3
SCHEMA = T.StructType(
    [T.StructField("key", T.StringType()), *(T.StructField(name, T.LongType()) for name in ("start", "end"))]
)
PERIODS = PeriodWriter(TimeType(Axis.INTEGER, pa.int64()), Period())
BOUNDS = st.lists(st.integers(1, 17), max_size=5, unique=True).map(sorted)


@st.composite
def tables(draw):
    rows = draw(periods())
    return rows, draw(keys_for(rows))


def home_of(key):
    return {"a": 0, "b": 1, None: 2}[key]


def given_rows(rows, keys, **columns):
    """Rows as they are sent, with their ticks."""
    given = {
        "key": pa.array([home_of(key) for key in keys], pa.int64()),
        "start": pa.array([start for start, _ in rows], pa.int64()),
        "end": pa.array([end for _, end in rows], pa.int64()),
        "c0": pa.array(keys, pa.string()),
    }
    return pa.table(given | columns)


def sent(tables, bounds, reader):
    """Rows as tasks receive them: a batch of blocks for each of them. Every group is cut, if there are boundaries."""
    cuts = {home_of(key): bounds for key in ("a", "b", None)} if bounds else {}
    slicing = Slicing(6, 1, by_key=True, partitions=PARTITIONS, groups=True)
    return list(deal(tables, [reader] * len(tables), cuts, slicing).values())


def sent_groups(rows, keys, bounds, window):
    if window is not None:
        rows = [(max(start, window[0]), min(end, window[1])) for start, end in rows]
        rows = [row if row[0] < row[1] else NO_TIME for row in rows]
    return sent([given_rows(rows, keys)], bounds, TickColumns(PeriodRange()))


def shuffled(blocks):
    blocks = list(blocks)
    return [[block for block in blocks if block["task"][0].as_py() == task] for task in range(PARTITIONS)]


def run(batches, task, edges):
    """Both steps, with the shuffle between them."""
    blocks = [out for batch in batches for out in task(iter([batch]))]
    found = [row for parts in shuffled(blocks) for out in edges(iter(parts)) for row in out.to_pylist()]
    return sorted([(row["key"], row["start"], row["end"]) for row in found], key=repr)


def writer():
    return Writer(SCHEMA, PERIODS, {"key": "c0", "start": "c1", "end": "c2"})


@given(tables(), BOUNDS)
@settings(max_examples=150, deadline=None)
def test_coalescing_leaves_no_edge(rows_keys, bounds):
    rows, keys = rows_keys
    task = SliceTask(Delivery(PARTITIONS), Merging(("c0",)))
    found = run(sent_groups(rows, keys, bounds, None), task, EdgeTask(partial(merged, ("c0",)), writer()))
    groups = by_key(rows, keys).items()
    assert found == sorted([(key, *piece) for key, mine in groups for piece in reference.coalesce(mine)], key=repr)


def by_key(rows, keys):
    return {key: [row for row, other in zip(rows, keys, strict=True) if other == key] for key in keys}


@given(tables(), BOUNDS, st.one_of(st.none(), st.tuples(st.integers(-3, 8), st.integers(9, 25))))
@settings(max_examples=150, deadline=None)
def test_gaps_leave_no_edge(rows_keys, bounds, window):
    rows, keys = rows_keys
    task = SliceTask(Delivery(PARTITIONS), InnerGaps(("c0",), window is not None))
    found = run(sent_groups(rows, keys, bounds, window), task, EdgeTask(OuterGaps(("c0",), window), writer()))
    free = {key: reference.gaps(mine, window or reference.span(mine)) for key, mine in by_key(rows, keys).items()}
    assert found == sorted([(key, *piece) for key, pieces in free.items() for piece in pieces], key=repr)


@given(st.lists(tables(), min_size=2, max_size=3), BOUNDS, st.sampled_from(["anti", "inner", "left", "right", "full"]))
@settings(max_examples=300, deadline=None)
def test_chains_leave_no_edge(given_tables, bounds, how):
    """Also if every group is cut, as here, and rows end where slices begin."""
    if how == "anti":
        given_tables = given_tables[:2]
    found = sorted(map(repr, chained(given_tables, bounds, how)))
    inputs = [
        pa.table({**columns(rows, keys), f"n{at}": pa.array(range(len(rows)), pa.int64())})
        for at, (rows, keys) in enumerate(given_tables)
    ]
    if how == "anti":
        expected = tl.temporal_antijoin(*inputs, on="key")
    else:
        expected = tl.temporal_join(inputs, on="key", how=how)
    assert found == sorted(repr(tuple(row.values())) for row in expected.to_pylist())


def columns(rows, keys):
    return {
        "key": pa.array(keys, pa.string()),
        "start": pa.array([start for start, _ in rows], pa.int64()),
        "end": pa.array([end for _, end in rows], pa.int64()),
    }


def chained(given_tables, bounds, how):
    """The result of a chain of joins, as the plan has rows sent and tasks run."""
    count = len(given_tables)
    schema = pa.schema([("c0", pa.string()), ("c1", pa.int64())])
    names = tuple(ChainTable(str(at), Period(), schema, ("c0",)) for at in range(count))
    arrivals = Arrivals("temporal_join", names, Policy(), bool(bounds))
    numbers = () if how == "anti" else range(1, count)
    outputs = [Output(tuple((at, "c0") for at in (0, *numbers))), Output(tick="start"), Output(tick="end")]
    outputs += [Output(((at, "c1"),)) for at in (0, *numbers)]
    fields = [T.StructField(f"n{at}", T.LongType()) for at in (0, *numbers)]
    task = ChainTask(arrivals, how, "auto", tuple(outputs), T.StructType([*SCHEMA, *fields]), PERIODS)
    tables = [given_rows(rows, keys, c1=pa.array(range(len(rows)), pa.int64())) for rows, keys in given_tables]
    batches = sent(tables, bounds, TickColumns(PeriodRange(with_end=how != "inner")))
    streams = [out["block"][0].as_py() for batch in batches for out in FirstStarts(arrivals)(iter([batch]))]
    for batch in batches:
        firsts = pa.array([b"".join(streams)] + [None] * batch.num_rows, pa.binary())[: batch.num_rows]
        told = batch.append_column(FIRSTS, firsts) if bounds and how != "inner" else batch
        for out in task(iter([told])):
            yield from (tuple(row.values()) for row in out.to_pylist())


def test_slices_begin_at_starts_of_their_group():
    starts = np.arange(0, 3000, 3)
    keys = np.where(starts % 2 == 0, 5, 6)
    slicing = Slicing(slices=8, least=8, by_key=True, groups=True)
    chosen = slicing.choose(starts, starts + 1, keys, np.ones(starts.size))
    assert {key: bounds.size for key, bounds in chosen.items()} == {5: 7, 6: 7}
    for key, bounds in chosen.items():
        assert set(bounds) <= set(starts[keys == key])


def test_small_groups_are_not_cut_and_long_rows_make_fewer_slices():
    starts = np.arange(1000)
    few, counts = Slicing(slices=8, least=2, by_key=True, rows_per_slice=100, groups=True), np.ones(1000)
    assert few.choose(starts, starts, np.arange(1000), counts) == {}
    assert few.choose(starts, starts, np.zeros(1000, np.int64), counts)[0].size == 7
    assert few.choose(starts, starts + 2000, np.zeros(1000, np.int64), counts)[0].size < 7
