"""Sequenced joins whose pairs are judged: what is alone is what no pair that passes covers.

A row is then alone or not by itself, whatever its key. So the pairs that pass are subtracted from the rows that they
belong to, each row having a key of its own.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from timeloom.engines.joins.pairs import PAGE, Tally
from timeloom.engines.joins.problem import Side
from timeloom.engines.resources.threads import look_up
from timeloom.engines.tables.gather import NO_ROW
from timeloom.engines.timelines.sequenced import Shared, TwoSides
from timeloom.kernels.sequenced.difference import Pieces

KeepShared = Callable[[Shared], NDArray[np.bool_]]
"""Tells which pairs, with the time that they share, pass."""


def passing(sides: TwoSides, algorithm: str, keep: KeepShared, m: int = 0, rows: int = PAGE) -> Iterator[Shared]:
    """The pairs that pass, page by page; no others are kept."""
    for page in sides.batches(algorithm, rows, m):
        look_up()
        kept = keep(page)
        left, right, starts, ends = page
        yield page if kept.all() else Shared(left[kept], right[kept], starts[kept], ends[kept])


def judged_rows(
    sides: TwoSides, how: str, algorithm: str, keep: KeepShared, most: int | None = None, m: int = 0
) -> list[Shared]:
    """All result rows of a join whose pairs are judged: the pairs, and what an outer join keeps of either side."""
    tally, found = Tally(most), []
    for page in passing(sides, algorithm, keep, m):
        tally.add(page.left.size)
        found.append(page)
    return [*found, *remainders(sides, found, how)]


def remainders(sides: TwoSides, found: Sequence[Shared], how: str) -> Iterator[Shared]:
    """What an outer join keeps beside the pairs that pass; of an anti-join the only rows."""
    if how in ("left", "full", "anti"):
        rows, starts, ends = _by_row(sides, found).alone("cover")
        yield Shared(rows, np.full(rows.size, NO_ROW, np.int32), starts, ends)
    if how in ("right", "full"):
        rows, starts, ends = _by_row(sides, found, flip=True).alone("cover")
        yield Shared(np.full(rows.size, NO_ROW, np.int32), rows, starts, ends)


def covered(sides: TwoSides, found: Sequence[Shared]) -> Pieces:
    """The maximal sub-periods of left rows in which some pair passes."""
    return _by_row(sides, found).together()


def _by_row(sides: TwoSides, found: Sequence[Shared], *, flip: bool = False) -> TwoSides:
    """The rows of a side, each with a key of its own, and the pairs with the keys of their rows."""
    mine = sides.right if flip else sides.left
    rows = [page.right if flip else page.left for page in found]
    owners = np.concatenate(rows).astype(np.int64) if rows else np.zeros(0, np.int64)
    starts, ends = (np.concatenate([page[at] for page in found] or [np.zeros(0, np.int64)]) for at in (2, 3))
    own = Side(mine.starts, mine.ends, np.arange(len(mine), dtype=np.int64))
    return TwoSides(own, Side(starts, ends, owners), len(mine), sides.threads)
