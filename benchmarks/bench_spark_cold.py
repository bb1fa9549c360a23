"""The first call of each verb in a fresh session, against the SQL that users write for it.

Every measurement is a process of its own, with a session that has run nothing but the reading of schemas. Time counts
from the import of Timeloom to the last row; the session itself is there already. Beside the times stand counts that do
not depend on the machine: calls to the JVM while the plan is made, jobs, stages and tasks.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from benchmarks.data.uniform import uniform

OURS, THEIRS = "ours", "theirs"


def written(folder: Path, rows: int) -> None:
    """Two tables as Parquet files of two parts."""
    draw = np.random.default_rng(rows)
    for side, name, seed in (("left", "rid", 1), ("right", "sid", 2)):
        columns = uniform(rows, 10, seed, domain=rows)
        table = pa.table({name: np.arange(rows), **columns})
        table = table.append_column("key", pa.array(draw.integers(0, 100, rows)))
        table = table.append_column("price", pa.array(draw.integers(1, 1000, rows)))
        (folder / side).mkdir(parents=True)
        for part in range(2):
            first, last = rows * part // 2, rows * (part + 1) // 2
            pq.write_table(table.slice(first, last - first), folder / side / f"{part}.parquet")


def measured(case: str, who: str, folder: str, check: bool) -> dict[str, Any]:
    """Run one call in this process, which must be a fresh one."""
    from benchmarks.spark_cold_cases import CASES
    from benchmarks.spark_counters import JvmCalls, jobs_of
    from benchmarks.spark_session import run, session

    spark = session(tempfile.mkdtemp(dir=folder))
    left, right = (spark.read.parquet(f"{folder}/{side}") for side in ("left", "right"))
    began = time.perf_counter()
    imported = began
    with JvmCalls() as calls:
        if who == OURS:
            import timeloom as tl

            imported = time.perf_counter()
            frame = CASES[case].ours(tl, left, right)
        else:
            frame = CASES[case].theirs(left, right)
    planned = time.perf_counter()
    run(frame)()
    done = time.perf_counter()
    found: dict[str, Any] = {"total": done - began, "plan": planned - imported, "run": done - planned}
    run(frame)()
    again = time.perf_counter()
    run(frame)()
    found |= {"again": time.perf_counter() - again, "calls": calls.count, **jobs_of(spark, run(frame))}
    if check:
        found["digest"] = list(
            frame.selectExpr("count(*)", f"sum(CAST(hash({CASES[case].columns}) AS BIGINT))").first() or ()
        )
    spark.stop()
    return found


def in_process(case: str, who: str, folder: Path, check: bool) -> dict[str, Any]:
    """Measure in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.bench_spark_cold", "--one", case, who, str(folder)]
    done = subprocess.run([*command, *["--check"] * check], capture_output=True, text=True, check=True)
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def compare(case: str, folder: Path, repeat: int) -> dict[str, dict[str, Any]]:
    """Both sides in turns: medians of times, the counts of the last run; the answers are checked first."""
    runs: dict[str, list[dict[str, Any]]] = {OURS: [], THEIRS: []}
    for turn in range(repeat):
        for who, found in runs.items():
            found.append(in_process(case, who, folder, check=turn == 0))
    first = [found[0].pop("digest") for found in runs.values()]
    assert first[0] == first[1], f"{case}: {first[0]} is not {first[1]}"
    return {
        who: {name: statistics.median(one[name] for one in found) for name in found[-1]} for who, found in runs.items()
    }


def main() -> None:
    """Compare all cases, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", choices=("small", "full"), default="small")
    parser.add_argument("--rows", nargs="*", type=int)
    parser.add_argument("--cases", nargs="*")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--check", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measured(*given.one, check=given.check)))
        return
    from benchmarks.spark_cold_cases import CASES

    output = Table(title="The first call in a fresh session, and the third; seconds, Timeloom / SQL")
    for name in ("case", "rows", "first", "ratio", "plan", "third", "ratio", "JVM calls", "jobs", "stages", "tasks"):
        output.add_column(name)
    for rows in given.rows or {"small": [10**4], "full": [10**4, 10**6]}[given.scale]:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            written(folder, rows)
            for case in given.cases or CASES:
                output.add_row(case, f"{rows:,}", *shown(compare(case, folder, given.repeat)))
    Console(width=140).print(output)


def shown(found: dict[str, dict[str, Any]]) -> list[str]:
    """The cells of a line."""
    ours, theirs = found[OURS], found[THEIRS]

    def both(name: str) -> str:
        digits = 0 if name in ("calls", "jobs", "stages", "tasks") else 2
        return f"{ours[name]:.{digits}f} / {theirs[name]:.{digits}f}"

    ratios = {name: f"{ours[name] / theirs[name]:.2f} x" for name in ("total", "again")}
    times = [both("total"), ratios["total"], both("plan"), both("again"), ratios["again"]]
    return [*times, *map(both, ("calls", "jobs", "stages", "tasks"))]


if __name__ == "__main__":
    main()
