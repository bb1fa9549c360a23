"""An index beside a DataFrame: it is sent to every worker, which keeps it, and rows ask it where they are."""

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from timeloom.engines.indexes.nearest import nearest
from timeloom.engines.indexes.verbs import ALWAYS_FEW, FEW, count_join, join
from timeloom.engines.spark.cluster.versions import from_arrow_schema
from timeloom.engines.spark.cluster.workers import mapped
from timeloom.engines.spark.columns.arrow_types import arrow_schema, numbered
from timeloom.engines.spark.columns.validity import judge_frame
from timeloom.engines.tables.marks import is_index
from timeloom.model.count_join import CountRequest
from timeloom.model.explanation import Explanation
from timeloom.model.join import JoinRequest
from timeloom.model.neighbours import NearestRequest

LEAST_EVENTS = 1 << 14
"""An index with fewer events is joined as the table that it exports: there are too few to pass over."""

MOST_KEPT = 2
"""So many indexes a worker keeps."""

Request = JoinRequest | CountRequest | NearestRequest
_VERBS: dict[type, Callable[..., Any]] = {JoinRequest: join, CountRequest: count_join, NearestRequest: nearest}
_KEPT: dict[str, Any] = {}


@dataclass(frozen=True)
class SentIndex:
    """An index as it travels; a worker unpacks it once, however many tasks it runs."""

    name: str
    packed: bytes

    @classmethod
    def of(cls, index: Any) -> "SentIndex":
        """Pack an index as it is now."""
        packed = pickle.dumps(index)
        return cls(sha256(packed).hexdigest(), packed)

    def unpacked(self) -> Any:
        """The index that this worker has."""
        if self.name not in _KEPT:
            while len(_KEPT) >= MOST_KEPT:
                _KEPT.pop(next(iter(_KEPT)))
            _KEPT[self.name] = pickle.loads(self.packed)
        return _KEPT[self.name]


@dataclass(frozen=True)
class ProbeTask:
    """Asks an index for the rows of one partition, some at a time."""

    index: SentIndex
    request: Request
    names: tuple[str, ...]
    schema: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Ask for one partition."""
        index = self.index.unpacked()
        for batch in batches:
            rows = pa.Table.from_batches([batch]).rename_columns(list(self.names))
            size = max(ALWAYS_FEW, len(index) // FEW)
            for first in range(0, rows.num_rows, size):
                yield from self._asked(rows.slice(first, size), index)

    def _asked(self, rows: pa.Table, index: Any) -> Iterator[pa.RecordBatch]:
        found = _VERBS[type(self.request)](rows, index, self.request)
        if found is None:  # more pairs than are listed at once
            half = rows.num_rows // 2
            for part in (rows.slice(0, half), rows.slice(half)):
                yield from self._asked(part, index)
            return
        arrays = [column.cast(kind) for column, kind in zip(found.columns, self.schema.types, strict=True)]
        yield from pa.Table.from_arrays(arrays, names=numbered(len(arrays))).to_batches()


def probes(index: object, request: Request) -> bool:
    """Whether rows ask the index, or it is taken as the table that it exports."""
    if not is_index(index) or len(index) < LEAST_EVENTS or request.keys:  # type: ignore[arg-type]
        return False
    if request.policy.on_invalid != "error":
        return False
    if isinstance(request, JoinRequest):
        asked = request.max_rows, request.where, request.min_overlap
        plain = all(option is None for option in asked) and isinstance(request.overlap, bool)
        sent = request.strategy in ("auto", "broadcast") and request.algorithm == "auto"
        return plain and sent and request.how in ("inner", "left", "semi", "anti")
    if isinstance(request, CountRequest):
        return not request.aggregates and request.strategy in ("auto", "broadcast") and request.algorithm == "auto"
    return True


def probed(left: DataFrame, index: Any, request: Request) -> DataFrame:
    """The plan of the result: the DataFrame stays where it is. Nothing runs before an action."""
    frame = judge_frame(left, request.left_period, "left", request.policy)
    none = arrow_schema(frame.schema, "left").empty_table()
    found = _VERBS[type(request)](none, index, request).schema
    schema = from_arrow_schema(found)
    by_number = T.StructType([T.StructField(f"c{at}", field.dataType) for at, field in enumerate(schema)])
    task = ProbeTask(SentIndex.of(index), request, tuple(frame.schema.names), found)
    return mapped(frame.rows, task, by_number).toDF(*schema.names)


def explain_probed(verb: str, index: Any, request: Request) -> Explanation:
    """Say how an index is asked."""
    facts: dict[str, Any] = {"algorithm": "index", "strategy": "broadcast", "right rows": len(index), "keys": []}
    facts |= {"partitions": "those of the left side", "replication": 1}
    why = "the index goes to every worker once, and each row asks it where it is: cost by what rows touch"
    return Explanation(verb, "spark", facts, (why,))
