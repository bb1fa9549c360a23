"""Experiments one after the other, each in a process of its own; results are kept, so that a run can go on."""

import ast
import datetime
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
def state_of_code(module: str) -> str:
    """A hash of all that is measured and of all that measures it; results of other code are made anew.

    That is Timeloom, and what the experiment's module imports of the benchmarks: another figure does not matter.
    """
    found = hashlib.sha256()
    for file in (*sorted(Path(timeloom.__file__).parent.rglob("*.py")), *sorted(imported(module, set()))):
        found.update(file.name.encode())
        found.update(file.read_bytes())
    return found.hexdigest()[:16]


def imported(module: str, seen: set[Path]) -> set[Path]:
    """The files of a module of the benchmarks, and of those that it imports."""
    file = ROOT.joinpath(*module.split(".")).with_suffix(".py")
    if module.startswith("benchmarks.") and file.exists() and file not in seen:
        seen.add(file)
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                for name in (node.module, *(f"{node.module}.{one.name}" for one in node.names)):
                    imported(name, seen)
    return seen


def measure(figure: Figure, scale: str) -> dict[str, Any]:
    """Run one experiment in this process."""
    record, began = Record(), time.perf_counter()
    figure.run(record, figure.sizes[scale])
    spent = round(time.perf_counter() - began, 2)
    return {**record.as_json(), "scale": scale, "spent": spent, **_made(figure)}


def _made(figure: Figure) -> dict[str, str]:
    """When a result is made, and by which state of the code."""
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M")
    return {"measured": now, "code": state_of_code(figure.run.__module__)}


def kept(figure: Figure, scale: str, folder: Path) -> dict[str, Any] | None:
    """The result of an earlier run with the same code and scale."""
    file = folder / f"{figure.name}.{scale}.json"
    if not file.exists():
        return None
    found: dict[str, Any] = json.loads(file.read_text())
    return found if found["code"] == state_of_code(figure.run.__module__) and found["verdict"] != "failed" else None


def run_alone(figure: Figure, scale: str, folder: Path, minutes: float) -> dict[str, Any]:
    """Run one experiment in a process of its own and keep the result; a failure is a result, too."""
    file = folder / f"{figure.name}.{scale}.json"
    command = [sys.executable, "-m", "benchmarks.reproduce", "--paper", figure.paper, "--figure", figure.number]
    command += ["--scale", scale, "--alone", str(file)]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=minutes * 60)
        words = "\n".join(done.stderr.strip().splitlines()[-4:])
        told = "" if done.returncode == 0 else words or f"its process ended with {done.returncode}"
    except subprocess.TimeoutExpired:
        told = f"not ended after {minutes:g} minutes, which --minutes allows each figure"
    if not told:
        found: dict[str, Any] = json.loads(file.read_text())
        return found
    failed = {**Record(reason=told).as_json(), "verdict": "failed", "scale": scale, "spent": 0, **_made(figure)}
    file.write_text(json.dumps(failed))
    return failed


def run_all(
    figures: list[Figure], scale: str, folder: Path, *, again: bool, minutes: float = 10
) -> Iterator[tuple[Figure, dict[str, Any]]]:
    """Results in order, with a bar that tells which experiment is under way."""
    folder.mkdir(parents=True, exist_ok=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("", total=len(figures))
        for figure in figures:
            progress.update(task, description=f"{figure.paper} {figure.number}")
            found = None if again else kept(figure, scale, folder)
            yield figure, found or run_alone(figure, scale, folder, minutes)
            progress.advance(task)
