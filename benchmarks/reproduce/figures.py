"""What an experiment of a paper is, what a run of it yields, and the list of all of them."""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from benchmarks.reproduce.rule import HOLDING, Grade, Kind, grade_of, grade_of_growth

Verdict = Literal["confirmed", "confirmed in part", "refuted", "not comparable", "failed"]

PAPERS = {
    "counting": "Interval Count Semi-Joins (EDBT 2018)",
    "stab-forest": "Stab-Forests: Dynamic Data Structures for Efficient Temporal Query Processing (TIME 2020)",
    "sweeping": "Cache-efficient sweeping-based interval joins for extended Allen relation predicates (VLDBJ 2021)",
    "dip": "Disjoint Interval Partitioning (VLDBJ 2017)",
    "thesis": "Bitemporal sliding windows (thesis, 2014)",
}
SCALES = ("tiny", "small", "full")


@dataclass(frozen=True)
class Axis:
    """What one axis of a plot shows."""

    title: str
    log: bool = False
    named: bool = False
    """Values are names, not numbers."""


@dataclass(frozen=True)
class Finding:
    """One statement of the paper beside what was measured."""

    says: str
    paper: str
    measured: str
    grade: Grade


@dataclass
class Record:
    """What a run of an experiment has found so far."""

    points: list[dict[str, Any]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    checks: list[str] = field(default_factory=list)
    reason: str = ""
    """Why nothing can be compared, if that is so."""

    def point(self, series: str, x: Any, y: float, panel: str = "") -> None:
        """A mark of the plot."""
        self.points.append({"panel": panel, "series": series, "x": x, "y": float(y)})

    def checked(self, told: str) -> None:
        """An answer that was compared before times were taken."""
        if told not in self.checks:
            self.checks.append(told)

    def finding(self, says: str, paper: str, measured: str, holds: "bool | Grade") -> None:
        grade: Grade = ("yes" if holds else "no") if isinstance(holds, bool) else holds
        self.findings.append(Finding(says, paper, measured, grade))

    def judge(self, kind: Kind, says: str, paper: str, ratio: float, stated: float = 1.0) -> None:
        """A ratio, judged by the rule for its kind of statement."""
        self.finding(says, paper, times(ratio), grade_of(kind, ratio, stated))

    def grows(self, says: str, paper: str, exponent: float, least: float = 0.0, most: float = math.inf) -> None:
        """A cost that grows with n as the paper says: to a power from ``least`` to ``most``."""
        self.finding(says, paper, f"n^{exponent:.1f}", grade_of_growth(exponent, least, most))

    def aside(self, says: str, measured: str) -> None:
        """A measurement of our own that explains; the paper did not make it, so it has no part in the verdict."""
        self.findings.append(Finding(says, "not in the paper", measured, "aside"))

    @property
    def verdict(self) -> Verdict:
        grades = {finding.grade for finding in self.findings} - {"aside"}
        if not grades:
            return "not comparable"
        if grades <= set(HOLDING):
            return "confirmed"
        return "refuted" if grades == {"no"} else "confirmed in part"

    def as_json(self) -> dict[str, Any]:
        """What the report is made of."""
        return {**asdict(self), "verdict": self.verdict}


def judge_statistics(record: Record, table: str, drawn: Mapping[str, Mapping[str, float]]) -> None:
    """How near data are to a table of the paper: each statistic as a share of the one that the table has."""
    for name, shares in drawn.items():
        for key, share in shares.items():
            record.point(name, key, share)
    worst = max(abs(share - 1) for shares in drawn.values() for share in shares.values())
    record.finding("data have the table's statistics", table, f"within {worst:.1%}", worst < 0.05)


def times(ratio: float) -> str:
    """A ratio as people read it."""
    return f"{ratio:.2g} x" if ratio < 10 else f"{ratio:,.0f} x"


@dataclass(frozen=True)
class Figure:
    """One table or figure of a paper that measures something."""

    paper: str
    number: str
    title: str
    statement: str
    """What the paper says, in our words."""
    x: Axis
    y: Axis
    sizes: Mapping[str, Any]
    """What the runner is given at each scale."""
    run: Callable[[Record, Any], None]
    mark: Literal["line", "bar", "stacked"] = "line"
    """Lines, bars side by side, or bars that stand on each other."""
    learned: str = ""
    """How our set-up differs, and why the verdict is what it is."""

    @property
    def name(self) -> str:
        return f"{self.paper}-{self.number.replace(' ', '-')}"

    def command(self, scale: str) -> str:
        """The line that runs this experiment alone."""
        number = f"'{self.number}'" if " " in self.number else self.number
        return f"python -m benchmarks.reproduce --paper {self.paper} --figure {number} --scale {scale}"


FIGURES: list[Figure] = []


def figure(paper: str, number: str, title: str, **rest: Any) -> Callable[[Callable[[Record, Any], None]], Any]:
    """Register the function that runs an experiment."""

    def register(run: Callable[[Record, Any], None]) -> Callable[[Record, Any], None]:
        FIGURES.append(Figure(paper, number, title, run=run, **rest))
        return run

    return register
