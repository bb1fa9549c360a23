"""The first call of each verb in a fresh session, against the SQL that users write for it.

Every measurement is a process of its own, with a session that has run nothing but the reading of schemas. Time counts
from the import of Timeloom to the last row; the session itself is there already. Beside the times stand counts that do
not depend on the machine: calls to the JVM while the plan is made, jobs, stages and tasks. The floor beside a ratio is
that of the same rows sent to tasks that do nothing, against the same SQL: no plan whose rows go to a fresh Python
worker takes less. Two cases of their own are such tasks against reading their rows.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from benchmarks.data.uniform import uniform

OURS, THEIRS, FLOOR = "ours", "theirs", "floor"

COUNTS = ("calls", "jobs", "stages", "tasks")
COLUMNS = ("first", "ratio", "floor", "third", "ratio", "JVM calls", "jobs", "stages", "tasks")
STEPS = ("import", "plan", "run", "driver", "jvm", "workers")
"""What a first call does in turn, and who does it."""


def written(folder: Path, rows: int) -> None:
    """Two tables as Parquet files of two parts."""
    draw = np.random.default_rng(rows)
    for side, name, seed in (("left", "rid", 1), ("right", "sid", 2)):
        columns = uniform(rows, 10, seed, domain=rows)
        table = pa.table({name: np.arange(rows), **columns})
        table = table.append_column("key", pa.array(draw.integers(0, max(1, rows // 100), rows)))
        table = table.append_column("price", pa.array(draw.integers(1, 1000, rows)))
        (folder / side).mkdir(parents=True)
        for part in range(2):
            first, last = rows * part // 2, rows * (part + 1) // 2
            pq.write_table(table.slice(first, last - first), folder / side / f"{part}.parquet")


def measured(case: str, who: str, folder: str, check: bool) -> dict[str, Any]:
    """Run one call in this process, which must be a fresh one."""
    from benchmarks.spark_cold_cases import CASES
    from benchmarks.spark_counters import JvmCalls, jobs_of, processor_seconds
    from benchmarks.spark_session import run, session

    spark = session(tempfile.mkdtemp(dir=folder))
    left, right = (spark.read.parquet(f"{folder}/{side}") for side in ("left", "right"))
    rows = sum(pq.read_metadata(part).num_rows for part in Path(folder, "left").glob("*.parquet"))
    spent = processor_seconds()
    began = time.perf_counter()
    imported = began
    with JvmCalls() as calls:
        if who == OURS:
            import timeloom as tl

            imported = time.perf_counter()
            frame = CASES[case].ours(tl, left, right)
        elif who == FLOOR:
            frame = CASES[case].floor(left, right, rows)
        else:
            frame = CASES[case].theirs(left, right)
    planned = time.perf_counter()
    run(frame)()
    done = time.perf_counter()
    found: dict[str, Any] = {
        "total": done - began,
        "import": imported - began,
        "plan": planned - imported,
        "run": done - planned,
        **{name: now - spent[name] for name, now in processor_seconds().items()},
    }
    run(frame)()
    again = time.perf_counter()
    run(frame)()
    found |= {"again": time.perf_counter() - again, "calls": calls.count}
    if check:
        found |= jobs_of(spark, run(frame))
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


def sides_of(case: str) -> tuple[str, ...]:
    """What is measured of a case: the verb, the SQL, and tasks that do nothing, if it has any."""
    from benchmarks.spark_cold_cases import CASES

    return (OURS, THEIRS, FLOOR) if CASES[case].sent else (OURS, THEIRS)


class Campaign:
    """Measurements, each of which is kept in a file as soon as it is known: one that was stopped goes on from there."""

    def __init__(self, file: Path | None) -> None:
        self.file = file
        kept = file.read_text().splitlines() if file is not None and file.exists() else []
        self.known = [json.loads(line) for line in kept]

    def of(self, case: str, rows: int, who: str) -> list[dict[str, Any]]:
        """What is known of one side of a case."""
        return [one for one in self.known if (one["case"], one["rows"], one["who"]) == (case, rows, who)]

    def measure(self, case: str, rows: int, folder: Path, turns: int) -> None:
        """Both sides in turns, as often as is missing; the answers are checked first."""
        for who in sides_of(case):
            if len(self.of(case, rows, who)) < turns:
                found = in_process(case, who, folder, check=who != FLOOR and not self.of(case, rows, who))
                self.known.append({"case": case, "rows": rows, "who": who, **found})
                if self.file is not None:
                    with self.file.open("a") as kept:
                        kept.write(json.dumps(self.known[-1]) + "\n")
        first = [self.of(case, rows, who)[0]["digest"] for who in (OURS, THEIRS)]
        assert first[0] == first[1], f"{case}: {first[0]} is not {first[1]}"

    def medians(self, case: str, rows: int) -> dict[str, dict[str, Any]]:
        """Medians of times, and the counts of the first run."""
        sides = {who: self.of(case, rows, who) for who in sides_of(case)}
        return {
            who: found[0] | {name: statistics.median(one[name] for one in found) for name in ("total", "again", *STEPS)}
            for who, found in sides.items()
        }


def main() -> None:
    """Compare all cases, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", choices=("small", "full"), default="small")
    parser.add_argument("--rows", nargs="*", type=int)
    parser.add_argument("--only", "--cases", nargs="*", dest="cases", metavar="CASE")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="a file for measurements: what it has already is not measured again")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--check", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measured(*given.one, check=given.check)))
        return
    from benchmarks.spark_cold_cases import CASES

    output = Table(title="The first call in a fresh session, and the third; seconds, Timeloom / SQL")
    where = Table(title="Where the first call goes: seconds by the clock, and of processor time; Timeloom / SQL")
    for table, names in ((output, COLUMNS), (where, STEPS)):
        for name in ("case", "rows", *names):
            table.add_column(name)
    campaign, sizes = Campaign(given.keep), given.rows or {"small": [10**4], "full": [10**4, 10**6]}[given.scale]
    cases = given.cases or list(CASES)
    for rows in sizes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            written(folder, rows)
            for turn, case in product(range(given.repeat), cases):
                campaign.measure(case, rows, folder, turn + 1)
    for rows, case in product(sizes, cases):
        found = campaign.medians(case, rows)
        output.add_row(case, f"{rows:,}", *shown(found))
        where.add_row(case, f"{rows:,}", *(both(found, name) for name in STEPS))
    Console(width=160).print(output, where)


def shown(found: dict[str, dict[str, Any]]) -> list[str]:
    """The cells of a line."""
    ratios = {name: f"{found[OURS][name] / found[THEIRS][name]:.2f} x" for name in ("total", "again")}
    floor = f"{found[FLOOR]['total'] / found[THEIRS]['total']:.2f} x" if FLOOR in found else ""
    times = [both(found, "total"), ratios["total"], floor, both(found, "again"), ratios["again"]]
    return [*times, *(both(found, name) for name in COUNTS)]


def both(found: dict[str, dict[str, Any]], name: str) -> str:
    """A number of either side."""
    digits = 0 if name in COUNTS else 2
    return f"{found[OURS][name]:.{digits}f} / {found[THEIRS][name]:.{digits}f}"


if __name__ == "__main__":
    main()
