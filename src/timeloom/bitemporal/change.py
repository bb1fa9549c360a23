"""What a batch does to a bitemporal table and to the indexes that follow it, worked out before anything changes."""

from dataclasses import replace

import numpy as np
import pyarrow as pa

from timeloom.bitemporal import snapshot
from timeloom.bitemporal.batch import Batch
from timeloom.bitemporal.chronicle import Chronicle
from timeloom.bitemporal.index import BitemporalIndex
from timeloom.bitemporal.layout import Key, Version
from timeloom.model.ticks import FOREVER

Current = dict[Key, list[Version]]


class Change:
    """A batch against the state that it starts from.

    Versions that came at the batch's own time and are replaced leave the history, so the versions behind them, all of
    that time, too, move up. This is why such a batch costs as much as the history is long.
    """

    def __init__(self, before: Chronicle, current: Current, batch: Batch) -> None:
        self.batch, self.layout, staged = batch, batch.layout, batch.staged
        places = None
        start = replace(before, layout=self.layout)
        if batch.undone:
            start, places = start.without(batch.undone)
        self.start = start
        self.ended = {row if places is None else int(places[row]): at for row, at in batch.ended.items()}
        self.chunk = self.layout.written(staged) if staged else None
        self.ends = np.array([version.sys_end for version in staged], np.int64)
        self.current: Current = {key: list(versions) for key, versions in batch.touched.items()}
        if places is not None:
            first = min(batch.undone)
            moved = (key for key, held in current.items() if any((one.row or 0) > first for one in held))
            for key in moved:
                self.current.setdefault(key, [replace(version) for version in current[key]])
            for version in (one for held in self.current.values() for one in held if one.row is not None):
                version.row = int(places[version.row])
        for row, version in enumerate(staged, len(start)):
            version.row = row

    @property
    def new_rows(self) -> pa.Table | None:
        """The new versions with their system ends."""
        if self.chunk is None:
            return None
        return self.chunk.append_column("sys_end", self.layout.sys_time.to_arrow(self.ends, self.ends == FOREVER))

    def followed(self, index: BitemporalIndex) -> snapshot.Batch:
        """Check the batch for an index that follows; if versions leave, for a fresh one of those that stay."""
        if self.batch.undone:
            index = index.again(self.start.history)
        return index.prepared(self.new_rows, self.ended)

    def applied(self) -> Chronicle:
        """The table after the batch."""
        return self.start.grown(self.chunk, self.ends, self.ended, self.batch.latest)

    def undo(self) -> None:
        """Give up the state after the batch."""
        self.start.sys_end.room[list(self.ended)] = FOREVER
