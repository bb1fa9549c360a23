"""Rows of several tables in one: columns of equal type share a position, so packed rows are as narrow as can be."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from timeloom.engines.spark.cluster.versions import to_arrow_schema
from timeloom.engines.spark.columns.arrow_types import arrow_schema
from timeloom.engines.spark.columns.validity import JudgedFrame


@dataclass(frozen=True)
class Packing:
    """Where each column of the two tables stands in a packed row."""

    types: tuple[T.DataType, ...]
    left: dict[str, int]
    right: dict[str, int]

    @classmethod
    def of(cls, left: T.StructType, right: T.StructType, wanted: tuple[Sequence[str], Sequence[str]]) -> "Packing":
        """Pack the wanted columns of both tables."""
        for side, schema, names in zip(("left", "right"), (left, right), wanted, strict=True):
            arrow_schema(T.StructType([schema[name] for name in dict.fromkeys(names)]), side)
        types, positions = shared_positions((left, right), wanted)
        return cls(types, *positions)

    @property
    def names(self) -> list[str]:
        """The names of the positions."""
        return [f"p{at}" for at in range(len(self.types))]

    @property
    def arrow(self) -> pa.Schema:
        """The positions as a worker sees them."""
        fields = zip(self.names, self.types, strict=True)
        schema = T.StructType([T.StructField(name, kind) for name, kind in fields])
        return to_arrow_schema(schema)

    def positions(self, frame: JudgedFrame) -> dict[str, int]:
        """Where the columns of a side stand."""
        return self.right if frame.side == "right" else self.left

    def own(self, frame: JudgedFrame) -> list[str]:
        """The columns of a side, named by their positions, in SQL."""
        return [f"{frame.column(name)} AS p{at}" for name, at in self.positions(frame).items()]

    def packed(self, frame: JudgedFrame) -> DataFrame:
        """The rows of a side with these columns, named by their positions, in any order."""
        at = self.positions(frame)
        return frame.only(at).toDF(*(f"p{at[name]}" for name in frame.schema.names if name in at))


def shared_positions(
    schemas: Sequence[T.StructType], wanted: Sequence[Sequence[str]]
) -> tuple[tuple[T.DataType, ...], list[dict[str, int]]]:
    """The types of the positions that the wanted columns of some tables need, and where each table's columns stand."""
    types: list[T.DataType] = []
    positions: list[dict[str, int]] = []
    for schema, names in zip(schemas, wanted, strict=True):
        taken: dict[str, int] = {}
        for name in dict.fromkeys(names):
            kind = schema[name].dataType
            free = (at for at, known in enumerate(types) if known == kind and at not in taken.values())
            taken[name] = next(free, len(types))
            if taken[name] == len(types):
                types.append(kind)
        positions.append(taken)
    return tuple(types), positions


def packed_columns(frame: JudgedFrame, positions: dict[str, int], types: Sequence[T.DataType]) -> list[Column]:
    """All columns of a packed row, filled with those of one table; what only other tables use is null."""
    known = {at: F.expr(f"{frame.column(name)} AS p{at}") for name, at in positions.items()}
    return [known[at] if at in known else _absent(at, kind) for at, kind in enumerate(types)]


def named_in_sql(kind: T.DataType) -> bool:
    """Whether a type is written as text. Those with names in them, which may be strange ones, are not."""
    return isinstance(kind, T.NumericType | T.DateType | T.TimestampType | T.TimestampNTZType | T.BooleanType)


def _absent(at: int, kind: T.DataType) -> Column:
    """A null of a type."""
    if named_in_sql(kind):
        return F.expr(f"CAST(NULL AS {kind.simpleString()}) AS p{at}")
    return F.lit(None).cast(kind).alias(f"p{at}")
