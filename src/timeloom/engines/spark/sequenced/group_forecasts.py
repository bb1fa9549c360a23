"""What verbs cost that hand whole groups to tasks, or take each row where it is: from the sample of all other verbs."""

from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql import DataFrame

from timeloom.engines.spark.cluster.session import shuffle_partitions
from timeloom.engines.spark.cluster.sizes import estimate
from timeloom.engines.spark.cluster.versions import to_arrow_schema
from timeloom.engines.spark.columns.validity import JudgedFrame
from timeloom.engines.spark.exchange.forecast import TICK_BYTES, row_bytes
from timeloom.engines.spark.exchange.plan import Exchange, Source
from timeloom.engines.spark.sequenced.tick_columns import TickColumns
from timeloom.engines.spark.slicing.boundaries import sampled_share
from timeloom.engines.spark.slicing.slices import Slicing
from timeloom.engines.spark.slicing.tick_ranges import PeriodRange
from timeloom.engines.tables.verdicts import VALID

BATCH_ROWS = 10_000
"""So many rows Spark hands to a task at a time, by its default."""

Forecast = Callable[[], dict[str, Any]]


def group_hash(side: JudgedFrame, by: Sequence[str]) -> str:
    """The hash of a row's group, in SQL; without grouping columns all rows are one."""
    return f"xxhash64({', '.join(map(side.column, by))})" if by else "0L"


def whole_groups(sides: Sequence[JudgedFrame], hashes: Sequence[str], *, alone: bool = False) -> Forecast:
    """What it costs if all rows of a group, of all tables, go to one task; or all groups, to one that reads them."""

    def forecast() -> dict[str, Any]:
        frames = [side.all_rows for side in sides]
        share = sampled_share([estimate(frame).size for frame in frames])
        if alone:
            return sent(sides, hashes, Slicing(1, 1, share=share, alone=True))
        tasks = shuffle_partitions(frames[0].sparkSession)
        return sent(sides, hashes, Slicing(1, 1, by_key=True, share=share, partitions=tasks, groups=True))

    return forecast


def sent(sides: Sequence[JudgedFrame], hashes: Sequence[str], slicing: Slicing) -> dict[str, Any]:
    """What it costs to send the rows of all tables to tasks by group, and by slice if groups are cut."""
    return Exchange(tuple(map(_source, sides, hashes)), slicing).forecast(max(map(_row_bytes, sides)))


def rows_alone(side: JudgedFrame, pieces: Callable[[], float] = lambda: 1.0) -> Forecast:
    """What it costs if each row stays where it is, and becomes so many."""

    def forecast() -> dict[str, Any]:
        told = whole_groups([side], ["0L"])()
        rows, size = told["sampled rows stand for"], _row_bytes(side)
        held = min(rows, BATCH_ROWS)
        found = pieces()
        return {
            "sampled rows stand for": rows,
            "slices with rows": 0,
            "expected copies": found,
            "bytes shuffled": 0,
            "largest task rows": held,
            "largest task memory": round(held * (size * (1 + found) + TICK_BYTES)),
        }

    return forecast


def _source(side: JudgedFrame, key: str) -> Source:
    def timed() -> DataFrame:
        return side.rows.where(f"{side.verdict} = {VALID}")

    return Source(side.rows, timed, (side.columns.start, side.columns.end), key, TickColumns(PeriodRange(), None))


def _row_bytes(side: JudgedFrame) -> int:
    return row_bytes(to_arrow_schema(side.schema))
