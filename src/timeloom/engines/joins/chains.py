"""Patterns over several lists of periods: a chain of joins, each next list by one relation, judged by the others."""

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from timeloom.engines.joins.algorithms import find
from timeloom.engines.joins.pairs import Matches, Positions
from timeloom.engines.joins.problem import Problem, Side, Ticks
from timeloom.engines.joins.residual import judged
from timeloom.model.box import Box
from timeloom.model.pattern import Pattern, Step
from timeloom.model.ticks import MAX_TICK, MIN_TICK, Axis

Rows = NDArray[np.int64]


def chained(pattern: Pattern, sides: Mapping[str, Side], keys: int, axis: Axis, threads: int) -> dict[str, Rows]:
    """The matches of a pattern: for each name the positions of its rows."""
    first, steps = pattern.steps(axis)
    rows: dict[str, Rows] = {first: np.arange(len(sides[first]))}
    for step in steps:
        pages = _found(step, rows, sides, keys, axis, threads).positions()
        lefts, rights = (_whole([page[at] for page in pages]) for at in (0, 1))
        rows = {name: known[lefts] for name, known in rows.items()} | {step.name: rights}
    return rows


def chained_in_parts(
    pattern: Pattern, sides: Mapping[str, Side], keys: int, axis: Axis, most: int
) -> Iterator[dict[str, Rows]]:
    """The same, at most so many at a time: no more than as many of each step are in memory at once."""
    first, steps = pattern.steps(axis)

    def extended(rows: dict[str, Rows], rest: tuple[Step, ...]) -> Iterator[dict[str, Rows]]:
        if not rest:
            yield rows
            return
        for lefts, rights in _found(rest[0], rows, sides, keys, axis, 1).batches(most):
            known = {name: found[lefts] for name, found in rows.items()}
            yield from extended(known | {rest[0].name: rights.astype(np.int64)}, rest[1:])

    yield from extended({first: np.arange(len(sides[first]))}, steps)


def _found(
    step: Step, rows: dict[str, Rows], sides: Mapping[str, Side], keys: int, axis: Axis, threads: int
) -> Matches:
    """What is found of the next name, for the rows of those that are bound."""
    bound, new = sides[step.driver.left].pick(rows[step.driver.left]), sides[step.name]
    found = find(Problem.of(bound, new, keys, threads), step.driver.relation.boxes(axis), "auto")
    for other in step.residuals:
        left = sides[other.left].pick(rows[other.left])
        found = judged(found, partial(holds, other.relation.boxes(axis), left, new))
    return found


def holds(boxes: tuple[Box, ...], left: Side, right: Side, lefts: Positions, rights: Positions) -> NDArray[np.bool_]:
    """Which pairs of rows are in any of the boxes."""
    starts, ends = left.starts[lefts], left.ends[lefts]
    corners = [(right.starts[rights], starts), (right.starts[rights], ends)]
    corners += [(right.ends[rights], starts), (right.ends[rights], ends)]
    differences = [_less(a, b) for a, b in corners]
    found = np.zeros(lefts.size, np.bool_)
    for box in boxes:
        fits = np.ones(lefts.size, np.bool_)
        for difference, (low, high) in zip(differences, ticks_of(box), strict=True):
            if low is not None:
                fits &= difference >= low
            if high is not None:
                fits &= difference <= high
        found |= fits
    return found


def ticks_of(box: Box) -> tuple[tuple[int | None, int | None], ...]:
    """The ranges of a box whose spans are ticks."""
    return box.ranges  # type: ignore[return-value]


def _less(a: Ticks, b: Ticks) -> Ticks:
    """A difference that saturates."""
    plain = a - b
    beyond = ((a ^ b) & (a ^ plain)) < 0
    return np.where(beyond, np.where(a < 0, MIN_TICK, MAX_TICK), plain)


def _whole(pages: list[Positions]) -> Rows:
    return np.concatenate([np.empty(0, np.int64), *pages]).astype(np.int64)
