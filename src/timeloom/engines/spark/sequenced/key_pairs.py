"""Verbs of two DataFrames whose keys a task takes whole: the local verb runs on the rows of a key, of both sides."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from timeloom.engines.spark.cluster.versions import from_arrow_schema
from timeloom.engines.spark.columns.keys import aligned, key_hashes
from timeloom.engines.spark.columns.validity import JudgedFrame, judge_frame
from timeloom.engines.spark.sequenced.group_forecasts import sent
from timeloom.engines.spark.sequenced.key_slices import SLICE, KeySlices
from timeloom.engines.spark.sequenced.whole_groups import (
    empty_table,
    handed_out,
    in_utc,
    ordering,
    written,
)
from timeloom.engines.spark.sequenced.whole_partitions import Side, cogrouped
from timeloom.engines.spark.slicing.slices import Slicing
from timeloom.model.explanation import Explanation
from timeloom.model.neighbours import AsOfRequest, NearestRequest

Work = Callable[[pa.Table, pa.Table], pa.Table]


@dataclass(frozen=True)
class PairWork:
    """Runs a local verb on the rows of a key. Rows come in no order, so they are put into that of their values."""

    work: Work
    names: tuple[tuple[str, ...], tuple[str, ...]]
    orders: tuple[tuple[str, ...], tuple[str, ...]]
    result: T.StructType

    def __call__(self, left: pa.Table, right: pa.Table) -> pa.Table:
        """The result for a key."""
        sides = [
            in_utc(rows.select(range(len(names))).rename_columns(list(names))).sort_by(
                [(n, "ascending") for n in order]
            )
            for rows, names, order in zip((left, right), self.names, self.orders, strict=True)
        ]
        return written(self.work(*sides), self.result)


def paired(
    left: DataFrame, right: DataFrame, request: AsOfRequest | NearestRequest, work: Work, slices: int | None = None
) -> Any:
    """Run a local verb key by key; large keys are cut by time."""
    sides = _judged((left, right), request)
    empty = work(empty_table(sides[0].schema), empty_table(sides[1].schema))
    result = from_arrow_schema(empty.schema)
    names = tuple(sides[0].schema.names), tuple(sides[1].schema.names)
    orders = tuple(ordering(sides[0].schema)), tuple(ordering(sides[1].schema))
    task = PairWork(work, names, orders, result)
    numbered = T.StructType([T.StructField(f"c{at}", field.dataType) for at, field in enumerate(result)])
    found = cogrouped(_grouped(sides, request, slices), task, numbered)
    return handed_out(found.toDF(*result.names), sides, request.policy)


def _judged(
    tables: tuple[DataFrame, DataFrame], request: AsOfRequest | NearestRequest
) -> tuple[JudgedFrame, JudgedFrame]:
    """Both sides with verdicts, and keys of common types."""
    return aligned(
        judge_frame(tables[0], request.left_period, "left", request.policy),
        judge_frame(tables[1], request.right_period, "right", request.policy),
        request.keys,
    )


def _grouped(
    sides: tuple[JudgedFrame, JudgedFrame], request: AsOfRequest | NearestRequest, slices: int | None
) -> tuple[Side, Side]:
    """The rows of both sides, by key, and by slice if keys are cut."""
    cut = KeySlices.of(sides, request.keys, slices)
    found: list[Side] = []
    for at, (side, keys) in enumerate(zip(sides, (request.keys.left, request.keys.right), strict=True)):
        by = [F.col(side.column(name)) for name in keys]
        if cut is None:
            rows = side.rows
        else:
            rows = cut.placed(0).drop("tick") if at == 0 else _reached(cut, request)
            by.append(F.col(SLICE))
        names = [side.column(name) for name in side.schema.names]
        found.append(Side(rows, names, [field.dataType for field in side.schema], by))
    return found[0], found[1]


def _reached(cut: KeySlices, request: AsOfRequest | NearestRequest) -> DataFrame:
    """The right rows that the left rows of each slice may look for."""
    return cut.with_neighbours(request.direction) if isinstance(request, AsOfRequest) else cut.in_all_slices()


def explained(
    verb: str, tables: tuple[DataFrame, DataFrame], request: AsOfRequest | NearestRequest, facts: dict[str, Any]
) -> Explanation:
    """How such a verb runs."""
    keys = list(request.keys.left)
    why = "rows of a key meet in one task; left rows of large keys are cut by time, and the right ones go to all slices"
    if isinstance(request, AsOfRequest):
        why = "rows of a key meet in one task; large keys are cut by time, and slices get the rows next to them"
    forecast = partial(_forecast, tables, request)
    return Explanation(verb, "spark", {**facts, "keys": keys, "strategy": "keys"}, (why,), forecast)


def _forecast(tables: tuple[DataFrame, DataFrame], request: AsOfRequest | NearestRequest) -> dict[str, Any]:
    """What it costs that rows of a key meet, or, if keys are cut by time, those of a slice."""
    sides = _judged(tables, request)
    hashes = key_hashes(*sides, request.keys) if request.keys else ("0L", "0L")
    slicing = Slicing.of(tables[0].sparkSession, tables, grouped=bool(request.keys))
    return sent(sides, hashes, slicing)
