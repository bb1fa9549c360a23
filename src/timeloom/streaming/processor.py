"""The streaming join as a stateful processor of Structured Streaming: one join per key, its state in RocksDB."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from timeloom.engines.spark.cluster.workers import acknowledge, keep_loaded
from timeloom.kernels.streaming.arrival import UNREADABLE
from timeloom.model.relation import Relation
from timeloom.model.ticks import FOREVER, MIN_TICK, Axis
from timeloom.streaming.intake import REASONS, Events
from timeloom.streaming.names import Names
from timeloom.streaming.operator import Emitted, EndpointJoin
from timeloom.streaming.storage import VERSION, malformed, seal, unseal
from timeloom.streaming.versions import migrated, require_known

STATE = "version INT, body BINARY, names STRING"
KEY, WHOLE_QUERY = "key", "?"
"""The column of keys as text, and the text that stands for no key but for the query as a whole."""
MILLISECOND = 1000


@dataclass(frozen=True)
class Plan:
    """What the processor needs to know: the join, its keys, and of which types keys and ids are.

    ``integers`` says on which sides ids are integers; ``types`` has the types of the keys and of both ids.
    """

    relation: Relation
    how: str
    arrivals: tuple[str, str]
    keys: tuple[str, ...]
    integers: tuple[bool, bool] = (False, False)
    types: tuple[str, ...] = ()
    axis: Axis = Axis.ZONED

    def join(self) -> EndpointJoin:
        """A join without state."""
        left, right = self.arrivals
        return EndpointJoin(self.relation, how=self.how, left=left, right=right, axis=self.axis)

    @property
    def query(self) -> str:
        """What makes a state one of this query: the join, the keys and all types."""
        return f"{self.join().query}, keys {list(self.keys)}, types of keys and ids {list(self.types)}"


class JoinProcessor(StatefulProcessor):
    """Pushes each key's events up to the watermark, and what is pending when the watermark gets there."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.query = plan.query
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
        join, names = self._load(complete)
        left, right = (self._events(frame, side, names[side]) for side in (0, 1))
        coming = join.intake.waiting + left.ids.size + right.ids.size
        emitted = join.push(left, right, complete)
        refused = sum(len(some.verdicts) for some in emitted.refused)
        assert coming == emitted.used + join.intake.waiting + refused, "an event was lost"
        answer = [*_results(emitted, names), *self._unreadable(frame)]
        self._save(join, names)
        for result in answer:
            result[KEY] = key[0]
            yield result[[KEY, "left_id", "right_id", "at", "reason"]]

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

    def _load(self, complete: int) -> tuple[EndpointJoin, tuple[Names, Names]]:
        """The join of a key. One without state is at rest: all that the watermark has passed is complete for it."""
        join, names = self.plan.join(), (Names("left"), Names("right"))
        for side, integers in zip(names, self.plan.integers, strict=True):
            side.type = pa.int64() if integers else pa.string()
        if not self.state.exists():
            join.intake.clock = complete
        else:
            version, body, known = self.state.get()
            require_known(version)
            join.restore(migrated(unseal(bytes(body), self.query, known, version), version))
            dumped = _parsed(known)
            for number, side in enumerate(names):
                side.load(dumped[number], join.used_ids(number))
        return join, names

    def _save(self, join: EndpointJoin, names: tuple[Names, Names]) -> None:
        for number, side in enumerate(names):
            side.keep_only(join.used_ids(number), spare=0)
        if join.is_idle:
            self.state.clear()
            return
        known = json.dumps([side.dump() for side in names])
        self.state.update((VERSION, seal(join.snapshot(), self.query, known), known))
        if join.next_instant < FOREVER:
            self.handle.registerTimer(-(-join.next_instant // MILLISECOND))

    def _events(self, frame: pd.DataFrame | None, side: int, names: Names) -> Events:
        if frame is None:
            return Events.none()
        own = frame[(frame["side"] == side) & (frame["verdict"] == 0)]
        if names.plain:
            ids = own["number"].to_numpy(np.int64)
        else:
            ids = names.numbers(pa.chunked_array([pa.array(own["id"], pa.string(), from_pandas=True)]))
        times, ends = (own[name].to_numpy(np.int64) for name in ("time", "end"))
        return Events(ids, times, own["starting"].to_numpy(np.bool_), ends)

    def _unreadable(self, frame: pd.DataFrame | None) -> list[pd.DataFrame]:
        if frame is None or not frame["verdict"].any():
            return []
        bad = frame[frame["verdict"] != 0]
        times = bad["time"].where(bad["verdict"] != UNREADABLE)
        return [_refused(bad["side"], bad["id"], times, bad["verdict"], self.plan.integers)]


def _parsed(known: str) -> list[Any]:
    try:
        dumped = json.loads(known)
    except (ValueError, RecursionError) as error:
        raise malformed(f"its names are no JSON ({error})") from error
    if not isinstance(dumped, list) or len(dumped) != 2:
        raise malformed("it has not the names of two sides")
    return dumped


def _results(emitted: Emitted, names: tuple[Names, Names]) -> list[pd.DataFrame]:
    left, right = names
    found = []
    if emitted.lefts.size:
        found.append(_frame(left.values(emitted.lefts), right.values(emitted.rights), emitted.instants))
    for side, instants, ids in emitted.alone():
        values = names[side].values(ids)
        found.append(_frame(None, values, instants) if side else _frame(values, None, instants))
    for refused in emitted.refused:
        ids = names[refused.side].values(refused.events.ids).to_pandas().astype(object)
        side = pd.Series(refused.side, index=ids.index)
        integers = (left.plain, right.plain)
        found.append(_refused(side, ids, pd.Series(refused.events.times), pd.Series(refused.verdicts), integers))
    return found


def _frame(left: pa.Array | None, right: pa.Array | None, instants: Any) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "left_id": None if left is None else left.to_pandas(),
            "right_id": None if right is None else right.to_pandas(),
            "at": pd.array(instants, "Int64"),
            "reason": None,
        }
    )


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
