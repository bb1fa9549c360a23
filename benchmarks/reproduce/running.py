"""Experiments one after the other, each in a process of its own; results are kept, so that a run can go on."""

import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

import timeloom
from benchmarks.reproduce.figures import Figure, Record

ROOT = Path(__file__).parents[2]


@cache
def state_of_code() -> str:
    """A hash of all that is measured and of all that measures; results of other code are made anew."""
    found = hashlib.sha256()
    for folder in (ROOT / "benchmarks", Path(timeloom.__file__).parent):
        for file in sorted(folder.rglob("*.py")):
            found.update(str(file.relative_to(folder)).encode())
            found.update(file.read_bytes())
    return found.hexdigest()[:16]


def measure(figure: Figure, scale: str) -> dict[str, Any]:
    """Run one experiment in this process."""
    record, began = Record(), time.perf_counter()
    figure.run(record, figure.sizes[scale])
    spent = time.perf_counter() - began
    return {**record.as_json(), "scale": scale, "spent": round(spent, 2), "code": state_of_code()}


def kept(figure: Figure, scale: str, folder: Path) -> dict[str, Any] | None:
    """The result of an earlier run with the same code and scale."""
    file = folder / f"{figure.name}.{scale}.json"
    if not file.exists():
        return None
    found: dict[str, Any] = json.loads(file.read_text())
    return found if found["code"] == state_of_code() and found["verdict"] != "failed" else None


def run_alone(figure: Figure, scale: str, folder: Path) -> dict[str, Any]:
    """Run one experiment in a process of its own and keep the result; a failure is a result, too."""
    file = folder / f"{figure.name}.{scale}.json"
    command = [sys.executable, "-m", "benchmarks.reproduce", "--paper", figure.paper, "--figure", figure.number]
    done = subprocess.run(
        [*command, "--scale", scale, "--alone", str(file)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode == 0:
        found: dict[str, Any] = json.loads(file.read_text())
        return found
    told = "\n".join(done.stderr.strip().splitlines()[-4:])
    failed = {**Record(reason=told).as_json(), "verdict": "failed", "scale": scale, "spent": 0, "code": state_of_code()}
    file.write_text(json.dumps(failed))
    return failed


def run_all(figures: list[Figure], scale: str, folder: Path, *, again: bool) -> Iterator[tuple[Figure, dict[str, Any]]]:
    """Results in order, with a bar that tells which experiment is under way."""
    folder.mkdir(parents=True, exist_ok=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("", total=len(figures))
        for figure in figures:
            progress.update(task, description=f"{figure.paper} {figure.number}")
            found = None if again else kept(figure, scale, folder)
            yield figure, found or run_alone(figure, scale, folder)
            progress.advance(task)
