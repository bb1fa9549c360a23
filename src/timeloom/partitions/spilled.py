"""Partitions larger than memory: sorted runs on disk are merged, assigned, and laid out in memory-mapped files.

Every pass reads and writes its files from front to back, a block at a time (DIP paper, lemmas 6, 8 and 10).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.order import MAX_ROWS, Positions, Ticks, sort
from timeloom.kernels.sequenced.dip import Partitions, assign_on, lay_out
from timeloom.partitions.growing import Assigned

Block = tuple[Ticks, Ticks, Positions]


@dataclass(frozen=True)
class Run:
    """Rows by start in three files."""

    files: tuple[Path, Path, Path]
    rows: int

    @classmethod
    def write(cls, directory: Path, name: str, block: Block) -> "Run":
        """Write a sorted block."""
        files = directory / f"{name}.starts", directory / f"{name}.ends", directory / f"{name}.rows"
        block[0].tofile(files[0])
        block[1].tofile(files[1])
        block[2].tofile(files[2])
        return cls(files, block[0].size)

    def read(self, first: int, last: int) -> Block:
        """Some rows."""
        counts = last - first
        starts, ends = (np.fromfile(file, np.int64, counts, offset=8 * first) for file in self.files[:2])
        return starts, ends, np.fromfile(self.files[2], np.int32, counts, offset=4 * first)

    def remove(self) -> None:
        """Delete the files."""
        for file in self.files:
            file.unlink()


def spill(batches: Iterable[tuple[Ticks, Ticks]], directory: Path, run_rows: int) -> Assigned:
    """Make partitions of batches of rows; at most about ``run_rows`` rows are in memory at once."""
    runs = list(_runs(batches, directory, run_rows))
    size = sum(run.rows for run in runs)
    if size > MAX_ROWS:
        raise OverflowError(f"{size} rows; at most {MAX_ROWS} can be partitioned")
    starts, ends = (mapped(directory / name, np.int64, size) for name in ("by_start.starts", "by_start.ends"))
    rows, number = (mapped(directory / name, np.int32, size) for name in ("by_start.rows", "by_start.numbers"))
    last_ends, names = np.empty(0, np.int64), np.empty(0, np.int32)
    at = count = 0
    for block in _merged(runs, max(1, run_rows // max(1, len(runs)))):
        part = slice(at, at + block[0].size)
        starts[part], ends[part], rows[part] = block
        if last_ends.size < count + block[0].size:
            last_ends = np.append(last_ends[:count], np.empty(count + 2 * block[0].size, np.int64))
            names = np.append(names[:count], np.empty(count + 2 * block[0].size, np.int32))
        count = assign_on(block[0], block[1], number[part], last_ends, names, count)
        at = part.stop
    for run in runs:
        run.remove()
    known = Assigned(starts, ends, rows, number, count)
    return replace(known, laid_out=_laid_out(known, directory, run_rows))


def mapped(file: Path, kind: type[np.generic], size: int) -> NDArray[Any]:
    """An array in a file; nothing can be mapped of an empty one."""
    return np.asarray(np.memmap(file, kind, "w+", shape=(size,))) if size else np.empty(0, kind)


def _runs(batches: Iterable[tuple[Ticks, Ticks]], directory: Path, run_rows: int) -> Iterator[Run]:
    held: list[tuple[Ticks, Ticks]] = []
    rows = runs = begun = 0

    def written() -> Run:
        starts, ends = (np.concatenate([batch[which] for batch in held]) for which in (0, 1))
        by_start = sort(starts, 1, ends)
        block = by_start.values, by_start.beside, (by_start.ids.astype(np.int64) + begun).astype(np.int32)
        return Run.write(directory, f"run_{runs}", block)

    for starts, ends in batches:
        for first in range(0, starts.size, run_rows):
            part = slice(first, first + run_rows)
            held.append((starts[part], ends[part]))
            rows += held[-1][0].size
            if rows >= run_rows:
                yield written()
                begun, runs, rows, held = begun + rows, runs + 1, 0, []
    if held:
        yield written()


def _merged(runs: list[Run], block_rows: int) -> Iterator[Block]:
    """All rows by start: each time all up to the earliest last start of the blocks that are held."""
    read = [0] * len(runs)
    empty = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int32)
    held: list[Block] = [empty] * len(runs)
    while True:
        for at, run in enumerate(runs):
            if not held[at][0].size and read[at] < run.rows:
                last = min(run.rows, read[at] + block_rows)
                held[at], read[at] = run.read(read[at], last), last
        limits = [held[at][0][-1] for at, run in enumerate(runs) if read[at] < run.rows]
        limit = min(limits) if limits else None
        taken = []
        for at, (starts, ends, rows) in enumerate(held):
            stop = starts.size if limit is None else int(np.searchsorted(starts, limit, side="right"))
            taken.append((starts[:stop], ends[:stop], rows[:stop]))
            held[at] = starts[stop:], ends[stop:], rows[stop:]
        starts, ends, rows = (np.concatenate(columns) for columns in zip(*taken, strict=True)) if taken else empty
        if starts.size:
            order = np.lexsort((rows, starts))
            yield starts[order], ends[order], rows[order]
        if limit is None:
            return


def _laid_out(known: Assigned, directory: Path, run_rows: int) -> Partitions:
    offsets, size = np.zeros(known.count + 1, np.int32), known.starts.size
    for first in range(0, size, run_rows):
        offsets[1:] += np.bincount(known.number[first : first + run_rows], minlength=known.count).astype(np.int32)
    np.cumsum(offsets, out=offsets)
    starts, ends = (mapped(directory / name, np.int64, size) for name in ("parts.starts", "parts.ends"))
    rows, at = mapped(directory / "parts.rows", np.int32, size), offsets[:-1].copy()
    for first in range(0, size, run_rows):
        part = slice(first, first + run_rows)
        lay_out(known.number[part], known.starts[part], known.ends[part], known.rows[part], at, starts, ends, rows)
    return Partitions(starts, ends, rows, offsets)
