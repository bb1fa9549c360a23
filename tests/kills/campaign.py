"""A stream that is killed, paused and started again at random instants: each pair once, every event accounted for."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reference.certainty import certain_from
from reference.relations import RELATIONS, join_pairs
from stream_files import instant, write

Spans = dict[str, list[tuple[int, int]]]
"""The periods of each key."""

STREAM = """\
name: crossings
stream:
  left: &side
    format: json
    path: left
    schema: {key: string, id: bigint, time: timestamp, event: string}
    options: {maxFilesPerTrigger: 1}
  right: {<<: *side, path: right}
  join: {relation: overlaps, on: key, watermark: 0 seconds}
  sink: {path: out/pairs, format: json}
  checkpoint: out/checkpoint
  trigger: 100 milliseconds
spark: {master: "local[2]", conf: {spark.sql.shuffle.partitions: 2, spark.sql.session.timeZone: UTC}}
"""
STRAY = 1000
"""An id whose end comes without a start."""


def campaign(folder: Path, kills: int, seed: int, say: Callable[..., None] = print) -> int:
    """Kill a stream so many times, let it end, and hold its results against brute force; how many there are."""
    chance = random.Random(seed)
    rows = {side: _rows(chance, 4 * kills + 4) for side in ("left", "right")}
    (folder / "s.yml").write_text(STREAM)
    files = _write(folder, rows, 3 * (kills + 1), chance)
    for number in range(kills):
        _publish(files[: len(files) * (number + 1) // (kills + 1)])
        process = _started(folder)
        _let_it_run(folder, process, chance)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        say(f"kill {number + 1}: {_noted(folder, 'commits')} micro-batches so far", flush=True)
    _publish(files)
    once = [*_command(), "--once"]
    ended = subprocess.run(once, check=False, cwd=folder, env=_environment(), capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    found = _results(folder)
    pairs = sorted((row["key"], row["left_id"], row["right_id"], row["at"]) for row in found if "reason" not in row)
    assert pairs == _expected(rows), "pairs were lost, came twice, or at another instant"
    strays = [row for row in found if row.get("reason") == "ends without having started"]
    assert len(strays) == 2 * len(rows["left"]), "a refused event was lost, or came twice"
    assert len(found) == len(pairs) + len(strays)
    return len(pairs)


def _rows(chance: random.Random, length: int) -> Spans:
    starts = [[chance.randrange(length) for _ in range(length)] for _ in "abc"]
    spans = [[(start, start + 1 + chance.randrange(9)) for start in some] for some in starts]
    return dict(zip("abc", spans, strict=True))


def _write(folder: Path, rows: dict[str, Spans], parts: int, chance: random.Random) -> list[Path]:
    """The events of both sides in files that nobody sees yet, by time; the last ones let the watermark pass all."""
    for side, table in rows.items():
        events = [
            (key, number, minute, word)
            for key, spans in table.items()
            for number, span in enumerate(spans)
            for minute, word in zip(span, ("start", "end"), strict=True)
        ]
        events += [(key, STRAY, chance.randrange(1, 30), "end") for key in table]
        last = max(event[2] for event in events)
        cuts = [-1, *(last * part // parts for part in range(1, parts)), last]
        for number in range(parts):
            some = [event for event in events if cuts[number] < event[2] <= cuts[number + 1]]
            write(folder / "hidden" / side, number, some)
        write(folder / "hidden" / side, parts, [("end", 1, 10_000, "start")])
    return [folder / "hidden" / side / f"{number}.json" for number in range(parts + 1) for side in rows]


def _publish(files: list[Path]) -> None:
    for file in files:
        place = file.parents[2] / file.parent.name / file.name
        place.parent.mkdir(exist_ok=True)
        if file.exists():
            file.rename(place)


def _let_it_run(folder: Path, process: "subprocess.Popen[str]", chance: random.Random) -> None:
    """Wait for some micro-batches to begin and then for a random time, in which the stream may be paused once."""
    wanted, patience = _noted(folder, "offsets") + chance.randrange(3), time.monotonic() + 240
    while _noted(folder, "offsets") <= wanted and time.monotonic() < patience:
        time.sleep(0.01)
    time.sleep(chance.uniform(0, 1.5))
    if chance.random() < 0.5:
        os.killpg(process.pid, signal.SIGSTOP)
        time.sleep(chance.uniform(0, 2))
        os.killpg(process.pid, signal.SIGCONT)
        time.sleep(chance.uniform(0, 2))
    assert process.poll() is None, process.stderr and process.stderr.read()


def _started(folder: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        _command(), cwd=folder, env=_environment(), stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def _command() -> list[str]:
    return [sys.executable, "-m", "timeloom.cli", "stream", "s.yml"]


def _environment() -> dict[str, str]:
    return {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}


def _noted(folder: Path, what: str) -> int:
    """How many micro-batches have begun (offsets), or are over (commits), as far as the checkpoint knows."""
    return max((int(file.name) + 1 for file in (folder / "out/checkpoint" / what).glob("[0-9]*")), default=0)


def _results(folder: Path) -> list[dict[str, Any]]:
    """The rows of the files that the sink's log has: others are what killed batches left behind."""
    log = folder / "out/pairs/_spark_metadata"
    compacted = [int(file.stem) for file in log.glob("[0-9]*.compact")]
    newest = max(compacted, default=-1)
    logs = [log / f"{newest}.compact"] if compacted else []
    logs += [file for file in log.glob("[0-9]*") if file.name.isdigit() and int(file.name) > newest]
    entries = [json.loads(line) for file in logs for line in file.read_text().splitlines()[1:] if line]
    files = [folder / "out/pairs" / entry["path"].rpartition("/")[2] for entry in entries]
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def _expected(rows: dict[str, Spans]) -> list[tuple[str, int, int, str]]:
    holds = RELATIONS["overlaps"]
    return sorted(
        (key, i, j, _shown(certain_from(holds, rows["left"][key][i], rows["right"][key][j])))
        for key in rows["left"]
        for i, j in join_pairs(rows["left"][key], rows["right"][key], holds)
    )


def _shown(minute: int) -> str:
    """An instant as Spark writes it."""
    return instant(minute).isoformat().replace("+00:00", ".000Z")
