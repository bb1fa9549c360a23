"""The state of one key on Spark: its join, the names of its ids, and the columns that its rows carry."""

import json
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeloom.streaming.carried import ID, Carried
from timeloom.streaming.names import Names
from timeloom.streaming.operator import EndpointJoin
from timeloom.streaming.restoring import SHAPES
from timeloom.streaming.storage import malformed
from timeloom.streaming.versions import migrated

Arrays = list[NDArray[np.int64]]


class KeyState:
    """What is known of one key, while a task works on it."""

    def __init__(self, join: EndpointJoin, integers: tuple[bool, bool]) -> None:
        self.join = join
        self.names = (Names("left"), Names("right"))
        self.carried = (Carried("left"), Carried("right"))
        for side, is_integer in zip(self.names, integers, strict=True):
            side.type = pa.int64() if is_integer else pa.string()

    def load(self, arrays: Arrays, known: str, version: int) -> None:
        """Go on from what was stored; what cannot be is a StorageError."""
        own, rest = arrays[: len(SHAPES)], arrays[len(SHAPES) :]
        self.join.restore(migrated(own, version))
        parts = 4 if self.join.numbered else 2
        dumped = _parsed(known, parts)
        if len(rest) != parts - 2:
            raise malformed(f"it has {len(rest)} parts for what rows carry, expected {parts - 2}")
        for side, names in enumerate(self.names):
            used = self.join.used_ids(side)
            if self.join.numbered:
                self.carried[side].restore(rest[side], _texts(dumped[2 + side]), self.join.kept_rows(side))
                used = np.concatenate([self.carried[side].fields[ID], self.join.held_ids(side)])
            names.load(dumped[side], used)

    def dump(self) -> tuple[Arrays, str]:
        """What is to be stored: arrays, and text beside them."""
        arrays, texts = self.join.snapshot(), []
        for side, (names, carried) in enumerate(zip(self.names, self.carried, strict=True)):
            used = self.join.used_ids(side)
            if self.join.numbered:
                carried.keep_only(used)
                used = np.concatenate([carried.fields[ID], self.join.held_ids(side)])
                arrays.append(carried.fields)
                texts.append({name: column.to_pylist() for name, column in carried.columns.items()})
            names.keep_only(used, spare=0)
        return arrays, json.dumps([*(names.dump() for names in self.names), *texts])


def _parsed(known: str, parts: int) -> list[Any]:
    try:
        dumped = json.loads(known)
    except (ValueError, RecursionError) as error:
        raise malformed(f"its names are no JSON ({error})") from error
    if not isinstance(dumped, list) or len(dumped) != parts:
        raise malformed("it has not the names of two sides")
    return dumped


def _texts(columns: Any) -> dict[str, pa.ChunkedArray]:
    if not isinstance(columns, dict):
        raise malformed("the columns of a side are not what is stored of them")
    try:
        return {name: pa.chunked_array([pa.array(values, pa.string())]) for name, values in columns.items()}
    except (pa.ArrowException, TypeError) as error:
        raise malformed(f"the columns of a side are no texts ({error})") from error
