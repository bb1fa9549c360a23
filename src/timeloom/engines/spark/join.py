"""The relation join on Spark."""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_type

from timeloom.engines.axes import same_axis, shared_type
from timeloom.engines.spark.admission import Admitted, admit
from timeloom.engines.spark.boundaries import Slicing
from timeloom.engines.spark.distribution import Distribution, Sent
from timeloom.engines.spark.keys import check_keys, key_hashes, no_key
from timeloom.engines.spark.packing import Packing
from timeloom.engines.spark.parcels import SideLayout
from timeloom.engines.spark.pieces import cover
from timeloom.engines.spark.session import cores, shuffle_partitions
from timeloom.engines.spark.tasks import JoinTask
from timeloom.model.join import JoinRequest
from timeloom.model.naming import OutputColumn, joined_columns

PRESERVED = {
    "inner": (),
    "left": ("left",),
    "right": ("right",),
    "full": ("left", "right"),
    "semi": (),
    "anti": ("left",),
}
"""The sides whose rows are kept even when they match nothing."""


class SparkJoin:
    """Two DataFrames, read and checked, ready to be joined."""

    def __init__(self, left: DataFrame, right: DataFrame, request: JoinRequest) -> None:
        self.request = request
        self.spark = left.sparkSession
        self.left: Admitted = admit(left, request.left_period, "left", request.policy)
        self.right: Admitted = admit(right, request.right_period, "right", request.policy)
        check_keys(self.left, self.right, request.keys)
        self.columns = _layout(self.left.schema, self.right.schema, request)
        kinds = self.left.columns.kind, self.right.columns.kind
        self.axis = same_axis(kinds[0].type, kinds[1].type)
        self.pieces = cover(request.relation.boxes(self.axis))
        self.packing = Packing.of(self.left.schema, self.right.schema, self._wanted())

    def _wanted(self) -> tuple[list[str], list[str]]:
        """The columns of each side that the tasks need."""
        keys, periods = self.request.keys, (self.request.left_period, self.request.right_period)
        left = [column.left for column in self.columns if column.origin in ("left", "key")]
        right = [column.right for column in self.columns if column.origin == "right"]
        return (
            [periods[0].start, periods[0].end, *keys.left, *left],
            [periods[1].start, periods[1].end, *keys.right, *right],
        )

    @property
    def schema(self) -> T.StructType:
        """The schema of the result."""
        return T.StructType([self._field(column) for column in self.columns])

    def _field(self, column: OutputColumn) -> T.StructField:
        if column.origin == "right":
            found, outer = self.right.schema[column.right], self.request.how in ("left", "full")
        elif column.origin in ("left", "key"):
            found, outer = self.left.schema[column.left], self.request.how in ("right", "full")
        else:
            kinds = self.left.columns.kind, self.right.columns.kind
            writer = shared_type(*kinds)
            kind = writer.type if column.origin == "overlap_start" else writer.end_type
            return T.StructField(column.name, from_arrow_type(kind.arrow, prefer_timestamp_ntz=True))
        return T.StructField(column.name, found.dataType, found.nullable or outer, found.metadata)

    def sent(self, by_key: bool) -> list[Sent]:
        """Both sides as they are distributed; rows without a key go only where they are kept."""
        keys = self.request.keys
        hashes = key_hashes(self.left, self.right, keys) if by_key else (F.lit(0), F.lit(0))
        found = []
        for side, names, key in zip((self.left, self.right), (keys.left, keys.right), hashes, strict=True):
            rows = side.rows
            if names and side.side not in PRESERVED[self.request.how]:
                rows = rows.where(~no_key(side, names))
            found.append(Sent(side, rows, key))
        return found

    def task(self, partitions: int) -> JoinTask:
        """What each task does."""
        return JoinTask(
            self._side_layout(self.left, self.packing.left, self.request.keys.left),
            self._side_layout(self.right, self.packing.right, self.request.keys.right),
            self.pieces,
            tuple(self.columns),
            (self.packing.left, self.packing.right),
            self.request.policy,
            self.request.algorithm,
            partitions,
        )

    def _side_layout(self, side: Admitted, places: dict[str, int], keys: Sequence[str]) -> SideLayout:
        period = side.period
        return SideLayout(
            side.side,
            period,
            f"p{places[period.start]}",
            f"p{places[period.end]}",
            tuple(f"p{places[key]}" for key in keys),
        )


def join(left: DataFrame, right: DataFrame, request: JoinRequest) -> DataFrame:
    """Join two DataFrames. Nothing runs before an action."""
    task = SparkJoin(left, right, request)
    partitions = min(shuffle_partitions(task.spark), 2 * cores(task.spark))
    by_key = bool(request.keys) and request.strategy != "slices"
    slicing = Slicing(partitions, min(partitions, cores(task.spark)), by_key)
    distribution = Distribution(task.pieces, task.packing, slicing, partitions)
    return distribution.rows(task.sent(by_key)).mapInArrow(task.task(partitions), task.schema)


def _layout(left: T.StructType, right: T.StructType, request: JoinRequest) -> list[OutputColumn]:
    if request.how in ("semi", "anti"):
        return joined_columns(left.names, [], request.keys, columns=request.columns)
    return joined_columns(
        left.names,
        right.names,
        request.keys,
        suffixes=request.suffixes,
        overlap=request.overlap,
        columns=request.columns,
    )
