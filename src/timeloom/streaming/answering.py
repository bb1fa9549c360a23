"""Results of a streaming join in a task of Spark: judged by the condition, with columns as text."""

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import types as T  # noqa: N812

from timeloom.model.ticks import Axis
from timeloom.streaming.deciding import EVENTS
from timeloom.streaming.intake import Events, Ids
from timeloom.streaming.keyed import Found, Keyed
from timeloom.streaming.many_keys import OfKeys
from timeloom.streaming.payload import typed
from timeloom.streaming.settling import ResultPositions, condition_on, overlap_ticks, period_ticks, settled
from timeloom.streaming.shared_state import SharedState
from timeloom.streaming.wanted import ID, PAYLOAD, PERIOD, Source, Wanted

Payload = tuple[tuple[str, ...], tuple[str, ...]]

KEY = "key"
"""The column of keys, which are texts."""


class Answers:
    """How the events of keys become their results: which columns they carry, and which the results have."""

    def __init__(
        self,
        wanted: Wanted,
        payload: Payload,
        kinds: tuple[tuple[str, T.DataType], ...],
        arrivals: tuple[str, str],
        axis: Axis,
    ) -> None:
        layout = wanted.layout(*payload)
        self.wanted, self.kinds, self.axis = wanted, dict(kinds), axis
        self.whole = (arrivals[0] != EVENTS, arrivals[1] != EVENTS)
        self.carried = (layout.carried(0), layout.carried(1))
        self.chosen, self.tested = list(layout.chosen.values()), layout.tested
        self.columns = [f"o{at}" for at in range(len(self.chosen))]

    def carry(self, side: int, events: Events, keys: Ids, frame: pd.DataFrame, state: SharedState) -> Events:
        """Number the events of a side and keep what is asked for of them."""
        carried = state.carried[side]
        first = max(carried.next_number, state.join.next_number(side))
        numbered = events._replace(numbers=np.arange(first, first + events.ids.size))
        columns = {
            name: pa.array(frame[f"p{at}"], pa.string(), from_pandas=True) for at, name in enumerate(self.carried[side])
        }
        carried.add(numbered, keys, pa.table(columns), whole=self.whole[side])
        return numbered

    def frames(self, certain: OfKeys, state: SharedState) -> list[pd.DataFrame]:
        """What is certain, with the numbers of keys."""
        emitted = certain.emitted
        for side, carried in enumerate(state.carried):
            carried.end(*emitted.ended[1:, emitted.ended[0] == side])
        found = Found.of([Keyed(certain.keys, emitted, certain.row_keys)])
        if self.wanted.where is not None:
            test = condition_on(self.wanted.where, lambda positions: self._tested(positions, state))
            found = settled(found, state.carried, self.wanted.how, test)
        if not found.instants.size:
            return []
        positions = ResultPositions.of(found, state.carried) if state.join.numbered else None
        columns: dict[str, Any] = {KEY: found.keys}
        for side, name in enumerate(("left_id", "right_id")):
            rows = found.rights if side else found.lefts
            if positions is not None:
                rows = state.carried[side].ids(positions.of_side(side))
            columns[name] = _ids(state, side, rows, found.sides == 1 - side)
        columns |= {"at": pd.array(found.instants, "Int64"), "reason": None}
        for name, source in zip(self.columns, self.chosen, strict=True):
            assert positions is not None
            columns[name] = self._text(source, positions, state).to_pandas().astype(object)
        return [pd.DataFrame(columns)]

    def _text(self, source: Source, positions: ResultPositions, state: SharedState) -> Any:
        kind, side, name = source
        if kind == PAYLOAD:
            return state.carried[side].values(name, positions.of_side(side), positions.instants).cast(pa.string())
        ticks, none = self._ticks(source, positions, state)
        return pa.array(ticks, pa.int64(), mask=none).cast(pa.string())

    def _ticks(self, source: Source, positions: ResultPositions, state: SharedState) -> tuple[Any, Any]:
        kind, side, name = source
        if kind == PERIOD:
            return period_ticks(positions, side, name, state.carried, self.whole)
        return overlap_ticks(positions, name, state.carried, self.whole)

    def _tested(self, positions: ResultPositions, state: SharedState) -> dict[str, pa.ChunkedArray]:
        """The columns of pairs that the condition reads."""
        return {name: self._value(name, source, positions, state) for name, source in self.tested.items()}

    def _value(self, name: str, source: Source, positions: ResultPositions, state: SharedState) -> pa.ChunkedArray:
        kind, side, column = source
        if kind == PAYLOAD:
            return typed(
                state.carried[side].values(column, positions.of_side(side), positions.instants), self.kinds[name]
            )
        if kind == ID:
            ids = pa.chunked_array([state.names[side].values(state.carried[side].ids(positions.of_side(side)))])
            return ids if state.names[side].plain else typed(ids, self.kinds[name])
        ticks, none = self._ticks(source, positions, state)
        stamps = pa.array(ticks, pa.int64(), mask=none)
        if column == "overlap_length":
            return pa.chunked_array([stamps.cast(pa.duration("us"))])
        return pa.chunked_array([stamps.cast(pa.timestamp("us", "UTC" if self.axis is Axis.ZONED else None))])


def _ids(state: SharedState, side: int, rows: Any, absent: Any) -> Any:
    if absent.all():
        return None
    return state.names[side].values(rows, absent if absent.any() else None).to_pandas(integer_object_nulls=True)
