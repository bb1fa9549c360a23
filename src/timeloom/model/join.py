"""The relation join as data: what was asked, checked once, for every engine."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, get_args

from timeloom.errors import UsageError, did_you_mean, shown
from timeloom.model.allen import intersects
from timeloom.model.box import Box
from timeloom.model.conditions import Condition
from timeloom.model.naming import Keys, OutputColumn, joined_columns
from timeloom.model.period import Period
from timeloom.model.policy import Policy
from timeloom.model.relation import Relation
from timeloom.model.ticks import Span, parse_span

_SHARE = re.compile(r"\s*(left|right|shorter)[\s,:]+(\d*\.?\d+)\s*", re.IGNORECASE)

HOWS = {
    "inner": ("inner", "cross"),
    "left": ("left", "leftouter", "left_outer"),
    "right": ("right", "rightouter", "right_outer"),
    "full": ("full", "outer", "fullouter", "full_outer"),
    "semi": ("semi", "leftsemi", "left_semi"),
    "anti": ("anti", "leftanti", "left_anti"),
}
How = Literal["inner", "left", "right", "full", "semi", "anti"]
JoinAlgorithm = Literal["auto", "forward_scan", "sweep", "range_tree", "skip"]
Strategy = Literal["auto", "broadcast", "slices", "keys"]


@dataclass(frozen=True)
class JoinRequest:
    """One call of the relation join."""

    relation: Relation
    keys: Keys
    how: str
    left_period: Period
    right_period: Period
    policy: Policy
    overlap: bool | str = False
    suffixes: tuple[str, str] = ("", "_right")
    columns: tuple[str, ...] | None = None
    algorithm: str = "auto"
    strategy: str = "auto"
    max_rows: int | None = None
    window: tuple[Any, Any] | None = None
    where: Condition | None = None
    min_overlap: "MinOverlap | None" = None

    def __post_init__(self) -> None:
        choose("algorithm", self.algorithm, get_args(JoinAlgorithm))
        choose("strategy", self.strategy, get_args(Strategy))
        check_max_rows(self.max_rows)
        object.__setattr__(self, "how", join_kind(self.how))
        check_window(self.window)
        object.__setattr__(self, "suffixes", suffix_pair(self.suffixes))
        if not isinstance(self.overlap, bool):
            choose("overlap", self.overlap, ("length",))
        if self.overlap and self.how in ("semi", "anti"):
            raise UsageError(
                f"overlap={self.overlap!r} needs pairs of rows, but how={self.how!r} returns left rows only"
            )
        for side, period, names in (
            ("left", self.left_period, self.keys.left),
            ("right", self.right_period, self.keys.right),
        ):
            for name in names:
                if name in period.columns:
                    raise UsageError(
                        f"{name!r} is a period column of the {side} table and cannot be an equality key; "
                        "on= is for keys, the relation compares the periods"
                    )

    def read_columns(self, left: Sequence[str], right: Sequence[str]) -> "dict[str, OutputColumn]":
        """The columns of a pair that the condition reads, by the names that it has for them."""
        if self.where is None:
            return {}
        known = joined_columns(left, right, self.keys, suffixes=self.suffixes, overlap=self.overlap)
        by_name = {column.name: column for column in known}
        return {name: by_name[output] for name, output in self.where.resolve(list(by_name)).items()}


def check_window(window: tuple[Any, Any] | None) -> None:
    """Refuse a window without a begin."""
    if window is not None and window[0] is None:
        raise UsageError(f"window={shown(window)} has no begin; give two instants, (begin, end), or None as the end")


@dataclass(frozen=True)
class MinOverlap:
    """How much two periods must share: so much time, or this fraction of the left, the right or the shorter one."""

    span: Span | None = None
    of: str = ""
    fraction: Fraction = Fraction(0)

    @classmethod
    def read(cls, given: Any) -> "MinOverlap":
        """Read ``10``, ``"5 minutes"``, ``("shorter", 0.5)`` or, as a command line has it, ``"shorter 0.5"``."""
        if isinstance(given, str) and (share := _SHARE.fullmatch(given)):
            given = share[1].lower(), Fraction(share[2])
        if not isinstance(given, tuple | list):
            span = parse_span(given, "min_overlap")
            if (span if isinstance(span, int) else span.total_seconds()) <= 0:
                raise UsageError(f"min_overlap={shown(given)} asks for no time; give more than zero")
            return cls(span)
        of, part = given if len(given) == 2 else ("", None)
        if not isinstance(of, str) or of not in ("left", "right", "shorter") or not _is_share(part):
            raise UsageError(
                f"min_overlap={shown(given)} is no share; give ('left', 0.5), ('right', 0.5) or ('shorter', 0.5), more "
                "than 0 and at most 1"
            )
        return cls(None, of, Fraction(str(part)))

    @property
    def relation(self) -> Relation:
        """What the endpoints of two periods that share so much have in common; a share is judged pair by pair."""
        if self.span is None:
            return intersects
        return Relation.of([Box(start_end=(None, -self.span), end_start=(self.span, None))], f"sharing {self.span}")


def _is_share(part: object) -> bool:
    return isinstance(part, int | float | Fraction) and not isinstance(part, bool) and 0 < part <= 1


def near(max_gap: Span) -> Relation:
    """Periods that share an instant, or between which there is at most this much time."""
    return Relation.of([Box(start_end=(None, max_gap), end_start=(-max_gap, None))], f"at most {max_gap} apart")


def check_max_rows(max_rows: int | None) -> None:
    """Refuse a limit of rows that is none."""
    if max_rows is not None and max_rows < 0:
        raise UsageError(f"max_rows={max_rows} is no number of rows; give 0 or more, or None for what memory holds")


def refuse_max_rows(max_rows: int | None) -> None:
    """Refuse the limit where no engine can keep it."""
    if max_rows is not None:
        raise UsageError(
            "max_rows= is for local tables; on Spark the rows leave in batches, and DataFrame.limit cuts them off"
        )


def join_kind(how: str, allowed: Sequence[str] = tuple(HOWS)) -> str:
    """Read ``how``, also in Spark's spellings."""
    for kind, spellings in HOWS.items():
        if isinstance(how, str) and how.lower() in spellings and kind in allowed:
            return kind
    raise UsageError(f"how={shown(how)} is unknown. {did_you_mean(how, allowed)}")


def choose(option: str, value: object, known: Sequence[str]) -> None:
    """Refuse a value that is not among the known ones."""
    if not isinstance(value, str) or value not in known:
        raise UsageError(f"{option}={shown(value)} is unknown. {did_you_mean(value, known)}")


def suffix_pair(suffixes: object) -> tuple[str, str]:
    """Read the two suffixes for equal column names."""
    pair = tuple(suffixes) if isinstance(suffixes, tuple | list) else ()
    if len(pair) != 2 or not all(isinstance(suffix, str) for suffix in pair):
        raise UsageError(f"suffixes={shown(suffixes)} is no pair of texts; give two, such as ('', '_right')")
    return pair[0], pair[1]
