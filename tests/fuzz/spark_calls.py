"""Random calls of the two-table verbs on Spark, under random settings of the session, compared with the local engine.

Several calls make one action, since an action costs more than small tables do. All is drawn from the seed: the message
of a difference names the seed and the batch, and shows the call with its tables.
"""

import random
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import reduce
from typing import Any
from unittest.mock import patch

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

import timeloom as tl

CALLS = 4
"""So many calls make one action."""

SETTINGS = {
    "spark.sql.adaptive.enabled": ["true", "false"],
    "spark.sql.shuffle.partitions": ["1", "3", "7"],
    "spark.sql.ansi.enabled": ["true", "false"],
    "spark.sql.session.timeZone": ["UTC", "America/New_York", "Asia/Kolkata", "Pacific/Apia"],
    "spark.sql.execution.arrow.maxRecordsPerBatch": ["1", "2", "5", "10", "10000"],
    "spark.sql.codegen.wholeStage": ["true", "true", "false"],
    "spark.sql.caseSensitive": ["true", "false"],
}

SWITCHES = {
    "timeloom.engines.spark.slicing.slices.WHOLE_BYTES": [0, 16 << 20],
    "timeloom.engines.spark.slicing.slices.LEAST_SEEN": [1, 16],
    "timeloom.engines.spark.slicing.boundaries.USUAL_SHARE": [1.0, 1 / 32],
    "timeloom.engines.spark.matching.index_probe.LARGE_BYTES": [0, 1 << 24],
    "timeloom.engines.spark.matching.index_probe.TIMES_LARGER": [0],
}
"""Sizes from which on plans do more: with 0, tables of a few rows are cut by time, or searched in SQL."""

RELATIONS: list[Any] = [
    *("before", "meets", "overlaps", "starts", "during", "finishes", "equals", "after", "contains", "finished_by"),
    *("intersects", "intersects", "intersects", "iseql.before", "iseql.left_overlap", "iseql.start_preceding"),
    tl.relation("during") | tl.relation("after"),
    tl.relation("iseql.before", delta=3),
    tl.relation("meets") | tl.relation("met_by") | tl.relation("equals"),
]

KINDS: dict[str, tuple[pa.DataType, Callable[[int], Any]]] = {
    "int": (pa.int64(), lambda tick: tick),
    "date": (pa.date32(), lambda tick: date(2024, 2, 20) + timedelta(days=tick)),
    "zoned": (pa.timestamp("us", "UTC"), lambda tick: datetime(2024, 3, 9, 20, tzinfo=UTC) + timedelta(hours=tick)),
    "unzoned": (pa.timestamp("us"), lambda tick: datetime(2024, 3, 9, 20) + timedelta(hours=tick)),
}

HOWS = ("inner", "left", "right", "full", "semi", "anti")


@dataclass(frozen=True)
class Call:
    """One call: the verb, its tables and options."""

    verb: str
    tables: tuple[pa.Table, ...]
    options: dict[str, Any] = field(default_factory=dict)

    def on(self, frames: "tuple[Any, ...]") -> Any:
        """The answer for these frames: local tables, or DataFrames of the same rows."""
        verb = getattr(tl, self.verb)
        positional = (self.options["k"],) if self.verb == "top_k" else ()
        options = {name: value for name, value in self.options.items() if name != "k"}
        if len(frames) > 2:
            return verb(list(frames), **options)
        return verb(*frames, *positional, **options)

    def __str__(self) -> str:
        tables = "\n".join(
            f"  {table.schema.names} {[tuple(row.values()) for row in table.to_pylist()]}" for table in self.tables
        )
        return f"{self.verb} {self.options}\n{tables}"


def run(seed: int, seconds: float, spark: SparkSession) -> int:
    """Compare calls until the time is over, at least one batch; the number of calls that were compared."""
    until, batch, compared = time.monotonic() + seconds, 0, 0
    while not batch or time.monotonic() < until:
        compared += compare(seed, batch, spark)
        batch += 1
    return compared


def compare(seed: int, batch: int, spark: SparkSession) -> int:
    """Compare the calls of one batch, in one action; the number of calls."""
    draw = random.Random(f"{seed} {batch}")
    settings = {name: draw.choice(values) for name, values in SETTINGS.items()}
    switches = {name: draw.choice(values) for name, values in SWITCHES.items()}
    calls = [drawn_call(draw) for _ in range(CALLS)]
    where = f"seed {seed}, batch {batch}, {settings}, {switches}"
    with _set(spark, settings), _switched(switches):
        expected = [answers(call, call.tables) for call in calls]
        frames = [tuple(_frame(spark, table, draw) for table in call.tables) for call in calls]
        try:
            found = rows_of([answers(call, each) for call, each in zip(calls, frames, strict=True)])
        except Exception:
            for call, each in zip(calls, frames, strict=True):
                _alone(call, each, where)
            raise
    for call, ours, theirs in zip(calls, found, expected, strict=True):
        for mine, table in zip(ours, theirs, strict=True):
            wanted = Counter(map(tuple, texts(table)))
            assert mine == wanted, f"{where}\n{call}\nmissing {wanted - mine}\nunwanted {mine - wanted}"
    return len(calls)


def _alone(call: Call, frames: "tuple[DataFrame, ...]", where: str) -> None:
    """Find the call that a batch fails for."""
    try:
        rows_of([answers(call, frames)])
    except Exception as error:
        raise AssertionError(f"{where}\n{call}\n{error}") from error


