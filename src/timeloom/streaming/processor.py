"""The streaming join as a stateful processor of Structured Streaming: keys share states, which are in RocksDB."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from timeloom.engines.spark.cluster.workers import acknowledge, keep_loaded
from timeloom.kernels.streaming.arrival import UNREADABLE
from timeloom.model.relation import Relation
from timeloom.model.ticks import FOREVER, MIN_TICK, Axis
from timeloom.streaming.answering import KEY, Answers
from timeloom.streaming.intake import REASONS, Events, Ids
from timeloom.streaming.operator import EndpointJoin
from timeloom.streaming.pages import Pages
from timeloom.streaming.shared_state import SharedState, Unused
from timeloom.streaming.wanted import Wanted

BUCKET, BUCKETS = "bucket", 64
"""The column by which Spark sends rows to tasks, and how many values it has: each has keys of its own."""
MILLISECOND = 1000


@dataclass(frozen=True)
class Plan:
    """What the processor needs to know: the join, its keys, the columns that it carries, and of which types all are.

    ``integers`` says on which sides ids are integers; ``types`` has the types of the keys and of both ids. ``payload``
    has the columns of either side, and ``kinds`` the types of those that the condition reads, by their names in it.
    """

    relation: Relation
    how: str
    arrivals: tuple[str, str]
    keys: tuple[str, ...]
    integers: tuple[bool, bool] = (False, False)
    types: tuple[str, ...] = ()
    axis: Axis = Axis.ZONED
    asked: Wanted | None = None
    payload: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    kinds: tuple[tuple[str, T.DataType], ...] = ()

    @property
    def wanted(self) -> Wanted:
        """Which columns results have, and what is asked of pairs."""
        return self.asked or Wanted(self.how, self.keys)

    @property
    def numbered(self) -> bool:
        """Whether rows carry more than their ids."""
        return self.wanted.carries(*self.payload)

    def join(self) -> EndpointJoin:
        """A join without state."""
        left, right = self.arrivals
        wanted = self.wanted
        return EndpointJoin(
            self.relation,
            how=wanted.kind,
            left=left,
            right=right,
            axis=self.axis,
            numbered=self.numbered,
            every=wanted.judges,
        )

    @property
    def query(self) -> str:
        """What makes a state one of this query: the join, the keys, all types, and the columns that rows carry."""
        wanted = self.wanted
        query = f"{self.join().query}, keys {list(self.keys)}, types of keys and ids {list(self.types)}"
        if not self.numbered:
            return query
        layout, where = wanted.layout(*self.payload), None if wanted.where is None else wanted.where.text
        return f"{query}, {wanted.how} where {where}, carrying {[layout.carried(side) for side in (0, 1)]}"


class JoinProcessor(StatefulProcessor):
    """Pushes the events of a bucket of keys up to the watermark, and what is pending when the watermark gets there."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.query = plan.query
        self.answers = Answers(plan.wanted, plan.payload, plan.kinds, plan.arrivals, plan.axis)

    def init(self, handle: Any) -> None:
        """Open the state."""
        acknowledge()
        self.handle = handle
        self.pages = Pages(handle, self.query, self._empty)
        self.done: dict[str, int] = {}

    def handleInputRows(  # noqa: N802
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: Any,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        """Take a micro-batch of events of one bucket."""
        frame = pd.concat(list(rows), ignore_index=True)
        yield from self._advance(key, frame, timerValues.getCurrentWatermarkInMs())

    def handleExpiredTimer(  # noqa: N802
        self,
        key: Any,
        timerValues: Any,  # noqa: N803
        expiredTimerInfo: Any,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        """Do what was waiting for the watermark, unless events of this micro-batch have had it done already."""
        watermark = timerValues.getCurrentWatermarkInMs()
        if self.done.get(key[0]) != watermark:
            yield from self._advance(key, None, watermark)

    def close(self) -> None:
        """Nothing is held outside the state."""
        keep_loaded()

    def _empty(self) -> SharedState:
        return SharedState(self.plan.join, self.plan.integers)

    def _advance(self, key: Any, frame: pd.DataFrame | None, watermark: int) -> Iterator[pd.DataFrame]:
        """Push what has come for a bucket, page by page, and what is due."""
        complete = watermark * MILLISECOND if watermark else MIN_TICK
        self.pages.open(key)
        keys = [] if frame is None else frame[KEY].tolist()
        for page, own in self.pages.touched(keys, complete):
            state = self.pages.load(page)
            yield from self._push(None if frame is None else frame.take(own), state, complete)
            self.pages.save(page, state)
        self.pages.close()
        self.done[key[0]] = watermark
        if self.pages.next_due < FOREVER:
            self.handle.registerTimer(-(-self.pages.next_due // MILLISECOND))

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
