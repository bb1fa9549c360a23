"""The relation join on Spark against Spark's own join and the best hand-binned one; all results go to the noop sink."""

import argparse
import math
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import timeloom as tl
from benchmarks.data.uniform import table, uniform
from benchmarks.measuring import Line, show, side_by_side, timed
from benchmarks.spark_session import run, session
from timeloom.engines.spark.cluster.workers import Piped, mapped
from timeloom.engines.spark.exchange.distribution import Distribution
from timeloom.engines.spark.join import planned
from timeloom.engines.spark.matching.tasks import Matcher
from timeloom.model.join import JoinRequest
from timeloom.model.names import relation
from timeloom.model.naming import Keys
from timeloom.model.period import Period
from timeloom.model.policy import Policy

COLUMNS = ["rid", "sid"]

MOST_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
"""At its maximum, Spark does not measure the batch after every row that goes to Python. It is not the default."""


class Bench:
    """A session, and pairs of tables as Parquet files in several parts."""

    def __init__(self, spark: SparkSession, folder: str) -> None:
        self.spark, self.folder = spark, Path(folder)
        self.lines: list[Line] = []

    def load(self, name: str, columns: dict[str, np.ndarray], identifier: str, parts: int = 4) -> DataFrame:
        """Write a table in parts and read it with Spark."""
        rows, folder = table(columns, identifier), self.folder / name
        folder.mkdir(exist_ok=True)
        for part in range(parts):
            first, last = rows.num_rows * part // parts, rows.num_rows * (part + 1) // parts
            pq.write_table(rows.slice(first, last - first), folder / f"{part}.parquet")
        return self.spark.read.parquet(str(folder))

    def compare(
        self,
        case: str,
        ours: DataFrame,
        peers: dict[str, DataFrame],
        target: str,
        repeat: int = 3,
        sink: Callable[[DataFrame], Callable[[], None]] = run,
    ) -> None:
        """Check that all have the same rows, find the best peer by one run each, and time it side by side, warm."""
        wanted = digest(ours)
        found = {name: timed(sink(peer), 1) for name, peer in peers.items()}
        best = min(found, key=lambda name: found[name])
        assert digest(peers[best]) == wanted, case
        for warming in (ours, peers[best]):
            warm(sink(warming), 10 * repeat)
        mine, theirs = side_by_side(sink(ours), sink(peers[best]), repeat)
        self.lines.append(Line(f"{case}: {wanted[0]:,} pairs", mine, best, theirs, target))
        print(f"{case}: {mine:.3f} s, {best} {theirs:.3f} s, {theirs / mine:.2f} x", flush=True)

    def shuffled(self, frame: DataFrame) -> int:
        """How many bytes a run of the plan writes for shuffles, by Spark's own count."""
        context = self.spark.sparkContext._jsc.sc()

        def written() -> int:
            context.listenerBus().waitUntilEmpty()
            time.sleep(0.5)
            executors = context.statusStore().executorList(False)
            return sum(executors.apply(number).totalShuffleWrite() for number in range(executors.size()))

        before = written()
        run(frame)()
        return written() - before


def digest(frame: DataFrame) -> tuple[Any, ...]:
    """What two equal results have in common."""
    return tuple(frame.selectExpr("count(*)", "sum(CAST(hash(rid, sid) AS BIGINT))").first() or ())


def warm(call: Callable[[], None], seconds: float = 30.0) -> None:
    """Run a plan until the JVM has compiled what it needs: until three runs bring nothing, but not much longer."""
    began, best, idle = time.perf_counter(), math.inf, 0
    while idle < 3 and time.perf_counter() - began < seconds:
        taken = timed(call, 1)
        idle = 0 if taken < 0.97 * best else idle + 1
        best = min(best, taken)


def spark_join(left: DataFrame, right: DataFrame) -> DataFrame:
    """Spark's own join on the condition."""
    s = right.withColumnsRenamed({"start": "s_start", "end": "s_end"})
    return left.join(s, (left.start < s.s_end) & (s.s_start < left.end)).select(*COLUMNS)


def binned(left: DataFrame, right: DataFrame, width: int, hint: str = "") -> DataFrame:
    """The join by hand: rows are copied to bins, and a pair counts in the bin where the later of them starts.

    A hint may say how Spark is to join the bins.
    """
    bins = f"explode(sequence(start div {width}, (end - 1) div {width})) AS bin"
    r = left.selectExpr("rid", "start AS r_start", "end AS r_end", bins)
    s = right.selectExpr("sid", "start AS s_start", "end AS s_end", bins)
    inside = f"r_start < s_end AND s_start < r_end AND greatest(r_start, s_start) div {width} = bin"
    return r.join(s.hint(hint) if hint else s, "bin").where(inside).select(*COLUMNS)


def bins(left: DataFrame, right: DataFrame, widths: tuple[int, ...], hint: str = "") -> dict[str, DataFrame]:
    """The join by hand for several widths of a bin."""
    return {f"binned, width {width} {hint}".strip(): binned(left, right, width, hint) for width in widths}


