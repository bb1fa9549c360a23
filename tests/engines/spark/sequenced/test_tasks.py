"""What tasks of the sequenced verbs do with rows that are cut at any boundaries: no boundary may show in the result.

No Spark runs here: the tests cut and send rows as the plans do, for boundaries that a plan would hardly choose.
"""

import json
from bisect import bisect_right
from functools import partial

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import types as T

import timeloom as tl
from drawing import keys_for, periods
from reference import sequenced as reference
from timeloom.engines.spark.coalesce import Merging, merged
from timeloom.engines.spark.columns.faults import NO_TIME
from timeloom.engines.spark.exchange.dispatch import Dispatch
from timeloom.engines.spark.gaps import InnerGaps, OuterGaps
from timeloom.engines.spark.sequenced.chain_parts import FIRSTS, Arrivals
from timeloom.engines.spark.sequenced.chain_task import ChainTask, FirstStarts, Output
from timeloom.engines.spark.sequenced.rows import Delivery, Writer
from timeloom.engines.spark.sequenced.slice_edges import SeamTask, SliceTask
from timeloom.engines.spark.slicing.group_slices import GroupSlicing
from timeloom.engines.tables.period_writer import PeriodWriter
from timeloom.engines.tables.ticks import TimeType
from timeloom.model.period import Period
from timeloom.model.policy import Policy
from timeloom.model.ticks import FOREVER, MIN_TICK, Axis

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


def slices_of(first, last, bounds):
    return range(bisect_right(bounds, first), bisect_right(bounds, last) + 1)


def edges(number, bounds):
    return (bounds[number - 1] if number else None), (bounds[number] if number < len(bounds) else None)


def dispatched(rows, keys, bounds, window):
    """Rows as tasks receive them: a list of parcels for each partition."""
    if window is not None:
        rows = [(max(start, window[0]), min(end, window[1])) for start, end in rows]
        rows = [row if row[0] < row[1] else NO_TIME for row in rows]
    chosen = {home_of(key): bounds for key in ("a", "b", None)} if bounds else {}
    columns = {
        "key": pa.array([home_of(key) for key in keys], pa.int64()),
        "start": pa.array([start for start, _ in rows], pa.int64()),
        "end": pa.array([end for _, end in rows], pa.int64()),
        "c0": pa.array(keys, pa.string()),
        "chosen": pa.array([json.dumps(chosen)] + [None] * len(rows), pa.string())[: len(rows)],
    }
    return shuffled(Dispatch(PARTITIONS)([pa.RecordBatch.from_pydict(columns)]))


def shuffled(parcels):
    parcels = list(parcels)
    return [[part for part in parcels if part["place"][0].as_py() == place] for place in range(PARTITIONS)]


def run(sent, task, seams):
    """Both steps, with the shuffle between them."""
    sealed = [out for parts in sent for out in task(iter(parts))]
    found = [row for parts in shuffled(sealed) for out in seams(iter(parts)) for row in out.to_pylist()]
    return sorted([(row["key"], row["start"], row["end"]) for row in found], key=repr)


def writer():
    return Writer(SCHEMA, PERIODS, {"key": "c0", "start": "c1", "end": "c2"})


@given(tables(), BOUNDS)
@settings(max_examples=150, deadline=None)
def test_coalescing_leaves_no_seam(rows_keys, bounds):
    rows, keys = rows_keys
    task = SliceTask(Delivery(PARTITIONS), Merging(("c0",)))
    found = run(dispatched(rows, keys, bounds, None), task, SeamTask(partial(merged, ("c0",)), writer()))
    groups = by_key(rows, keys).items()
    assert found == sorted([(key, *piece) for key, mine in groups for piece in reference.coalesce(mine)], key=repr)


def by_key(rows, keys):
    return {key: [row for row, other in zip(rows, keys, strict=True) if other == key] for key in keys}


