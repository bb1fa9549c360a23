"""What tasks of a counting join do with rows that are cut at any boundaries: counts and aggregates add up.

No Spark runs here: the tests send rows as the plans do, for boundaries that a plan would hardly choose.
"""

from bisect import bisect_right
from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timeloom as tl
from dealing import deal_sides
from drawing import keys_for, periods
from timeloom.engines.spark.counting.parts import finish
from timeloom.engines.spark.counting.tasks import Best, CountTask, PartialCountTask
from timeloom.engines.spark.counting.totals import parts_of
from timeloom.engines.spark.exchange.packed_rows import SideLayout
from timeloom.engines.spark.exchange.readers import ShuffledBlocks
from timeloom.engines.spark.matching.tasks import Matcher
from timeloom.engines.spark.slicing.join_parts import cover
from timeloom.engines.spark.slicing.tick_ranges import tick_range
from timeloom.model.aggregates import PartKind
from timeloom.model.measures import Measure
from timeloom.model.period import Period
from timeloom.model.policy import Policy

PARTITIONS = 3
RELATIONS = [
    *("before", "meets", "overlaps", "starts", "during", "finishes", "equals"),
    *("after", "met_by", "overlapped_by", "started_by", "contains", "finished_by"),
    *("intersects", "meets | met_by", "before | after | during", "overlaps | meets"),
    tl.iseql.start_preceding(delta=3),
    tl.iseql.end_following(epsilon=2),
    tl.iseql.left_overlap(delta=3, epsilon=3),
    ~tl.iseql.during(delta=5, epsilon=2),
    tl.Relation(start_start=(-2, 2), end_end=(-1, 3)),
    tl.Relation(start_end=(-3, 3)) | tl.allen.during,
    tl.Relation(start_start=(1, 0)),
]
MEASURES = (
    Measure("known", "count", "value"),
    Measure("total", "sum", "value"),
    Measure("mean", "avg", "value"),
    Measure("least", "min", "value"),
    Measure("greatest", "max", "value"),
)
VALUES = st.sampled_from([None, 0.1, -1e15, 1e15, 3e-7])
BOUNDS = st.lists(st.integers(1, 17), max_size=5, unique=True).map(sorted)
KINDS = [pa.int64(), pa.int64(), pa.string(), pa.float64()]
SCHEMA = pa.schema(list(zip(("p0", "p1", "p2", "p3"), KINDS, strict=True)))
PLACES = {"start": 0, "end": 1, "key": 2, "value": 3}


@st.composite
def tables(draw):
    rows = draw(periods())
    columns = list(zip(*rows, strict=True)) or [(), ()]
    return pa.table(
        {
            "start": pa.array(columns[0], pa.int64()),
            "end": pa.array(columns[1], pa.int64()),
            "key": pa.array(draw(keys_for(rows)), pa.string()),
            "value": pa.array(draw(st.lists(VALUES, min_size=len(rows), max_size=len(rows))), pa.float64()),
        }
    )


def layout_of(side):
    return SideLayout(side, Period(), "p0", "p1", ("p2",))


def partitions(left, right, pieces, bounds):
    """The batch that each task receives: all buckets are cut."""
    sides = []
    for side, table in (("left", left), ("right", right)):
        rows = table.rename_columns([f"p{PLACES[name]}" for name in table.column_names])
        homes = pa.array([{"a": 0, "b": 1, None: 2}[key] for key in table["key"].to_pylist()], pa.int64())
        rows = rows.append_column("key", homes)
        if side == "right":
            rows = rows.filter(rows["p2"].is_valid())
        sides.append(rows)
    layouts = layout_of("left"), layout_of("right")
    return list(deal_sides(sides, layouts, pieces, bounds, PARTITIONS).values())


def matcher_of(pieces):
    sides = layout_of("left"), layout_of("right")
    return Matcher(ShuffledBlocks(SCHEMA), *sides, pieces, Policy(), "auto")


def added_up(part, values):
    known = [value for value in values if value is not None]
    if part.kind is PartKind.TOTAL:
        return [number for value in known for number in value]
    if part.kind is not PartKind.PRESENT:
        return (min if part.kind is PartKind.LEAST else max)(known, default=None)
    return sum(known)


def finished(measure, total):
    """A measure from what all tasks report."""
    kinds = measure.aggregate.combination.parts
    known = {part.kind: value for part, value in total.items() if part.measure.column == measure.column}
    if PartKind.TOTAL not in kinds:
        return known[kinds[0]]
    add = finish(measure, pa.float64(), pa.float64())
    return add(pa.array([known[PartKind.TOTAL]], pa.list_(pa.int64())), pa.array([known[PartKind.PRESENT]]))[0].as_py()


def counted(left, right, relation, bounds, best=None):
    """All rows with their counts and aggregates: those that tasks know alone, and those that they know together."""
    pieces = cover(tl.relation(relation).boxes())
    batches = partitions(left, right, pieces, bounds)
    names = (*left.column_names, "count", *(measure.name for measure in MEASURES))
    places = ({name: PLACES[name] for name in left.column_names}, PLACES)
    relation = tl.relation(relation)
    algorithm = "ranks" if relation == tl.allen.intersects else "dominance"
    task = CountTask(matcher_of(pieces), relation.boxes(), algorithm, MEASURES, places, names, best)
    found = [tuple(row.values()) for batch in batches for out in task([batch]) for row in out.to_pylist()]
    parts = parts_of(MEASURES)
    reported = ("start", "end", "key", "count", *(part.name for part in parts))
    partial = PartialCountTask(matcher_of(pieces), parts, PLACES, reported)
    known = defaultdict(list)
    for batch in batches:
        for out in partial([batch]):
            for row in out.to_pylist():
                known[row["start"], row["end"], row["key"]].append(row)
    reached = tick_range("left", pieces, *(np.asarray(left[name]) for name in ("start", "end")))
    for row, low, high in zip(left.to_pylist(), *reached, strict=True):
        if low <= high and bisect_right(bounds, low) < bisect_right(bounds, high):
            rows = known.get((row["start"], row["end"], row["key"]), [])
            total = {part: added_up(part, [one[part.name] for one in rows]) for part in parts}
            count = sum(one["count"] for one in rows)
            found.append((*row.values(), count, *(finished(measure, total) for measure in MEASURES)))
    return found


@pytest.mark.parametrize("relation", RELATIONS, ids=str)
@given(tables(), tables(), BOUNDS)
@settings(max_examples=12, deadline=None)
def test_counts_and_aggregates_of_slices_add_up(relation, left, right, bounds):
    aggregates = {measure.name: (measure.column, measure.function) for measure in MEASURES}
    expected = tl.count_join(left, right, relation, on="key", aggregates=aggregates)
    found = counted(left, right, relation, bounds)
    assert sorted(map(repr, found)) == sorted(repr(tuple(row.values())) for row in expected.to_pylist())


@given(tables(), tables(), BOUNDS, st.integers(0, 3), st.booleans())
@settings(max_examples=25, deadline=None)
def test_the_best_of_each_task_hold_the_best_of_all(left, right, bounds, k, grouped):
    offered = [row[:5] for row in counted(left, right, "intersects", bounds, Best(k, ("p2",) if grouped else ()))]
    expected = tl.top_k(left, right, k, on="key", by="key" if grouped else None, ties="all")
    for row in map(repr, (tuple(row.values()) for row in expected.to_pylist())):
        assert row in map(repr, offered)