def breakdown(left: DataFrame, right: DataFrame) -> list[tuple[str, float]]:
    """Where the time of a sliced join goes, by running more and more of it."""
    period = Period("start", "end")
    request = JoinRequest(
        relation("intersects"), Keys(), "inner", period, period, Policy(), columns=tuple(COLUMNS), strategy="slices"
    )
    joined = planned(left, right, request)
    plan = joined.inputs.plan
    assert isinstance(plan, Distribution)
    matcher = joined.inputs.matcher()
    exchange = plan.exchange
    cut = left.sparkSession.range(1).select(exchange.cuts)
    rows = plan.rows()
    into_python = [mapped(source.rows, swallow, "n long") for source in exchange.sources]
    steps = {
        "read both inputs": left.unionAll(right.toDF(*left.columns)),
        "rows to Arrow, into Python": into_python[0].unionAll(into_python[1]),
        "write blocks, shuffle": rows.frame if isinstance(rows, Piped) else rows,
        "choose cuts if tasks agree, ticks and matching": mapped(rows, Counting(matcher), "n long"),
        "gather, and results back to Spark": joined.frame(),
    }
    times = [timed(run(frame), 3) for frame in steps.values()]
    found = list(zip(steps, [times[0], *(max(0.0, b - a) for a, b in pairwise(times))], strict=True))
    return [*found, ("the sample alone", timed(run(cut), 3))]


