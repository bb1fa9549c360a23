"""The streaming join as a stateful processor of Structured Streaming: one join per key, its state in RocksDB."""

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
from timeloom.streaming.answering import Answers
from timeloom.streaming.intake import REASONS, Events
from timeloom.streaming.keyed_state import KeyState
from timeloom.streaming.operator import Emitted, EndpointJoin
from timeloom.streaming.storage import VERSION, seal, unseal
from timeloom.streaming.versions import require_known
from timeloom.streaming.wanted import Wanted

STATE = "version INT, body BINARY, names STRING"
KEY, WHOLE_QUERY = "key", "?"
"""The column of keys as text, and the text that stands for no key but for the query as a whole."""
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
    """Pushes each key's events up to the watermark, and what is pending when the watermark gets there."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.query = plan.query
        self.answers = Answers(plan.wanted, plan.payload, plan.kinds, plan.arrivals, plan.axis)
        self.is_known = False

    def init(self, handle: Any) -> None:
        """Open the state."""
        acknowledge()
        self.handle = handle
        self.state = handle.getValueState("join", STATE)

    def handleInputRows(  # noqa: N802
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: Any,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        """Take a micro-batch of events of one key."""
        frame = pd.concat(list(rows), ignore_index=True)
        yield from self._advance(key, frame, timerValues.getCurrentWatermarkInMs())

    def handleExpiredTimer(  # noqa: N802
        self,
        key: Any,
        timerValues: Any,  # noqa: N803
        expiredTimerInfo: Any,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        """Do what was waiting for the watermark."""
        yield from self._advance(key, None, timerValues.getCurrentWatermarkInMs())

    def close(self) -> None:
        """Nothing is held outside the state."""
        keep_loaded()

    def _advance(self, key: Any, frame: pd.DataFrame | None, watermark: int) -> Iterator[pd.DataFrame]:
        self._require_same_query(key)
        complete = watermark * MILLISECOND if watermark else MIN_TICK
        state = self._load(complete)
        left, right = (self._events(frame, side, state) for side in (0, 1))
        join = state.join
        coming = join.intake.waiting + left.ids.size + right.ids.size
        emitted = join.push(left, right, complete)
        refused = sum(len(some.verdicts) for some in emitted.refused)
        assert coming == emitted.used + join.intake.waiting + refused, "an event was lost"
        answer = [*self._results(emitted, state), *self._unreadable(frame)]
        self._save(state)
        for result in answer:
            result[KEY] = key[0]
            yield result.reindex(columns=[KEY, "left_id", "right_id", "at", "reason", *self.answers.columns])

    def _require_same_query(self, key: Any) -> None:
        """Refuse the checkpoint of another query, also where its keys are not those of this one.

        Each partition of the state remembers its query once, under a key that is none.
        """
        if self.is_known:
            return
        client = self.handle._statefulProcessorApiClient
        client.set_implicit_key((WHOLE_QUERY,))
        try:
            if self.state.exists():
                version, body, begun = self.state.get()
                require_known(version)
                unseal(bytes(body), self.query, begun, version)
            else:
                self.state.update((VERSION, seal([np.zeros(1, np.int64)], self.query, self.query), self.query))
        finally:
            client.set_implicit_key(key)
        self.is_known = True

    def _load(self, complete: int) -> KeyState:
        """The join of a key. One without state is at rest: all that the watermark has passed is complete for it."""
        state = KeyState(self.plan.join(), self.plan.integers)
        if self.state.exists():
            version, body, known = self.state.get()
            require_known(version)
            state.load(unseal(bytes(body), self.query, known, version), known, version)
        else:
            state.join.intake.clock = complete
        return state

    def _save(self, state: KeyState) -> None:
        join = state.join
        if join.is_idle:
            self.state.clear()
            return
        arrays, known = state.dump()
        self.state.update((VERSION, seal(arrays, self.query, known), known))
        if join.next_instant < FOREVER:
            self.handle.registerTimer(-(-join.next_instant // MILLISECOND))

    def _events(self, frame: pd.DataFrame | None, side: int, state: KeyState) -> Events:
        if frame is None:
            return Events.none()
        names = state.names[side]
        own = frame[(frame["side"] == side) & (frame["verdict"] == 0)]
        if names.plain:
            ids = own["number"].to_numpy(np.int64)
        else:
            ids = names.numbers(pa.chunked_array([pa.array(own["id"], pa.string(), from_pandas=True)]))
        times, ends = (own[name].to_numpy(np.int64) for name in ("time", "end"))
        events = Events(ids, times, own["starting"].to_numpy(np.bool_), ends)
        return self.answers.carry(side, events, own, state) if self.plan.numbered else events

    def _results(self, emitted: Emitted, state: KeyState) -> list[pd.DataFrame]:
        found = self.answers.frames(emitted, state)
        for refused in emitted.refused:
            ids = state.names[refused.side].values(refused.events.ids).to_pandas().astype(object)
            side = pd.Series(refused.side, index=ids.index)
            times, verdicts = pd.Series(refused.events.times), pd.Series(refused.verdicts)
            found.append(_refused(side, ids, times, verdicts, self.plan.integers))
        return found

    def _unreadable(self, frame: pd.DataFrame | None) -> list[pd.DataFrame]:
        if frame is None or not frame["verdict"].any():
            return []
        bad = frame[frame["verdict"] != 0]
        times = bad["time"].where(bad["verdict"] != UNREADABLE)
        return [_refused(bad["side"], bad["id"], times, bad["verdict"], self.plan.integers)]


def _refused(side: Any, ids: Any, times: Any, verdicts: Any, integers: tuple[bool, bool]) -> pd.DataFrame:
    columns = {}
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
