"""How many rows a join may write: as many as were asked for at the most, or as many as fit into free memory.

A sample of both sides tells quickly that nearly every join is far from the limit. Only where it is near are the pairs
counted before any is written; and whoever writes stops at the limit, should the sample have been wrong.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import sqrt

import numpy as np
import pyarrow as pa

from timeloom.engines.counts.counting import Counting
from timeloom.engines.joins.pairs import TooManyPairsError
from timeloom.engines.joins.problem import Problem, Side
from timeloom.engines.resources.memory import SHARE, free_bytes, size_of
from timeloom.errors import InvalidInputError
from timeloom.model.box import Box

POSITIONS = 8
"""The bytes that a pair takes as row positions, before its columns are gathered."""

SAMPLED = 4096


@dataclass(frozen=True)
class Limit:
    """The most rows that a result may have, what a row takes, and what to do instead."""

    rows: int | None
    row_bytes: float
    given: bool
    remedy: str

    @classmethod
    def of(cls, max_rows: int | None, row_bytes: float, remedy: str) -> "Limit":
        """The limit that was asked for, or else that of free memory."""
        if max_rows is not None:
            return cls(max_rows, row_bytes, True, remedy)
        free = free_bytes()
        return cls(None if free is None else int(SHARE * free / (row_bytes + POSITIONS)), row_bytes, False, remedy)

    def check(self, problem: Problem, boxes: tuple[Box, ...]) -> None:
        """Refuse a join whose pairs are too many, before any of them is written."""
        if self.rows is None or len(problem.left) * len(problem.right) <= self.rows:
            return
        if self.given or _at_most(problem, boxes) > self.rows:
            self.judge(exact_pairs(problem, boxes))

    def judge(self, rows: int) -> None:
        """Refuse this number of rows if it is above the limit."""
        if self.rows is None or rows <= self.rows:
            return
        size = f"{rows:,} rows, about {size_of(rows * self.row_bytes)}"
        if self.given:
            raise InvalidInputError(
                f"the result would have {size}, but max_rows={self.rows:,}; raise it, or {self.remedy}"
            )
        raise InvalidInputError(
            f"the result would have {size}, more than fits into the memory that is free; {self.remedy}, narrow the "
            "relation or the columns, or give max_rows= to try nevertheless"
        )

    def too_many(self, problem: Problem, boxes: tuple[Box, ...], error: TooManyPairsError) -> Exception:
        """The error for a join that was stopped in the midst of writing."""
        try:
            self.judge(exact_pairs(problem, boxes))
        except InvalidInputError as refusal:
            return refusal
        return error


def exact_pairs(problem: Problem, boxes: tuple[Box, ...]) -> int:
    """How many pairs there are; none is listed."""
    return int(Counting(Problem(problem.left, problem.right, problem.fold, problem.threads), boxes).counts().sum())


def bytes_of(columns: "Iterable[pa.ChunkedArray]") -> float:
    """What a row of these columns takes."""
    return sum(float(column.nbytes) / max(1, len(column)) for column in columns)


def _at_most(problem: Problem, boxes: tuple[Box, ...]) -> float:
    """About how many pairs there are at the most, from a sample of both sides."""
    draw = np.random.default_rng(0)
    left, right = (_sample(side, draw) for side in (problem.left, problem.right))
    found = int(Counting(Problem(left, right, problem.fold), boxes).counts().sum())
    scale = len(problem.left) / len(left) * len(problem.right) / len(right)
    return (found + 4 * sqrt(found) + 4) * scale


def _sample(side: Side, draw: np.random.Generator) -> Side:
    if len(side) <= SAMPLED:
        return side
    return side.pick(draw.integers(0, len(side), SAMPLED))
