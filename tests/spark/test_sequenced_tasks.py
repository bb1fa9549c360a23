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

from drawing import keys_for, periods
from reference import sequenced as reference
from timeloom.engines.spark.coalesce import Merging, merged
from timeloom.engines.spark.gaps import InnerGaps, OuterGaps
from timeloom.engines.spark.seams import SeamTask, SliceTask
from timeloom.engines.spark.sequenced_dispatch import Dispatch
from timeloom.engines.spark.sequenced_faults import NO_TIME
from timeloom.engines.spark.sequenced_remainders import BITS, HOME, OTHER, Output, RemainderTask
from timeloom.engines.spark.sequenced_rows import Delivery, Writer
from timeloom.engines.spark.sequenced_slices import GroupSlicing
from timeloom.engines.ticks import read_period
from timeloom.model.period import Period
from timeloom.model.policy import Policy
from timeloom.model.ticks import FOREVER

PARTITIONS = 3
SCHEMA = T.StructType(
    [T.StructField("key", T.StringType()), *(T.StructField(name, T.LongType()) for name in ("start", "end"))]
)
TICKS = read_period(pa.table({"start": pa.array([], pa.int64()), "end": pa.array([], pa.int64())}), Period(), "input")
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


def batches(rows, names):
    """Rows (tag, start, end, ...) by their partition."""
    rows = list(rows)
    found = [[row for row in rows if row[0] % PARTITIONS == place] for place in range(PARTITIONS)]
    for part in found:
        columns = [pa.array([row[at] for row in part]) for at in range(len(names))]
        kinds = [pa.string() if name == "p0" else pa.int64() for name in names]
        yield pa.RecordBatch.from_arrays([c.cast(k) for c, k in zip(columns, kinds, strict=True)], names=names)


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
    return Writer(SCHEMA, TICKS, {"key": "c0", "start": "c1", "end": "c2"})


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


@given(tables(), tables(), BOUNDS)
@settings(max_examples=200, deadline=None)
def test_remainders_leave_no_seam(left, right, bounds):
    (rows, keys), (others, other_keys) = left, right
    names = ["tag", "start", "end", "until", "p0"]
    task = RemainderTask(
        "temporal_antijoin",
        (("left", Period()), ("right", Period())),
        Policy(),
        (("p0",), ("p0",)),
        PARTITIONS,
        "auto",
        (Output("key", "p0"), Output("start", "start"), Output("end", "end")),
        SCHEMA,
        TICKS,
    )
    found = []
    for part in batches(remainder_rows(rows, keys, others, other_keys, bounds), names):
        found += [tuple(row.values()) for out in task([part]) for row in out.to_pylist()]

    def fits(at, other):
        return keys[at] is not None and keys[at] == other_keys[other]

    expected = [(keys[at], start, end) for at, start, end in reference.antijoin(rows, others, fits)]
    assert sorted(found, key=repr) == sorted(expected, key=repr)


def remainder_rows(rows, keys, others, other_keys, bounds):
    """Rows of both tables as the plan sends them, and the first start of each later slice."""

    def tag(number, bits, key):
        return ((number + 1 if bounds else 0) * BITS + bits) * PARTITIONS + (home_of(key) + number) % PARTITIONS

    for (start, end), key in zip(rows, keys, strict=True):
        numbers = slices_of(start, end - 1, bounds)
        for number in numbers:
            low, high = edges(number, bounds)
            home = number == numbers[0]
            until = FOREVER if high is None else high
            yield tag(number, HOME * home, key), start if home else low - 1, end, until, key
    firsts = {}
    for (start, end), key in zip(others, other_keys, strict=True):
        if key is None:
            continue
        numbers = slices_of(start, end, bounds)
        for number in numbers:
            yield tag(number, OTHER, key), start, end, 0, key
        firsts[key, numbers[0]] = min(start, firsts.get((key, numbers[0]), FOREVER))
    for (key, later), start in firsts.items():
        for number in range(later):
            yield tag(number, OTHER, key), start, start + 1, 0, key


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
