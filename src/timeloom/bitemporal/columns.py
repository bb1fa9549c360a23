"""The four time columns of a bitemporal history, as arrays that grow at the end."""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.bitemporal.arrival import reached
from timeloom.kernels.bitemporal.windows import BEGAN, Code, Ticks, per_axis
from timeloom.model.ticks import FOREVER, MIN_TICK


@dataclass(frozen=True)
class GrowingArray:
    """An array with room to grow, which it shares with the shorter arrays that it grew from.

    Only the longest may grow further, so whoever holds a shorter one keeps what it holds.
    """

    room: NDArray[np.int64] | NDArray[np.int32]
    size: int = 0

    @classmethod
    def of(cls, values: NDArray[np.int64] | NDArray[np.int32]) -> "GrowingArray":
        """Hold these values."""
        return cls(values, values.size)

    def appended(self, values: NDArray[np.int64] | NDArray[np.int32]) -> "GrowingArray":
        """This array and more values at its end."""
        room, wanted = self.room, self.size + values.size
        if wanted > room.size:
            room = np.empty(max(wanted, room.size + room.size // 4, 1024), room.dtype)
            room[: self.size] = self.room[: self.size]
        room[self.size : wanted] = values
        return GrowingArray(room, wanted)

    def changed(self, positions: Ticks, values: "Ticks | int") -> "GrowingArray":
        """A copy with other values at some positions."""
        room = self.room.copy()
        room[positions] = values
        return GrowingArray(room, self.size)

    @property
    def values(self) -> NDArray[np.int64]:
        """What is held now."""
        return self.room[: self.size]  # type: ignore[return-value]


def _ticks() -> GrowingArray:
    return GrowingArray(np.empty(0, np.int64))


@dataclass(frozen=True)
class TimeColumns:
    """Rows in order of system start. Rows with an empty period lie at FOREVER, where no window reaches them.

    A system end after ``latest`` may be written by a later state that shares the array, and counts as open here.
    """

    sys_start: GrowingArray = field(default_factory=_ticks)
    sys_end: GrowingArray = field(default_factory=_ticks)
    app_start: GrowingArray = field(default_factory=_ticks)
    app_end: GrowingArray = field(default_factory=_ticks)
    latest: int = MIN_TICK

    def __len__(self) -> int:
        return self.sys_start.size

    def appended(self, sys_start: Ticks, sys_end: Ticks, app_start: Ticks, app_end: Ticks) -> "TimeColumns":
        """More rows, sorted by system start, none of which starts before ``latest``."""
        if not sys_start.size:
            return self
        latest, all_last = reached(sys_start, sys_end, app_start, app_end)
        if not all_last:
            never = (sys_end <= sys_start) | (app_end <= app_start)
            app_start, app_end = np.where(never, FOREVER, app_start), np.where(never, FOREVER, app_end)
        return TimeColumns(
            self.sys_start.appended(sys_start),
            self.sys_end.appended(sys_end),
            self.app_start.appended(app_start),
            self.app_end.appended(app_end),
            max(self.latest, latest),
        )

    def closed(self, rows: Ticks, at: Ticks, published: int) -> "TimeColumns":
        """End open rows. States whose latest instant is ``published`` or earlier keep what they see.

        They count nothing after their latest instant, so only an end at that very instant needs fresh arrays.
        A row that ends when it starts has never been visible.
        """
        if not rows.size:
            return self
        latest = max(self.latest, int(at.max()))
        if int(at.min()) > published:
            self.sys_end.room[rows] = at
            return replace(self, latest=latest)
        never = rows[self.sys_start.values[rows] == at]
        return TimeColumns(
            self.sys_start,
            self.sys_end.changed(rows, at),
            self.app_start.changed(never, FOREVER),
            self.app_end.changed(never, FOREVER),
            latest,
        )

    def reopen(self, rows: Ticks) -> None:
        """Undo `closed` for a state that is given up."""
        self.sys_end.room[rows] = FOREVER

    def view(self) -> "View":
        """Pin the present rows for reading."""
        return View(self.sys_start.values, self.sys_end.values, self.app_start.values, self.app_end.values, self.latest)


@dataclass(frozen=True)
class View:
    """The rows up to the latest system time, unmoved by what is appended or ended later."""

    sys_start: Ticks
    sys_end: Ticks
    app_start: Ticks
    app_end: Ticks
    latest: int

    def __len__(self) -> int:
        return self.sys_start.size

    @property
    def sys_ends(self) -> Ticks:
        """The system ends that this view knows of; the others are open."""
        return np.where(self.sys_end > self.latest, FOREVER, self.sys_end)

    def keys(self, meaning: Code) -> tuple[Ticks, Ticks, Ticks, Ticks]:
        """The columns that decide whether a row is inside: starts, and ends (or starts again) on both axes."""
        sys, app = per_axis(meaning)
        sys_key = self.sys_start if sys == BEGAN else self.sys_end
        return self.sys_start, sys_key, self.app_start, self.app_start if app == BEGAN else self.app_end

    def arrived(self, instant: int) -> int:
        """Count the rows whose system start is at or before the instant."""
        return int(np.searchsorted(self.sys_start, instant, side="right"))
