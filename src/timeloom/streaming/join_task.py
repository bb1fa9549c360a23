"""A task of the streaming join on Spark: events of keys that share states, page by page."""

import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from timeloom.kernels.streaming.arrival import UNREADABLE
from timeloom.model.ticks import FOREVER, MIN_TICK
from timeloom.streaming.answering import KEY
from timeloom.streaming.buckets import MILLISECOND, States
from timeloom.streaming.intake import REASONS, Events, Ids
from timeloom.streaming.join_plan import Plan
from timeloom.streaming.pages import Pages
from timeloom.streaming.shared_state import SharedState, Unused
from timeloom.streaming.storage import VERSION, seal, unseal
from timeloom.streaming.versions import require_known


class JoinPage(SharedState):
    """The state of some keys as it is stored."""

    def __init__(self, plan: Plan, query: str) -> None:
        super().__init__(plan.join, plan.integers)
        self._plan, self._query = plan, query

    @property
    def next_instant(self) -> int:
        """The next instant at which something is to be done even if nothing happens, or FOREVER."""
        return self.join.next_instant

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to keep."""
        return not self.join.keys

    def read(self, version: int, body: bytes, names: str) -> None:
        """Go on from what was written; anything else is a StorageError."""
        require_known(version)
        self.load(unseal(body, self._query, names, version), names)

    def write(self) -> tuple[int, bytes, str]:
        """What is to be stored."""
        arrays, known = self.dump()
        return VERSION, seal(arrays, self._query, known), known

    def divided(self, bits: int, values: Sequence[int]) -> "list[JoinPage]":
        """For each of these values the state of the keys whose hashes have it in these bits."""
        stored, parts = self.write(), []
        for value in values:
            part = JoinPage(self._plan, self._query)
            part.read(*stored)
            part.keep_only((hashes(part.keys) & bits) == value)
            parts.append(part)
        return parts


class JoinTask:
    """Pushes the events of buckets of keys up to the watermark, and what is pending when the watermark gets there."""

    def __init__(self, plan: Plan, query: str, states: States) -> None:
        self.plan, self._handle = plan, states.handle
        self.answers = plan.answers()
        self.pages = Pages(states, query, lambda: JoinPage(plan, query))
        self._done: dict[Any, int] = {}

    def take(self, bucket: Any, rows: Iterator[pd.DataFrame], watermark: int) -> Iterator[pd.DataFrame]:
        """Take a micro-batch of events of one bucket."""
        parts = list(rows)
        frame = parts[0] if len(parts) == 1 else pd.concat(parts, ignore_index=True)
        yield from self._advance(bucket, frame, watermark)

    def wake(self, bucket: Any, watermark: int) -> Iterator[pd.DataFrame]:
        """Do what was waiting for the watermark, unless events of this micro-batch have had it done already."""
        if self._done.get(bucket[0]) != watermark:
            yield from self._advance(bucket, None, watermark)

    def _advance(self, bucket: Any, frame: pd.DataFrame | None, watermark: int) -> Iterator[pd.DataFrame]:
        """Push what has come for a bucket, page by page, and what is due."""
        complete = watermark * MILLISECOND if watermark else MIN_TICK
        self.pages.open(bucket)
        keys = [] if frame is None else frame[KEY].tolist()
        for page, own in self.pages.touched(hashes(keys) if self.pages.count > 1 else len(keys), complete):
            state = self.pages.load(page)
            some = frame if frame is None or own.size == len(frame) else frame.take(own)
            yield from self._push(some, state, complete)
            self.pages.save(page, state)
        self.pages.close()
        self._done[bucket[0]] = watermark
        if self.pages.next_due < FOREVER:
            self._handle.registerTimer(-(-self.pages.next_due // MILLISECOND))

    def _push(self, frame: pd.DataFrame | None, state: SharedState, complete: int) -> Iterator[pd.DataFrame]:
        """Push the events of some keys; answers what is certain, and what takes no part."""
        numbers = state.numbers([] if frame is None else frame[KEY].tolist(), complete)
        (left, left_keys), (right, right_keys) = (self._events(frame, side, numbers, state) for side in (0, 1))
        certain, unused = state.push((left, right), (left_keys, right_keys), complete)
        found = [*self.answers.frames(certain, state), *(self._unused(some, state) for some in unused)]
        if frame is not None and frame["verdict"].any():
            found.append(self._unreadable(frame, numbers))
        keys = pa.array(state.keys, pa.string())
        for result in found:
            result[KEY] = pd.arrays.ArrowExtensionArray(keys.take(pa.array(result[KEY].to_numpy(np.int64))))
            yield result.reindex(columns=[KEY, "left_id", "right_id", "at", "reason", *self.answers.columns])

    def _events(self, frame: pd.DataFrame | None, side: int, numbers: Ids, state: SharedState) -> tuple[Events, Ids]:
        """The readable events of a side, with the numbers of their keys."""
        if frame is None:
            return Events.none(), numbers
        names = state.names[side]
        which = ((frame["side"] == side) & (frame["verdict"] == 0)).to_numpy()
        own, keys = frame[which], numbers[which]
        if names.plain:
            ids = own["number"].to_numpy(np.int64)
        else:
            ids = names.numbers(pa.chunked_array([pa.array(own["id"], pa.string(), from_pandas=True)]))
        times, ends = (own[name].to_numpy(np.int64) for name in ("time", "end"))
        events = Events(ids, times, own["starting"].to_numpy(np.bool_), ends)
        return self.answers.carry(side, events, keys, own, state) if self.plan.numbered else events, keys

    def _unused(self, some: Unused, state: SharedState) -> pd.DataFrame:
        ids = state.names[some.side].values(some.events.ids).to_pandas().astype(object)
        side = pd.Series(some.side, index=ids.index)
        times, verdicts = pd.Series(some.events.times), pd.Series(some.verdicts)
        return _refused(some.keys, side, ids, times, verdicts, self.plan.integers)

    def _unreadable(self, frame: pd.DataFrame, numbers: Ids) -> pd.DataFrame:
        which = (frame["verdict"] != 0).to_numpy()
        bad = frame[which]
        times = bad["time"].where(bad["verdict"] != UNREADABLE)
        return _refused(numbers[which], bad["side"], bad["id"], times, bad["verdict"], self.plan.integers)


def hashes(keys: Sequence[str]) -> Ids:
    """By which keys are spread over pages. Spark spreads them over buckets by another hash."""
    return np.array([zlib.crc32(key.encode()) for key in keys], np.int64)


def _refused(keys: Ids, side: Any, ids: Any, times: Any, verdicts: Any, integers: tuple[bool, bool]) -> pd.DataFrame:
    columns: dict[str, Any] = {KEY: keys}
    for number, (name, integer) in enumerate(zip(("left_id", "right_id"), integers, strict=True)):
        own = ids.where(side == number, None).to_numpy(object)
        columns[name] = pd.array([None if one is None else int(one) for one in own], "Int64") if integer else own
    return pd.DataFrame(
        {
            **columns,
            "at": pd.array(times, "Int64"),
            "reason": [REASONS[verdict] for verdict in verdicts],
        }
    )
