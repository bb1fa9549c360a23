"""Arrays and SQL judge alike: verdicts, ticks, tick ranges and cells of the same values, in every type of period."""

import json
import random
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

import timeloom as tl
from timeloom.engines.spark.columns.faults import FAULT, fault
from timeloom.engines.spark.columns.validity import judge_frame
from timeloom.engines.spark.exchange.prefilter import Prefilter
from timeloom.engines.spark.slicing.join_parts import cover
from timeloom.engines.spark.slicing.range_columns import TOUCHED, cell, tick_range_columns
from timeloom.engines.spark.slicing.tick_ranges import tick_range
from timeloom.engines.tables.ticks import read_period
from timeloom.engines.tables.verdicts import VALID, judge, unusable_in_sql
from timeloom.model.period import Period
from timeloom.model.policy import Policy
from timeloom.model.ticks import FOREVER, MAX_TICK

pytestmark = pytest.mark.spark


@dataclass(frozen=True)
class Kind:
    """A type of period columns: Spark's and Arrow's, its first and last tick, ticks in a unit, units in a tick."""

    spark: str
    type: pa.DataType
    low: int
    high: int
    ticks: int = 1
    units: int = 1

    def column(self, ticks):
        """Ticks as a column; a tick is None, or a multiple of the unit's."""
        values = [None if tick is None else tick // self.ticks * self.units for tick in ticks]
        width = pa.int32() if pa.types.is_date32(self.type) else pa.int64()
        return pa.array(values, width).cast(self.type)


def integers(spark, bits):
    return Kind(spark, getattr(pa, f"int{bits}")(), -(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def timestamps(unit, zone, ticks=1, units=1):
    """Timestamps from the first to the last that are microseconds in int64, and this unit's, too.

    PySpark cuts nanoseconds with a zone off in local time, which overflows within a day of their limits.
    """
    spark, most = "timestamp_ntz" if zone is None else "timestamp", (2**63 - 1) // units
    if zone is not None and units > 1:
        most -= 86_400_000_000
    return Kind(spark, pa.timestamp(unit, zone), -most // ticks * ticks + ticks, most // ticks * ticks, ticks, units)


KINDS = {
    **{
        f"int{bits}": integers(spark, bits) for spark, bits in (("byte", 8), ("short", 16), ("int", 32), ("bigint", 64))
    },
    "date": Kind("date", pa.date32(), -(2**31), 2**31 - 1),
    **{
        f"{unit} {zone or 'without zone'}": timestamps(unit, zone, *scale)
        for zone in (None, "Europe/Berlin")
        for unit, *scale in (("s", 10**6), ("ms", 1000), ("us",), ("ns", 1, 1000))
    },
    "us to the last": Kind("timestamp_ntz", pa.timestamp("us"), -(2**63), 2**63 - 1),
}
INTEGERS = [kind.type for name, kind in KINDS.items() if name.startswith("int")]
WHOLE = ("int64", "date", "us Europe/Berlin", "us to the last")
CLOSED = ("left", "right", "both", "neither")
POLICIES = [Policy(on_invalid, empty) for on_invalid in ("error", "quarantine") for empty in (None, "drop", "point")]
RELATIONS = ("intersects", "before", "meets", "during", "overlaps | met_by", "equals")
SPANNED = (
    tl.iseql.before(delta=3),
    tl.iseql.left_overlap(delta=2**62, epsilon=1),
    ~tl.iseql.during(delta=1, epsilon=2),
)


@dataclass(frozen=True)
class Case:
    """A table, how its period is read, and what is asked about it."""

    name: str
    kind: Kind
    rows: pa.Table
    period: Period
    policy: Policy
    relation: tl.Relation
    side: str
    prefilter: Prefilter


def near(draw, kind):
    """A tick: at either end of the type, around zero, or anywhere; few different ones, so that ties are common."""
    steps = draw.randrange(4) * kind.ticks
    at = draw.choice([kind.low + steps, kind.high - steps, steps, -steps, draw.randint(kind.low, kind.high)])
    return at // kind.ticks * kind.ticks


def instants(kind, ticks):
    """Ticks as users write them, as far as Python has a name for them."""
    named = [tick for tick in ticks if tick is not None and (kind.type in INTEGERS or abs(tick) < 10**6)]
    return kind.column(named).to_pylist()


def case(draw, name, kind, closed):
    starts = [None if draw.random() < 0.1 else near(draw, kind) for _ in range(24)]
    ends = [draw.choice([None, start, near(draw, kind), near(draw, kind)]) for start in starts]
    period = Period(closed=closed, open_end=instants(kind, ends)[: draw.randrange(3)] or None)
    relation = draw.choice([*map(tl.relation, RELATIONS), *SPANNED])
    others = np.array([near(draw, kind) for _ in range(draw.choice([1, 3, 6]))])
    prefilter = Prefilter.of(others, others, np.maximum(others, draw.choice(others.tolist())))
    rows = pa.table({"start": kind.column(starts), "end": kind.column(ends)})
    return Case(name, kind, rows, period, draw.choice(POLICIES), relation, draw.choice(["left", "right"]), prefilter)


def cases():
    """Each type with half of the forms of ``closed``, in turn; those with ticks of their own with all."""
    draw = random.Random(7)
    turns = {name: CLOSED if name in WHOLE else CLOSED[at % 2 :: 2] for at, name in enumerate(KINDS)}
    return [case(draw, f"{name} {closed}", KINDS[name], closed) for name, forms in turns.items() for closed in forms]


def parts_of(given):
    """The join parts of a case's relation; spans of ticks mean the same on every axis."""
    return cover(given.relation.boxes())


def in_arrays(given):
    """For each row: verdict, start, end, first and last tick to be present at, their cells, and if any is touched."""
    ticks, cells = read_period(given.rows, given.period, given.side), given.prefilter
    ends, verdicts = judge(ticks, given.policy)
    low, high = tick_range(given.side, parts_of(given), ticks.starts, ends)
    first, last = ((np.clip(tick, cells.base, cells.top) - cells.base) >> cells.shift for tick in (low, high))
    touched = cells.before[np.maximum(first, last) + 1] > cells.before[first]
    for row in zip(verdicts, ticks.starts, ends, low, high, first, last, touched, strict=True):
        verdict, start, end, *ranged = map(int, row)
        told = ranged if ranged[0] <= ranged[1] else ["nowhere"]
        yield (verdict, start, end, *told) if verdict == VALID else (verdict,)


def in_sql(spark, given, at):
    """The same as a plan of rows: the number of the case, that of the row, and what SQL says."""
    kind = given.kind.spark
    rows = given.rows.append_column("row", pa.array(range(given.rows.num_rows), pa.int64()))
    judged = judge_frame(
        spark.createDataFrame(rows, f"start {kind}, end {kind}, row bigint"), given.period, given.side, given.policy
    )
    columns = judged.columns
    found = judged.all_rows.select(
        F.lit(at).alias("case"),
        F.col(judged.column("row")).alias("row"),
        F.expr(judged.verdict).alias("verdict"),
        F.expr(columns.start).alias("start"),
        F.expr(columns.end).alias("end"),
        F.expr(f"{fault(judged)} AS {FAULT}"),
    )
    found = found.withColumn("unusable", F.expr(unusable_in_sql("start", "end")))
    low, high = tick_range_columns(given.side, parts_of(given))
    cells = given.prefilter
    known = {name: F.lit(int(getattr(cells, name))).cast("bigint") for name in ("base", "top")}
    known |= {"shift": F.lit(cells.shift), "before": F.array(*map(F.lit, cells.before.tolist()))}
    ranged = found.withColumns({"low": F.expr(low), "high": F.expr(high), **known})
    located = {"first": F.expr(cell("low")), "last": F.expr(cell("high")), "touched": F.expr(TOUCHED)}
    return ranged.withColumns(located).drop(*known)


def said(row):
    """What SQL says of a row, as arrays say it."""
    if row["verdict"] != VALID:
        return (row["verdict"],)
    nowhere = row["low"] is None or row["low"] > row["high"]
    ranged = ["nowhere"] if nowhere else [row["low"], row["high"], row["first"], row["last"], row["touched"]]
    return row["verdict"], row["start"], row["end"], *ranged


def test_arrays_and_sql_find_the_same(spark):
    drawn = cases()
    seen = set()
    for first in range(0, len(drawn), 20):
        plans = [in_sql(spark, given, at) for at, given in enumerate(drawn[first : first + 20], first)]
        whole = plans[0]
        for plan in plans[1:]:
            whole = whole.unionAll(plan)
        found = {(row["case"], row["row"]): row for row in whole.toArrow().to_pylist()}
        for at, given in enumerate(drawn[first : first + 20], first):
            for row, expected in enumerate(in_arrays(given)):
                told = found[at, row]
                assert said(told) == expected, (given.name, given.rows.slice(row, 1), given)
                assert told["unusable"] == (told["verdict"] != VALID)
                assert (told[FAULT] is None) == (told["verdict"] == VALID)
                assert told[FAULT] is None or json.loads(told[FAULT])["verdict"] == told["verdict"]
                seen.add(told["verdict"])
    assert seen == set(range(5))


def test_the_last_ticks_are_told_apart():
    """A shift saturates there, so that only the raw ticks know which of start and end comes first."""
    rows = pa.table({"start": [MAX_TICK, MAX_TICK, MAX_TICK - 1], "end": pa.array([MAX_TICK - 1, None, MAX_TICK - 2])})
    ends, verdicts = judge(read_period(rows, Period(closed="right"), "left"), Policy())
    assert ends.tolist() == [FOREVER, FOREVER, MAX_TICK - 1]
    assert verdicts.tolist() == [2, 3, 2]
