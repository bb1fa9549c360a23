"""Rows with copies in several tasks: what all tasks report decides about each, at any boundaries, without Spark."""

from collections import Counter, defaultdict

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import timeloom as tl
from dealing import deal_sides
from drawing import keys_for, periods
from reference.relations import RELATIONS, join_pairs, outer_pairs, semi_rows
from timeloom.engines.spark.exchange.packed_rows import SideLayout
from timeloom.engines.spark.exchange.readers import ShuffledBlocks
from timeloom.engines.spark.matching.pair_columns import PairColumns
from timeloom.engines.spark.matching.tasks import JoinTask, Matcher
from timeloom.engines.spark.matching.unmatched import FateTask
from timeloom.engines.spark.slicing.join_parts import cover
from timeloom.model.naming import OutputColumn
from timeloom.model.period import Period
from timeloom.model.policy import Policy
from timeloom.model.ticks import Axis

TASKS = 3
BOUNDS = st.lists(st.integers(1, 17), max_size=5, unique=True).map(sorted)
SCHEMA = pa.schema([("p0", pa.int64()), ("p1", pa.int64()), ("p2", pa.string()), ("p3", pa.int64())])
SIDES = ("left", "right")
LAYOUTS = tuple(SideLayout(side, Period(), "p0", "p1", ("p2",)) for side in SIDES)


@st.composite
def sides(draw):
    rows = draw(periods())
    return rows, draw(keys_for(rows))


def packed(rows, keys):
    columns = [[row[0] for row in rows], [row[1] for row in rows], keys, list(range(len(rows)))]
    found = pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)], SCHEMA.names
    )
    return found.append_column("key", pa.array([{"a": 0, "b": 1, None: 2}[key] for key in keys], pa.int64()))


def received(left, right, relation, bounds):
    """What each task receives, and how it finds pairs there."""
    parts = cover(tl.relation(relation).boxes())
    dealt = deal_sides([packed(*left), packed(*right)], LAYOUTS, parts, bounds, TASKS)
    return list(dealt.values()), Matcher(ShuffledBlocks(SCHEMA), *LAYOUTS, parts, Policy(), "auto")


def rows_of(task, batches):
    """What a task makes of each batch."""
    return [row for batch in batches for made in task(iter([batch])) for row in made.to_pylist()]


def decided(matcher, batches, *, keep_matched):
    """The rows that all tasks decide about together: of those that are reported, which have a partner, or have none."""
    carried, matched = [], defaultdict(bool)
    for report in rows_of(FateTask(matcher, SIDES, ("p3",), keep_matched), batches):
        about = report["is_right"], report["start"], report["end"], report["k0"]
        matched[about] |= report["matched"]
        if report["has_row"]:
            carried.append((about, report["p3"]))
    return [(about[0], number) for about, number in carried if matched[about] == keep_matched]


@pytest.mark.parametrize("relation", ["intersects", "before", "meets", "during", "overlaps", "contains"])
@settings(max_examples=20, deadline=None)
@given(left=sides(), right=sides(), bounds=BOUNDS)
def test_what_one_task_decides_and_what_all_decide_is_the_join(relation, left, right, bounds):
    pairs = join_pairs(left[0], right[0], RELATIONS[relation], left_keys=left[1], right_keys=right[1])
    batches, matcher = received(left, right, relation, bounds)
    columns = (OutputColumn("r", "left", "r"), OutputColumn("s", "right", "", "s"))
    packed = PairColumns(({"r": 3}, {"s": 3}), None, Axis.INTEGER)
    found = [(row["r"], row["s"]) for row in rows_of(JoinTask(matcher, "full", columns, packed), batches)]
    alone = decided(matcher, batches, keep_matched=False)
    found += [(None, number) if is_right else (number, None) for is_right, number in alone]
    assert Counter(found) == Counter(outer_pairs(pairs, len(left[0]), len(right[0]), "full"))
    kept = [row["r"] for row in rows_of(JoinTask(matcher, "semi", columns[:1], packed), batches)]
    kept += [number for is_right, number in decided(matcher, batches, keep_matched=True) if not is_right]
    assert sorted(kept) == semi_rows(pairs)
