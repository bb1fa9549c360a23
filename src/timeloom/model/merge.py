"""A merge as data: how a feed of changes is read, and the history that it changes."""

from dataclasses import dataclass
from typing import Literal

from timeloom.errors import UsageError, did_you_mean, shown
from timeloom.model.period import Period

Late = Literal["error", "now"]
LATE: tuple[Late, ...] = ("error", "now")


@dataclass(frozen=True)
class MergeRequest:
    """One call of ``merge``."""

    key: tuple[str, ...]
    op: str
    sys: str
    order: tuple[str, ...]
    late: Late
    sys_period: Period
    app_period: Period
    without_overlaps: bool

    def __post_init__(self) -> None:
        if not self.key:
            raise UsageError("key= names no columns; give those, one or a list, that say what a fact is about")
        if self.late not in LATE:
            raise UsageError(f"late={shown(self.late)} is unknown. {did_you_mean(str(self.late), LATE)}")
        for option, period in (("sys_period", self.sys_period), ("app_period", self.app_period)):
            if period.is_instant:
                raise UsageError(
                    f"{option}={period.start!r} is a column of instants; a history has periods: give two columns"
                )