def swallow(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Read all rows and return their number."""
    yield pa.RecordBatch.from_pydict({"n": [sum(batch.num_rows for batch in batches)]})


class Counting:
    """Find all pairs of a task and return their number."""

    def __init__(self, matcher: Matcher) -> None:
        self.matcher = matcher

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for held in self.matcher.held(batches):
            yield pa.RecordBatch.from_pydict({"n": [sum(r.size for r, _ in self.matcher.pairs(held, 1 << 20))]})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", choices=("small", "full"), default="small")
    parser.add_argument("--cases", nargs="*", choices=list(CASES), default=list(CASES))
    given = parser.parse_args()
    size = 1 if given.scale == "full" else 10
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(session(folder), folder)
        rehearse(bench)
        for case in given.cases:
            CASES[case](bench, size)
        show("The relation join on Spark, local[2]", bench.lines)
        bench.spark.stop()


def loaded(bench: Bench, rows: int, mean: float, seeds: tuple[int, int], **options: Any) -> tuple[DataFrame, DataFrame]:
    """Two tables of equal size."""
    sides = zip(("left", "right"), ("rid", "sid"), seeds, strict=True)
    left, right = (
        bench.load(f"{side}{rows}-{mean}-{seed}", uniform(rows, mean, seed, **options), identifier)
        for side, identifier, seed in sides
    )
    return left, right


def rehearse(bench: Bench) -> None:
    """Run every plan on few rows, until the JVM has compiled what plans them: that takes many runs, but short ones."""
    left, right = loaded(bench, 1000, 10, (1, 2), domain=1000)
    ours = [tl.join(left, right, columns=COLUMNS, strategy=strategy) for strategy in ("broadcast", "slices")]
    for _ in range(30):
        for frame in (*ours, spark_join(left, right), binned(left, right, 80, "merge"), binned(left, right, 80)):
            run(frame)()


def dense(bench: Bench, size: int) -> None:
    """Spark's own join."""
    rows = 10**5 // size
    left, right = loaded(bench, rows, 100, (1, 2), domain=rows)
    ours = tl.join(left, right, columns=COLUMNS)
    bench.compare(f"{rows:,} x {rows:,}, duration 100", ours, {"Spark": spark_join(left, right)}, ">= 50 x", 2)


def short(bench: Bench, size: int) -> None:
    """The data that suit bins best, where the time goes, and twice as many rows."""
    rows = 10**6 // size
    left, right = loaded(bench, rows, 10, (3, 4), domain=rows)
    ours = tl.join(left, right, columns=COLUMNS, strategy="slices")
    bench.compare(f"{rows:,} x {rows:,}, duration 10", ours, bins(left, right, (20, 40, 80, 160)), "> 1 x, aim 1.5 x")
    bench.spark.conf.set(MOST_BYTES, 2**31 - 1)
    case = f"{rows:,} x {rows:,}, duration 10, batches unmeasured"
    bench.compare(case, ours, bins(left, right, (40, 80)), "> 1 x, aim 1.5 x")
    bench.spark.conf.unset(MOST_BYTES)
    for step, seconds in breakdown(left, right):
        print(f"  {seconds:6.2f} s  {step}")
    twice = tl.join(*loaded(bench, 2 * rows, 10, (5, 6), domain=2 * rows), columns=COLUMNS, strategy="slices")
    once_time, twice_time = side_by_side(run(ours), run(twice))
    once_bytes, twice_bytes = bench.shuffled(ours), bench.shuffled(twice)
    print(
        f"  doubling n: {twice_time / once_time:.2f} x the time (wanted: at most 2.3), {once_bytes:,} bytes shuffled,"
    )
    print(f"  then {twice_bytes:,}, {twice_bytes / once_bytes:.2f} x (wanted: at most 2.2)")


def small(bench: Bench, size: int) -> None:
    """Few rows, the session warm: against the best bins of both kinds of join that Spark has for them."""
    for rows in (10**3, 10**4, 10**5):
        left, right = loaded(bench, rows, 10, (11, 12), domain=rows)
        peers = bins(left, right, (40, 80, 160)) | bins(left, right, (40, 80, 160), "shuffle_hash")
        bench.compare(f"{rows:,} x {rows:,}, duration 10", tl.join(left, right, columns=COLUMNS), peers, ">= 1 x", 9)


ENDS: dict[str, Callable[[Bench, DataFrame], Callable[[], None]]] = {
    "noop": lambda bench, frame: run(frame),
    "parquet": lambda bench, frame: partial(frame.write.mode("overwrite").parquet, str(bench.folder / "out")),
    "count": lambda bench, frame: run(frame.groupBy("rid").count()),
}
"""Where results go: nowhere, to Parquet files, or into counts of partners."""


def sinks(bench: Bench, size: int, *, rows: int, end: str) -> None:
    """The data that suit bins best, where users end, against bins of both joins of Spark; and what cannot be less."""
    rows //= size
    left, right = loaded(bench, rows, 10, (3, 4), domain=rows)
    ours = tl.join(left, right, columns=COLUMNS)
    widths = (40, 80) if rows < 10**7 else (80,)
    peers = bins(left, right, widths) | bins(left, right, widths, "shuffle_hash")
    sink, repeat = partial(ENDS[end], bench), 3 if rows < 10**7 else 2
    bench.compare(f"{rows:,} x {rows:,}, duration 10, {end}", ours, peers, ">= 1.3 x", repeat, sink)
    if end == "count":
        theirs = bench.lines[-1].theirs
        counts = run(tl.count_join(left, right))
        bench.lines.append(Line(f"{rows:,} x {rows:,}, count_join", timed(counts, 4), "bins, counted", theirs, ""))
    floors(bench, left, right, sink)


def floors(bench: Bench, left: DataFrame, right: DataFrame, sink: Callable[[DataFrame], Callable[[], None]]) -> None:
    """What no plan that goes through Python can save: rows into it, and as many rows as there are pairs at the end."""
    into = [mapped(side, swallow, "n long") for side in (left, right)]
    rows = left.count()
    pairs = left.sparkSession.range(20 * rows).selectExpr(f"id % {rows} AS rid", "id + 1 AS sid")
    for what, call in (
        ("read both inputs", run(left.unionAll(right.toDF(*left.columns)))),
        ("read them, into Python", run(into[0].unionAll(into[1]))),
        ("as many rows of two numbers as there are pairs, to their end", sink(pairs)),
    ):
        print(f"  {timed(call, 3):6.2f} s  {what}", flush=True)


def long(bench: Bench, size: int) -> None:
    """A few rows that last as long as all data."""
    rows = 3 * 10**5 // size
    left, right = loaded(bench, rows, 10, (7, 8), domain=10**6 // size, long_lived=0.001)
    peers = bins(left, right, (250, 500, 1000, 2000))
    for strategy in ("auto", "slices"):
        ours = tl.join(left, right, columns=COLUMNS, strategy=strategy)
        bench.compare(f"{rows:,} x {rows:,}, 0.1 % long, {strategy}", ours, peers, ">= 5 x")


def broadcast(bench: Bench, size: int) -> None:
    """A small side, against bins of both sides that are shuffled, and bins of which Spark broadcasts the small side.

    Both when few rows match something, and when most do.
    """
    many, few = 10**7 // size, 10**4 // size
    left = bench.load(f"left{many}", uniform(many, 10, 9, domain=many), "rid")
    for mean in (100, 1000):
        right = bench.load(f"right{few}-{mean}", uniform(few, mean, 10, domain=many), "sid")
        ours = tl.join(left, right, columns=COLUMNS, strategy="broadcast")
        for hint, target in (("merge", ">= 3 x"), ("shuffle_hash", ">= 3 x"), ("broadcast", "")):
            case = f"{many:,} x {few:,}, durations 10 and {mean}"
            bench.compare(case, ours, bins(left, right, (100, 400, 1600), hint), target)
        print(f"  broadcast: {bench.shuffled(ours):,} bytes shuffled")


CASES: dict[str, Callable[[Bench, int], None]] = {
    "dense": dense,
    "small": small,
    "short": short,
    **{f"{end}-1e{power}": partial(sinks, rows=10**power, end=end) for power in (6, 7) for end in ENDS},
    "long": long,
    "broadcast": broadcast,
}


if __name__ == "__main__":
    main()