def answers(call: Call, frames: "tuple[Any, ...]") -> list[Any]:
    """What a call returns: the result, and the rejected rows if they were asked for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tl.errors.DroppedRowsWarning)
        answer = call.on(frames)
    return list(answer) if call.options.get("on_invalid") == "quarantine" else [answer]


def rows_of(plans: list[list[DataFrame]]) -> list[list[Counter[tuple[str | None, ...]]]]:
    """The rows of all plans, as texts, in one action."""
    parts = []
    for number, answer in enumerate(plans):
        for which, plan in enumerate(answer):
            columns = plan.toDF(*(f"c{at}" for at in range(len(plan.columns))))
            values = F.array(*(_text(f"c{at}", kind.dataType) for at, kind in enumerate(plan.schema)))
            parts.append(columns.select(F.lit(number).alias("call"), F.lit(which).alias("part"), values.alias("row")))
    found = [[Counter[tuple[str | None, ...]]() for _ in answer] for answer in plans]
    for row in reduce(lambda a, b: a.unionAll(b), parts).collect():
        found[row["call"]][row["part"]][tuple(row["row"])] += 1
    return found


def _text(name: str, kind: T.DataType) -> Column:
    """A value as text that does not depend on the session's zone."""
    if isinstance(kind, T.TimestampType):
        return F.unix_micros(name).cast("string")
    return F.col(name).cast("string")


def texts(table: pa.Table) -> Iterator[list[str | None]]:
    """The rows of a local table as texts."""
    for row in table.to_pylist():
        yield [None if value is None else _local_text(value) for value in row.values()]


def _local_text(value: Any) -> str:
    if isinstance(value, datetime) and value.tzinfo is not None:
        return str((value - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1))
    return str(value)


def drawn_call(draw: random.Random) -> Call:
    """A call with tables of a few rows."""
    verb = draw.choice(
        ["join", "join", "join", "temporal_join", "temporal_join", "temporal_antijoin", "count_join", "top_k"]
    )
    keys = draw.choice([(), ("k",), ("k",), ("k", "j")])
    closed = draw.choice(["left", "left", "both", "right", "neither"])
    policy = draw.choice(
        [{}, {"on_invalid": "drop"}, {"on_invalid": "drop"}, {"on_invalid": "quarantine"}, {"empty": "drop"}]
    )
    if policy and draw.random() < 0.2 and "empty" not in policy:
        policy = policy | {"empty": "point"}
    options: dict[str, Any] = {"on": list(keys) or None, **policy}
    if closed != "left":
        options["period"] = tl.Period(closed=closed)
    count = 2
    if verb in ("join", "count_join", "top_k"):
        strategies = ["auto", "broadcast", "slices", *(["keys"] if keys else [])]
        options |= {"relation": draw.choice(RELATIONS), "strategy": draw.choice(strategies)}
    if verb == "join":
        options |= {"how": draw.choice(HOWS)}
        options |= (
            {"overlap": True} if options["relation"] == "intersects" and options["how"] not in ("semi", "anti") else {}
        )
    elif verb == "count_join":
        options |= {"aggregates": {"values": ("v", "count"), "total": ("v", "sum"), "most": ("v", "max")}}
    elif verb == "top_k":
        options |= {"k": draw.choice([1, 3]), "ties": "all", "by": draw.choice([None, "j"])}
    elif verb == "temporal_join":
        options |= {"how": draw.choice(HOWS[:4])}
        count = draw.choice([2, 2, 3])
    kind = draw.choice(list(KINDS))
    return Call(verb, tuple(random_table(draw, number, kind, policy) for number in range(count)), options)


def random_table(
    draw: random.Random, number: int, kind: str, policy: dict[str, str], rows: int | None = None
) -> pa.Table:
    """Rows with ties, long and open periods, null keys, and what the policy takes: empty, reversed, no start."""
    arrow, make = KINDS[kind]
    spoilt = [] if not policy else ["empty"] if policy.get("on_invalid") is None else ["empty", "reversed", "no start"]
    drawn: list[tuple[Any, ...]] = []
    for at in range(draw.choice([0, 1, 5, 20, 40]) if rows is None else rows):
        start = draw.randrange(25)
        end = start + draw.choice([2, 3, 4, 9, 40])
        fault = draw.choice(spoilt) if spoilt and draw.random() < 0.25 else None
        start, end = {"empty": (start, start), "reversed": (end, start)}.get(fault or "", (start, end))
        last = None if draw.random() < 0.05 and fault is None else make(end)
        first = None if fault == "no start" else make(start)
        drawn.append(
            (at, first, last, draw.choice(["a", "a", "b", None]), draw.choice([1, 2, None]), draw.choice([5, 7, None]))
        )
    names = [f"id{number}", "start", "end", "k", "j", "v"]
    kinds = [pa.int64(), arrow, arrow, pa.string(), pa.int32(), pa.int64()]
    return pa.table([pa.array([row[at] for row in drawn], part) for at, part in enumerate(kinds)], names=names)


def _frame(spark: SparkSession, table: pa.Table, draw: random.Random) -> DataFrame:
    kinds = {"date32[day]": "date", "timestamp[us]": "timestamp_ntz", "timestamp[us, tz=UTC]": "timestamp"}
    period = kinds.get(str(table.schema.field("start").type), "bigint")
    schema = f"{table.column_names[0]} bigint, start {period}, end {period}, k string, j int, v bigint"
    return spark.createDataFrame(table, schema).repartition(draw.choice([1, 2, 3]))


@contextmanager
def _set(spark: SparkSession, settings: dict[str, str]) -> Iterator[None]:
    before = {name: spark.conf.get(name) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


@contextmanager
def _switched(values: dict[str, int]) -> Iterator[None]:
    patches = [patch(name, value) for name, value in values.items()]
    for one in patches:
        one.start()
    try:
        yield
    finally:
        for one in patches:
            one.stop()
