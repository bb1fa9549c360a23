"""Random pipeline files: checking one ends soon, with faults in plain words or with a pipeline, whatever it holds."""

import random
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from timeloom.errors import TimeloomError
from timeloom.pipeline.definition.check import load
from timeloom.pipeline.definition.secrets import Secrets

WHOLE = """\
engine: local
sources:
  a: {path: a.csv, period: [start, end], keys: key}
  b: {path: b.parquet, period: {start: s, end: e, closed: both, open_end: 9999-12-31}}
steps:
  pairs:
    join: {left: a, right: b, relation: iseql.before, delta: 5 minutes, on: key}
  counted: {sql: "select key, count(*) as n from pairs group by key"}
sinks:
  pairs: {path: out/pairs.parquet}
  counted: {path: out/counted, format: csv, partition_by: [key]}
"""
_BITS = (
    "{", "}", "[", "]", ":", "- ", "&a ", "*a", "<<: *a", "!!python/object:os.system ", "null", "~", "0x7f", "1e999",
    "'", '"', "|\n", ">\n", "? ", "%YAML 1.1\n", "---\n", "\t", "\u0000", "\u202e", "é" * 9, "9" * 400, "${HOME}", "${",
    "engine", "sources", "steps", "sinks", "relation", "period", "on_invalid", "true", "2024-01-01", "[[[[", "join",
)  # fmt: skip


def mutated(rng: random.Random, text: str) -> str:
    """The text with a few pieces cut, doubled, swapped or put in."""
    for _ in range(rng.randint(1, 6)):
        at, length = rng.randrange(len(text) + 1), rng.randint(0, 12)
        kind = rng.randrange(4)
        if kind == 0:
            text = text[:at] + text[at + length :]
        elif kind == 1:
            text = text[:at] + rng.choice(_BITS) + text[at:]
        elif kind == 2:
            text = text[:at] + text[at : at + length] * 2 + text[at + length :]
        else:
            lines = text.splitlines(keepends=True)
            rng.shuffle(lines)
            text = "".join(lines) if rng.random() < 0.2 else text
    return text


def run(seed: int, seconds: float) -> Counter[str]:
    """Check mutated files for some seconds; only our own errors may be raised."""
    rng, stop, told = random.Random(seed), time.monotonic() + seconds, Counter[str]()
    with TemporaryDirectory() as folder:
        file = Path(folder) / "pipeline.yml"
        while time.monotonic() < stop:
            text = mutated(rng, WHOLE)
            file.write_text(text, encoding="utf-8")
            began = time.monotonic()
            try:
                load(str(file), Secrets({}))
                told["accepted"] += 1
            except TimeloomError:
                told["refused"] += 1
            except Exception as error:
                raise AssertionError(f"seed {seed}: {error!r} for the file\n{text}") from error
            assert time.monotonic() - began < 20, f"seed {seed}: this file took too long:\n{text}"
    return told
