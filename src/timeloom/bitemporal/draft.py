"""The next state of a bitemporal table while a batch writes it: behind all that readers see, or nowhere."""

import numpy as np
import pyarrow as pa

from timeloom.bitemporal.checkpoints import spaced
from timeloom.bitemporal.chronicle import NEVER, Chronicle, Times, settled_version, times_of
from timeloom.bitemporal.facts import Facts
from timeloom.bitemporal.layout import Version
from timeloom.bitemporal.present import Present
from timeloom.errors import InvalidInputError
from timeloom.kernels.bitemporal.windows import Ticks
from timeloom.model.ticks import FOREVER

SETTLING = 1024
"""So many recent versions become columns together."""

MOST_ROWS = 2**31 - 1


class Draft:
    """A state that grows, and what has changed since the one it started from."""

    def __init__(self, start: Chronicle, present: Present) -> None:
        self.start = start
        self.present: Present | None = present
        self.layout = start.layout
        self.number = start.number + 1
        self.latest = start.latest
        self.times, self.facts, self.recent = start.times, start.facts, start.recent
        self.first = len(start)
        self.ended: dict[int, int] = {}
        self.ends: dict[int, int] = self.ended
        self.undone: set[int] = set()
        self._entered = False

    def __len__(self) -> int:
        return len(self.times) + len(self.recent)

    @property
    def changed(self) -> bool:
        """Whether anything has happened yet."""
        grown = bool(self.ended or self.undone) or len(self) > self.first
        return grown or self.latest != self.start.latest or self.layout is not self.start.layout

    def current(self) -> Present:
        """The current versions by key."""
        assert self.present is not None
        return self.present

    def version(self, row: int) -> Version:
        """A version by its position."""
        settled = len(self.times)
        return self.recent[row - settled] if row >= settled else settled_version(self.times, self.facts, row)

    def period(self, row: int) -> tuple[int, int]:
        """The application period of a version."""
        settled = len(self.times)
        if row >= settled:
            version = self.recent[row - settled]
            return version.app_start, version.app_end
        return int(self.times.app_start.room[row]), int(self.times.app_end.room[row])

    def add(self, version: Version) -> int:
        """Add one version; its position."""
        self.recent.append(version)
        return len(self) - 1

    def add_many(self, facts: pa.Table, starts: Ticks, ends: Ticks, now: int) -> int:
        """Add many versions that begin now; the position of the first."""
        if len(self) + facts.num_rows > MOST_ROWS:
            raise InvalidInputError(f"a table holds at most {MOST_ROWS} versions; split it by key")
        self.settle()
        first, count = len(self), facts.num_rows
        never = np.full(count, FOREVER, np.int64)
        self.times = self.times.appended(np.full(count, now, np.int64), never, starts, ends, never)
        self.facts = self.facts.appended(facts.combine_chunks())
        self._entered = True
        return first

    def end(self, row: int, now: int) -> None:
        """End a version; one that came at this very time was never visible, and will leave the history."""
        settled = len(self.times)
        began = self.recent[row - settled].sys_start if row >= settled else int(self.times.sys_start.room[row])
        if began == now:
            self.undone.add(row)
            return
        if row >= settled:
            version = self.recent[row - settled]
            version.sys_end = now
            version.ended_by = self.number
        else:
            self.times.sys_end.room[row] = now
            self.times.ended_by.room[row] = self.number
        self.ended[row] = now

    def settle(self) -> None:
        """Make the recent versions columns. States of before keep their own list of them."""
        if self.recent:
            self.times = self.times.appended(*times_of(self.recent))
            self.facts = self.facts.appended(self.layout.facts(self.recent))
        self.recent = []

    def finished(self) -> Chronicle:
        """The state after the batch."""
        checkpoints, slabs = self.start.checkpoints, self.start.slabs
        if self.undone and min(self.undone) >= len(self.times):
            self._forget_recent()
        elif self.undone:
            earliest = int(self.times.sys_start.values[min(self.undone)])
            checkpoints = tuple(kept for kept in checkpoints if kept.at < earliest)
            slabs = slabs.before(min(self.undone))
            self._forget()
        if len(self.recent) >= SETTLING:
            self.settle()
        if len(self.times) > len(self.start.times):
            view = self.times.view(self.latest)
            checkpoints, slabs = spaced(checkpoints, view), slabs.grown(view.app_start, view.app_end)
        return Chronicle(
            self.layout,
            self.times,
            self.facts,
            self.recent,
            len(self.recent),
            self.number,
            self.latest,
            checkpoints,
            slabs,
        )

    @property
    def kept(self) -> int:
        """How many versions of the state before are still there: those behind them are new."""
        return self.first - sum(row < self.first for row in self.undone)

    def ends_of_kept(self) -> dict[int, int]:
        """The versions of before that have ended, by their positions now."""
        return {row: at for row, at in self.ends.items() if row < self.kept}

    def undo(self) -> "Present | None":
        """Give the draft up: readers go on with the state that it started from. The current versions, if known."""
        settled = len(self.start.times)
        for row in self.ended:
            if row < settled:
                self.start.times.sys_end.room[row] = FOREVER
                self.start.times.ended_by.room[row] = NEVER
            elif row < self.first:
                version = self.start.recent[row - settled]
                version.sys_end = version.ended_by = FOREVER
        del self.start.recent[self.start.held :]
        if self._entered or self.present is None:
            return None
        self.present.undo()
        return self.present

    def _forget_recent(self) -> None:
        """Take versions out of the recent ones; those behind them move up."""
        settled, present = len(self.times), self.current()
        first = min(self.undone) - settled
        kept, moved = self.recent[:first], dict[int, int]()
        for row, version in enumerate(self.recent[first:], settled + first):
            if row not in self.undone:
                moved[row] = settled + len(kept)
                kept.append(version)
        for key in {self.layout.key_of_fact(version.values) for version in kept[first:]}:
            present.set(key, [moved.get(row, row) for row in present.of_key(key)])
        self.ends = {moved.get(row, row): at for row, at in self.ended.items()}
        self.recent = kept

    def _forget(self) -> None:
        """Take versions out of all; this costs as much as the history is long."""
        self.settle()
        keep = np.ones(len(self.times), np.bool_)
        keep[list(self.undone)] = False
        positions = np.cumsum(keep) - 1
        kept = np.flatnonzero(keep)
        self.times, self.facts = Times.of(*self.times.taken(kept)), Facts(tuple(self.facts.taken(kept)))
        self.ends = {int(positions[row]): at for row, at in self.ended.items()}
        self.present = None
