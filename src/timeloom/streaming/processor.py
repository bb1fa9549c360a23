"""The streaming join as a stateful processor of Structured Streaming: one join per key, its state in RocksDB."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from timeloom.engines.spark.workers import acknowledge, keep_loaded
from timeloom.errors import StorageError
from timeloom.kernels.sweep_arrival import UNREADABLE
from timeloom.model.relation import Relation
from timeloom.model.ticks import FOREVER, MIN_TICK, Axis
from timeloom.streaming.intake import REASONS, Events
from timeloom.streaming.names import Names
from timeloom.streaming.operator import Emitted, EndpointJoin
from timeloom.streaming.storage import VERSION, pack, unpack

STATE = "version INT, body BINARY, names STRING"
MILLISECOND = 1000


@dataclass(frozen=True)
class Plan:
    """What the processor needs to know: the join, which columns are keys, and on which sides ids are integers."""

    relation: Relation
    how: str
    arrivals: tuple[str, str]
    keys: tuple[str, ...]
    integers: tuple[bool, bool] = (False, False)

    def join(self) -> EndpointJoin:
        """A join without state."""
        left, right = self.arrivals
        return EndpointJoin(self.relation, how=self.how, left=left, right=right, axis=Axis.ZONED)


class JoinProcessor(StatefulProcessor):
    """Pushes each key's events up to the watermark, and what is pending when the watermark gets there."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

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
        join, names = self._load()
        left, right = (self._events(frame, side, names[side]) for side in (0, 1))
        emitted = join.push(left, right, watermark * MILLISECOND if watermark else MIN_TICK)
        answer = [*_results(emitted, names), *self._unreadable(frame)]
        self._save(join, names)
        for result in answer:
            for name, value in zip(self.plan.keys, key, strict=True):
                result[name] = value
            yield result[[*self.plan.keys, "left_id", "right_id", "at", "reason"]]

    def _load(self) -> tuple[EndpointJoin, tuple[Names, Names]]:
        join, names = self.plan.join(), (Names("left"), Names("right"))
        for side, integers in zip(names, self.plan.integers, strict=True):
            side.type = pa.int64() if integers else pa.string()
        if self.state.exists():
            version, body, known = self.state.get()
            if version != VERSION:
                raise StorageError(
                    f"the checkpoint holds streaming state of version {version}, but this is version {VERSION}; "
                    "finish the query with the release that began it, or start from a new checkpoint"
                )
            join.restore(unpack(bytes(body)))
            for side, values in zip(names, json.loads(known), strict=True):
                side.load(values)
        return join, names

    def _save(self, join: EndpointJoin, names: tuple[Names, Names]) -> None:
        for number, side in enumerate(names):
            side.keep_only(join.used_ids(number), spare=0)
        if join.is_idle:
            self.state.clear()
            return
        self.state.update((VERSION, pack(join.snapshot()), json.dumps([side.dump() for side in names])))
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


def _results(emitted: Emitted, names: tuple[Names, Names]) -> list[pd.DataFrame]:
    left, right = names
    found = []
    if emitted.lefts.size:
        found.append(_frame(left.values(emitted.lefts), right.values(emitted.rights), emitted.instants))
    if emitted.rows.size:
        found.append(_frame(left.values(emitted.rows), None, emitted.row_instants))
    for refused in emitted.refused:
        ids = names[refused.side].values(refused.events.ids).to_pandas().astype(object)
        side = pd.Series(refused.side, index=ids.index)
        integers = (left.plain, right.plain)
        found.append(_refused(side, ids, pd.Series(refused.events.times), pd.Series(refused.verdicts), integers))
    return found


def _frame(left: pa.Array, right: pa.Array | None, instants: Any) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "left_id": left.to_pandas(),
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
