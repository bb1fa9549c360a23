"""Every aggregate there is has the name, type and treatment of nulls on Spark that it has on local tables."""

import random

import pyarrow as pa
import pytest

import timeloom as tl
from timeloom.model.aggregates import AGGREGATES

pytestmark = pytest.mark.spark

TYPES = {
    "whole": (pa.int32(), [None, 1, 2, -3]),
    "double": (pa.float64(), [None, 0.5, -0.25, 8.0]),
    "decimal": (pa.decimal128(9, 2), [None, 1, 2, -3]),
    "truth": (pa.bool_(), [None, True, False]),
    "text": (pa.string(), [None, "a", "b"]),
}
FITTING = {
    "any": list(TYPES),
    "sortable": list(TYPES),
    "summable": ["whole", "double", "decimal", "truth"],
    "numeric": ["whole", "double", "decimal"],
    "boolean": ["truth"],
}
WINDOWS = {"sys": tl.Slide(0, 2, 1), "app": tl.Slide(0, 2, 1), "ratio": (1, 1), "steps": 9, "meaning": "visible"}


def drawn_rows(rows=60, seed=3):
    """Rows with distinct starts, so that their order is known; the last group has nulls only."""
    draw = random.Random(seed)
    starts = list(range(rows))
    ends = [start + draw.randrange(1, 9) for start in starts]
    keys = [draw.choice(["a", "b", "only nulls"]) for _ in starts]
    columns = {
        name: pa.array([None if key == "only nulls" else draw.choice(values) for key in keys], kind)
        for name, (kind, values) in TYPES.items()
    }
    times = {name: pa.array(draw.sample(range(12), 12) * 5, pa.int64()) for name in ("sys_start", "app_start")}
    later = {
        name.replace("start", "end"): pa.array([at + 3 for at in values.to_pylist()]) for name, values in times.items()
    }
    return pa.table({"start": starts, "end": ends, "key": keys} | times | later | columns)


def measured(wanted):
    return {
        f"{record.name} of {column}": (column, record.name)
        for record in AGGREGATES.values()
        if wanted(record)
        for column in FITTING[record.takes]
    }


def same(found, expected, by):
    """The same names, types and rows."""
    found = found.toArrow()
    assert found.schema.names == expected.schema.names
    assert [str(kind).replace("element", "item") for kind in found.schema.types] == list(
        map(str, expected.schema.types)
    )
    rows = [table.sort_by([(name, "ascending") for name in by]) if by else table for table in (found, expected)]
    for name in expected.schema.names:
        mine, theirs = (table[name].to_pylist() for table in rows)
        assert mine == theirs, name


def test_periods_with_all_aggregates(spark):
    rows = drawn_rows()
    call = {"aggregates": measured(lambda record: True), "by": "key", "fill": True, "within": (0, 70)}
    found = tl.temporal_aggregate(spark.createDataFrame(rows).repartition(4), **call)
    same(found, tl.temporal_aggregate(rows, **call), ["key", "start"])


def test_partners_with_all_aggregates_that_have_parts(spark):
    rows = drawn_rows()
    left = pa.table({"at": range(0, 80, 3), "start": range(0, 80, 3), "end": range(9, 89, 3)})
    call = {"aggregates": measured(lambda record: record.combination is not None)}
    frames = spark.createDataFrame(left).repartition(3), spark.createDataFrame(rows).repartition(4)
    same(tl.count_join(*frames, **call, strategy="slices"), tl.count_join(left, rows, **call), ["at"])


def test_steps_with_all_aggregates_that_need_no_order(spark):
    rows = drawn_rows()
    select = measured(lambda record: record.order == "ignored")
    found = tl.sliding_windows(spark.createDataFrame(rows).repartition(4), **WINDOWS, select=select)
    same(found, tl.sliding_windows(rows, **WINDOWS, select=select), ["step"])


def test_what_needs_an_order_is_refused_by_name(spark):
    frame = spark.createDataFrame(drawn_rows())
    for name in [record.name for record in AGGREGATES.values() if record.order == "decisive"]:
        with pytest.raises(tl.UsageError, match=f"'{name}' of a step"):
            tl.sliding_windows(frame, **WINDOWS, select={"x": ("whole", name)})


def test_sums_of_windows_are_exact(spark):
    """What one task rounds away, another may need."""
    big, small = 1e16, 1.0
    values = [big, small, -big, small] * 3
    rows = pa.table({name: [0] * 12 for name in ("sys_start", "app_start")} | {"v": values})
    rows = rows.append_column("sys_end", pa.array([9] * 12)).append_column("app_end", pa.array([9] * 12))
    call = {
        "sys": tl.Slide(0, 2, 1),
        "app": tl.Slide(0, 2, 1),
        "steps": 1,
        "select": {"t": ("v", "sum"), "m": ("v", "avg")},
    }
    found = tl.sliding_windows(spark.createDataFrame(rows).repartition(12), **call).toArrow().to_pylist()
    assert found == [{"step": step, "t": 6.0, "m": 0.5} for step in range(2)]