@given(tables(), BOUNDS, st.one_of(st.none(), st.tuples(st.integers(-3, 8), st.integers(9, 25))))
@settings(max_examples=150, deadline=None)
def test_gaps_leave_no_seam(rows_keys, bounds, window):
    rows, keys = rows_keys
    task = SliceTask(Delivery(PARTITIONS), InnerGaps(("c0",), window is not None))
    found = run(dispatched(rows, keys, bounds, window), task, SeamTask(OuterGaps(("c0",), window), writer()))
    free = {key: reference.gaps(mine, window or reference.span(mine)) for key, mine in by_key(rows, keys).items()}
    assert found == sorted([(key, *piece) for key, pieces in free.items() for piece in pieces], key=repr)


@given(st.lists(tables(), min_size=2, max_size=3), BOUNDS, st.sampled_from(["anti", "inner", "left", "right", "full"]))
@settings(max_examples=300, deadline=None)
def test_chains_leave_no_seam(given_tables, bounds, how):
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
    sides = tuple((str(at), Period()) for at in range(count))
    arrivals = Arrivals("temporal_join", sides, Policy(), (("p0",),) * count, PARTITIONS, bool(bounds))
    numbers = () if how == "anti" else range(1, count)
    outputs = [Output(tuple((at, "p0") for at in (0, *numbers))), Output(tick="start"), Output(tick="end")]
    outputs += [Output(((at, "p1"),)) for at in (0, *numbers)]
    fields = [T.StructField(f"n{at}", T.LongType()) for at in (0, *numbers)]
    task = ChainTask(arrivals, how, "auto", tuple(outputs), T.StructType([*SCHEMA, *fields]), PERIODS)
    parts = list(partitions(list(sent_rows(given_tables, bounds)), bool(bounds)))
    sealed = [out["parcel"][0].as_py() for part in parts for out in FirstStarts(arrivals)([part])]
    for part in parts:
        firsts = pa.array([b"".join(sealed)] + [None] * part.num_rows, pa.binary())[: part.num_rows]
        told = part.append_column(FIRSTS, firsts) if bounds else part
        for out in task([told]):
            yield from (tuple(row.values()) for row in out.to_pylist())


def sent_rows(given_tables, bounds):
    """Rows as the plan sends them: whole, to each slice that they touch or at which they end."""
    for table, (rows, keys) in enumerate(given_tables):
        for at, ((start, end), key) in enumerate(zip(rows, keys, strict=True)):
            for number in slices_of(start, end, bounds):
                low, high = edges(number, bounds)
                place = (home_of(key) + number) % PARTITIONS
                tag = ((number + 1 if bounds else 0) * len(given_tables) + table) * PARTITIONS + place
                home = (MIN_TICK if low is None else low, FOREVER if high is None else high) if bounds else ()
                yield tag, start, end, *home, key, at


def partitions(rows, sliced):
    names = ["tag", "start", "end", *(["since", "until"] if sliced else []), "p0", "p1"]
    kinds = [pa.string() if name == "p0" else pa.int64() for name in names]
    for place in range(PARTITIONS):
        part = [row for row in rows if row[0] % PARTITIONS == place]
        arrays = [pa.array([row[at] for row in part], kind) for at, kind in enumerate(kinds)]
        yield pa.RecordBatch.from_arrays(arrays, names=names)


def test_slices_begin_at_starts_of_their_group():
    starts = np.arange(0, 3000, 3)
    keys = np.where(starts % 2 == 0, 5, 6)
    slicing = GroupSlicing(slices=8, least=8, partitions=8)
    chosen = slicing.choose(starts, starts + 1, keys, np.arange(starts.size))
    assert {key: bounds.size for key, bounds in chosen.items()} == {5: 3, 6: 3}
    for key, bounds in chosen.items():
        assert set(bounds) <= set(starts[keys == key])


def test_small_groups_are_not_cut_and_long_rows_make_fewer_slices():
    starts = np.arange(1000)
    few = GroupSlicing(slices=8, least=2, partitions=8, rows_per_slice=100)
    assert few.choose(starts, starts, np.arange(1000), starts) == {}
    assert few.choose(starts, starts, np.zeros(1000, np.int64), starts)[0].size == 7
    assert few.choose(starts, starts + 2000, np.zeros(1000, np.int64), starts)[0].size < 7
