"""The four time columns of a bitemporal history, as arrays that grow at the end."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from timeloom.kernels.bisw import BEGAN, Ticks
from timeloom.model.ticks import FOREVER, MIN_TICK


@dataclass
class GrowingArray:
    """An array with room to grow. What was appended stays where it is until the room is used up."""

    room: NDArray[np.int64] | NDArray[np.int32]
    size: int = 0

    @classmethod
    def of(cls, values: NDArray[np.int64] | NDArray[np.int32]) -> "GrowingArray":
        """Hold these values."""
        return cls(values, values.size)

    def append(self, values: NDArray[np.int64] | NDArray[np.int32]) -> None:
        """Add values at the end; a view of the earlier ones, taken before, keeps them."""
        wanted = self.size + values.size
        if wanted > self.room.size:
            grown = np.empty(max(wanted, self.room.size + self.room.size // 4, 1024), self.room.dtype)
            grown[: self.size] = self.room[: self.size]
            self.room = grown
        self.room[self.size : wanted] = values
        self.size = wanted

    @property
    def values(self) -> NDArray[np.int64]:
        """What is held now."""
        return self.room[: self.size]  # type: ignore[return-value]


def _ticks() -> GrowingArray:
    return GrowingArray(np.empty(0, np.int64))


@dataclass
class TimeColumns:
    """Rows in order of system start. Rows with an empty period lie at FOREVER, where no window reaches them."""

    sys_start: GrowingArray = field(default_factory=_ticks)
    sys_end: GrowingArray = field(default_factory=_ticks)
    app_start: GrowingArray = field(default_factory=_ticks)
    app_end: GrowingArray = field(default_factory=_ticks)
    latest: int = MIN_TICK

    def __len__(self) -> int:
        return self.sys_start.size

    def append(self, sys_start: Ticks, sys_end: Ticks, app_start: Ticks, app_end: Ticks) -> None:
        """Add rows, sorted by system start, none of which starts before ``latest``."""
        if not sys_start.size:
            return
        never = (sys_end <= sys_start) | (app_end <= app_start)
        if never.any():
            app_start, app_end = np.where(never, FOREVER, app_start), np.where(never, FOREVER, app_end)
        self.sys_start.append(sys_start)
        self.sys_end.append(sys_end)
        self.app_start.append(app_start)
        self.app_end.append(app_end)
        known = sys_end[sys_end != FOREVER]
        self.latest = max(self.latest, int(sys_start[-1]), int(known.max(initial=MIN_TICK)))

    def end(self, rows: Ticks, at: Ticks, published: int) -> None:
        """End open rows. Views that were taken when ``published`` was the latest instant keep what they see.

        A view counts nothing after its latest instant, so only an end at that very instant needs fresh arrays.
        A row that ends when it starts has never been visible.
        """
        if not rows.size:
            return
        if int(at.min()) <= published:
            for column in (self.sys_end, self.app_start, self.app_end):
                column.room = column.room.copy()
        self.sys_end.room[rows] = at
        never = rows[self.sys_start.values[rows] == at]
        self.app_start.room[never] = FOREVER
        self.app_end.room[never] = FOREVER
        self.latest = max(self.latest, int(at.max()))

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

    def keys(self, meaning: int) -> tuple[Ticks, Ticks, Ticks, Ticks]:
        """The columns that decide whether a row is inside: starts, and ends (or starts again) on both axes."""
        if meaning == BEGAN:
            return self.sys_start, self.sys_start, self.app_start, self.app_start
        return self.sys_start, self.sys_end, self.app_start, self.app_end

    def arrived(self, instant: int) -> int:
        """Count the rows whose system start is at or before the instant."""
        return int(np.searchsorted(self.sys_start, instant, side="right"))
