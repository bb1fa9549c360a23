"""Several ways to one answer: answers are compared first, then times are taken in turns."""

import gc
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

ENOUGH = 0.6
"""A way is run again, in turns with the others, until it has had so many seconds in all; but at least once if the first
run may have compiled it."""

TURNS = 6
INF = float("inf")


class AnswersDifferError(AssertionError):
    """Two ways do not say the same."""


class Contest:
    """Ways by their names, and what is compared of their answers.

    A way that has taken longer than the limit is left out from then on.
    """

    def __init__(
        self,
        ways: Mapping[str, Callable[..., Any]],
        digest: Callable[[Any], Any] = lambda answer: answer,
        limit: float = INF,
    ) -> None:
        self.ways, self.digest, self.limit = dict(ways), digest, limit
        self.stopped: dict[str, float] = {}
        self.cold = set(ways)
        self.answer: Any = None

    def warm(self, *data: Any) -> None:
        """Compile on data that are small enough for all, and compare the answers there, too."""
        self._compare({name: self.digest(way(*data)) for name, way in self.ways.items()})
        self.cold.clear()

    def race(self, *data: Any) -> dict[str, float]:
        """Seconds of each way that is left, the best of some turns."""
        gc.collect()
        answers, best, had = {}, {}, {}
        for name, way in self._left():
            answer, best[name] = _once(way, data)
            had[name] = best[name]
            answers[name] = self.digest(answer)
            del answer
        self._compare(answers)
        answers.clear()
        for _ in range(TURNS):
            for name, way in self._left():
                if had[name] < ENOUGH or name in self.cold:
                    self.cold.discard(name)
                    spent = _once(way, data)[1]
                    best[name], had[name] = min(best[name], spent), had[name] + spent
        self.stopped |= {name: spent for name, spent in best.items() if spent > self.limit}
        return best

    def _left(self) -> list[tuple[str, Callable[..., Any]]]:
        return [(name, way) for name, way in self.ways.items() if name not in self.stopped]

    def _compare(self, answers: dict[str, Any]) -> None:
        first, *others = answers
        for name in others:
            if not same(answers[first], answers[name]):
                raise AnswersDifferError(f"{name} does not answer as {first} does")
        self.answer = answers[first]


def _once(way: Callable[..., Any], data: tuple[Any, ...]) -> tuple[Any, float]:
    began = time.perf_counter()
    answer = way(*data)
    return answer, time.perf_counter() - began


def same(one: Any, other: Any) -> bool:
    """Equal answers; arrays are compared whole, tuples part by part."""
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, np.ndarray):
        return bool(np.array_equal(one, other))
    return bool(one == other)


def pairs(answer: tuple[np.ndarray, np.ndarray]) -> tuple[int, int]:
    """What is compared of pairs of positions."""
    return fingerprint(*answer)


def fingerprint(lefts: np.ndarray, rights: np.ndarray) -> tuple[int, int]:
    """The number of pairs, and a sum that depends on which pairs they are, not on their order."""
    mixed = lefts.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) ^ rights.astype(np.uint64)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return lefts.size, int((mixed ^ (mixed >> np.uint64(31))).sum())
